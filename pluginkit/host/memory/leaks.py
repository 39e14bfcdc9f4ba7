"""What a plugin takes in each life and never gives back: what it takes of CUDA, cuBLAS and cuDNN on target cpu by the
library's own counting, on a GPU by CUPTI's; and host memory by the host's (`_native.HeapCount`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pluginkit import _native
from pluginkit.host.memory.device import AnyDevice, Taken

ROUNDS = 3

HOST_MEMORY = "host memory"
Site = tuple[str, str, str, int, tuple[int, ...]]
"""What is taken, by which function, and which call of it: its library and offset, and those of its callers."""


@dataclass(frozen=True)
class Leak:
    """What one line of a library takes again in each life of a plugin.

    Attributes:
        taken: one of the objects.
        count: how many of them are left by each life, at least.
    """

    taken: Taken
    count: int

    def __str__(self) -> str:
        times = "" if self.count == 1 else f", {self.count} times"
        return f"{self.taken}{times}: taken in each life of the plugin, and not given back"

    @property
    def site(self) -> Site:
        """The line that took it."""
        return site_of(self.taken)


def find_leaks(device: AnyDevice, live: Callable[[], object]) -> tuple[Leak, ...]:
    """The leaks of a life of a plugin, from its creation to its end.

    What the same line leaves behind in each of `ROUNDS` lives is one; what a library makes once and keeps (a static
    cache) is not one of a plugin's.

    Args:
        device: of the plugin's library.
        live: creates a plugin, uses it, and destroys it.
    """
    rounds = []
    with held(device) as holdings:
        for _ in range(ROUNDS):
            with device.counting():
                since = holdings.mark()
                live()
            rounds.append(holdings.left(since))
    counts = [Counter(site_of(each) for each in one) for one in rounds]
    one_of = {site_of(each): each for each in rounds[-1]}
    return tuple(
        Leak(taken, min(count[site] for count in counts))
        for site, taken in one_of.items()
        if all(count[site] for count in counts)
    )


class Holdings:
    """What a library holds: of CUDA's as its device counts it, and host memory."""

    def __init__(self, device: AnyDevice, heap: _native.HeapCount | None) -> None:
        self._device, self._heap = device, heap

    def mark(self) -> tuple[int, int]:
        """A moment, for `left`."""
        return self._device.mark(), self._heap.last() if self._heap else 0

    def left(self, since: tuple[int, int]) -> tuple[Taken, ...]:
        """What it has taken since a `mark` and not given back."""
        blocks = self._heap.left(since[1]) if self._heap else []
        return (*self._device.left(since[0]), *(_host_memory(self._device, *block) for block in blocks))


@contextmanager
def held(device: AnyDevice) -> Iterator[Holdings]:
    """What the device's library holds is counted within."""
    heap = _native.HeapCount(str(device.library)) if device.library is not None else None
    try:
        yield Holdings(device, heap)
    finally:
        if heap:
            heap.stop()


def site_of(taken: Taken) -> Site:
    """The line that took an object."""
    return (taken.kind, taken.function, str(taken.library), taken.offset, taken.callers)


def _host_memory(device: AnyDevice, size: int, offsets: Sequence[int]) -> Taken:
    offset, *callers = offsets
    return Taken(HOST_MEMORY, "new or malloc", size, device.library or Path(), offset, tuple(callers))
