"""Ctrl-C while modules are imported."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Ctrl-C comes at the end of the block, as KeyboardInterrupt.

    Inside of an import it may be lost: an extension module whose own imports it stops raises ImportError instead
    (NumPy's `import_umath`). Nothing is held where the process handles or ignores the signal itself, or in another
    thread.
    """
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    came = False

    def note(_number: int, _frame: object) -> None:
        nonlocal came
        came = True

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if came:
        raise KeyboardInterrupt
