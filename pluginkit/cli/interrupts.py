"""Ctrl-C in a command: KeyboardInterrupt, but where Python would lose it."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Iterator
from types import FrameType

AGAIN = 0.02
"""Seconds until one that came in an import, or was lost, is tried again."""
PATIENCE = 2.0
"""Seconds for which an import is waited for."""

_since = 0.0
"""When the one came that waits; 0: none does."""


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """In the block Ctrl-C raises KeyboardInterrupt, and inside an import when that has ended, or the block.

    An extension module whose own imports it stops raises ImportError instead (NumPy's `import_umath`), or goes on. A
    second Ctrl-C is raised at once, and one that a destructor or a callback has swallowed once more. Nothing changes
    where the process ignores the signal.
    """
    if not callable(signal.getsignal(signal.SIGINT)):
        yield
        return
    signal.signal(signal.SIGINT, _pressed)
    sys.unraisablehook = _lost
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        if _since:
            raise KeyboardInterrupt


def _lost(what: sys.UnraisableHookArgs) -> None:
    if issubclass(what.exc_type, KeyboardInterrupt):
        _wait()
    else:
        sys.__unraisablehook__(what)


def _pressed(_number: int, frame: FrameType | None) -> None:
    if not _since and _importing(frame):
        _wait()
        return
    raise KeyboardInterrupt


def _wait() -> None:
    global _since  # noqa: PLW0603 - of the process, as the signal is
    _since = _since or time.monotonic()
    signal.signal(signal.SIGALRM, _tried_again)
    signal.setitimer(signal.ITIMER_REAL, AGAIN)


def _tried_again(_number: int, frame: FrameType | None) -> None:
    global _since  # noqa: PLW0603
    if _importing(frame) and time.monotonic() - _since < PATIENCE:
        signal.setitimer(signal.ITIMER_REAL, AGAIN)
        return
    _since = 0.0
    raise KeyboardInterrupt


def _importing(frame: FrameType | None) -> bool:
    while frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib._bootstrap"):
        frame = frame.f_back
    return frame is not None
