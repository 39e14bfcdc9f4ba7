"""The last call into a plugin, left where another process finds it after a crash or a hang."""

from __future__ import annotations

from pathlib import Path

from pluginkit import _native


def set_breadcrumb_file(path: str | Path) -> None:
    """From now on writes each call into a plugin to `path`, before it is made.

    Raises:
        OSError: the file can't be made.
    """
    _native.set_breadcrumb_file(str(path))


def set_backtrace_file(path: str | Path) -> None:
    """From now on a signal or exit() that ends this process, or a fork of it, leaves its native frames in `path`, which
    `pluginkit.process.backtrace` reads. An empty path: no more.

    Raises:
        OSError: the file can't be made.
    """
    _native.set_backtrace_file(str(path))


def read_breadcrumb(path: str | Path) -> tuple[str, bool] | None:
    """The last C++ method called, and whether the plugin was still in it; None when none was called."""
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        return None
    name = data[1:].split(b"\0", 1)[0].decode(errors="replace")
    return (name, data[:1] == b"I") if name else None
