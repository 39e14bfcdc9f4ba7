"""How long a call into a plugin may take, and how much less once the plugin has hung."""

from __future__ import annotations

from pluginkit.process.findings import Defect
from pluginkit.process.worker import WorkerTimeout

_HANGS = 2
"""So many times the plugin has the whole limit."""
_SHARE = 0.1
_LEAST = 5.0
"""Seconds: what is left of the limit then, but no less than these, in which a process starts and loads a library."""
_ENDLESS = "endless-kernel"


class TimeLimit:
    """The limit of one session. A plugin that has hung twice has failed the run: what remains to be found is which
    other cases hang, and nor should each wait a minute.

    `full`: seconds that each call has at first.
    """

    def __init__(self, full: float) -> None:
        self._full = full
        self._hangs = 0

    @property
    def seconds(self) -> float:
        """That a call has now."""
        return self._full if self._hangs < _HANGS else min(self._full, max(_LEAST, self._full * _SHARE))

    @property
    def kernel_seconds(self) -> int:
        """That a kernel on the CPU has: it is to be named before the call's own time is over."""
        return max(1, int(self.seconds / 2))

    def hung(self, error: WorkerTimeout) -> WorkerTimeout:
        """Counts a call that didn't come back; the error, which says so where its time was cut."""
        cut = self.seconds < self._full
        self._hangs += 1
        if not cut:
            return error
        first, *rest = error.message.split("\n", 1)
        note = f"{first} (it has hung before, so the limit of {self._full:g} s is cut)"
        return error.worded("\n".join((note, *rest)))

    def found(self, defects: tuple[Defect, ...]) -> None:
        """Counts a kernel that target cpu has ended."""
        self._hangs += any(endless(one) for one in defects)


def endless(defect: Defect) -> bool:
    """Whether target cpu has ended a kernel that took its whole time."""
    return defect.kind == _ENDLESS
