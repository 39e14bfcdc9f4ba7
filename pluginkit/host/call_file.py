"""The last call into a plugin, left where another process finds it after a crash or a hang."""

from __future__ import annotations

from pathlib import Path

from pluginkit import _native
from pluginkit.process.protocol import LastCall, last_call


def set_call_file(path: str | Path) -> None:
    """From now on writes each call into a plugin to `path`, before it is made.

    Raises:
        OSError: the file can't be made.
    """
    _native.set_call_file(str(path))


def set_backtrace_file(path: str | Path) -> None:
    """From now on a signal or exit() that ends this process, or a fork of it, leaves its native frames in `path`, which
    `pluginkit.process.backtrace` reads. An empty path: no more.

    Raises:
        OSError: the file can't be made.
    """
    _native.set_backtrace_file(str(path))


def read_call_file(path: str | Path) -> LastCall | None:
    """The last C++ method called, and whether the plugin was still in it; None when none was called."""
    try:
        last = last_call(Path(path).read_bytes())
    except FileNotFoundError:
        return None
    return last if last.name else None
