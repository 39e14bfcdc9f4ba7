"""What a plugin's library takes of CUDA on a GPU and has not given back, by the calls that CUPTI reports (L7, L12)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pluginkit.gpu import calls
from pluginkit.gpu.enqueue_rules import Call
from pluginkit.host.memory.device import Taken


class ObjectCount:
    """The objects that the library has taken, itself or by another library that it calls; `see` and `see_end` are
    given the calls of CUDA's driver, as `Watch.calls` makes them.

    Args:
        library: the plugin's.
        where: gives the places in the library that the calling thread is in, innermost first; none where the call is
            not the library's doing.
    """

    def __init__(self, library: Path, where: Callable[[], Sequence[int]]) -> None:
        self._library = library
        self._where = where
        self._objects: dict[tuple[str, int], tuple[int, Taken]] = {}
        self._last = 0

    def mark(self) -> int:
        """A moment, for `left`."""
        return self._last

    def left(self, since: int) -> tuple[Taken, ...]:
        """What has been taken since a `mark` and not given back."""
        return tuple(taken for number, taken in self._objects.values() if number > since)

    def see(self, call: Call) -> None:
        """A call begins. What it ends is gone now: when it has returned, another thread may have the same address."""
        family = calls.GIVES_BACK.get(calls.plain(call.name)[0])
        if family is not None:
            self._objects.pop((family, call.object), None)

    def see_end(self, call: Call, code: int) -> None:
        """A call has returned with an error code, 0 where it has worked."""
        taking = calls.TAKES.get(calls.plain(call.name)[0])
        if taking is None or code or not (offsets := self._where()):
            return
        self._last += 1
        taken = Taken(taking.kind, call.description, call.size, self._library, offsets[0], tuple(offsets[1:]))
        self._objects[taking.family, call.object] = (self._last, taken)
