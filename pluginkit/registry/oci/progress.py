"""How far a push or a pull is, in bytes."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, "int | None"], None]
"""Called with what is being moved, how many bytes are done, and of how many."""


def nothing(_what: str, _done: int, _total: int | None) -> None:
    """Shows no progress."""


class ByteCounter:
    """Sums up what was moved.

    Attributes:
        what: is being moved now.
    """

    def __init__(self, progress: Progress, total: int) -> None:
        self.what = ""
        self._progress, self._total, self._done = progress, total, 0

    def __call__(self, count: int) -> None:
        self._done += count
        self._progress(self.what, self._done, self._total)
