"""Two contexts of one engine at once: what each gives must be what it gives alone (E10)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from pluginkit.host.errors import Finding
from pluginkit.host.memory.buffers import Buffer, Bytes

HINT = (
    "What a context writes while it runs must be its own: clone() or attachToContext() makes it, or the workspace\n"
    "holds it; no static and no __device__ variables."
)


class _Region(Protocol):
    """A buffer that enqueue is given (`device.Region`)."""

    @property
    def buffer(self) -> Buffer:
        """Its memory."""

    @property
    def scratch(self) -> bool:
        """Whether its contents mean nothing after the run."""


def results(regions: Sequence[_Region]) -> list[Bytes]:
    """What a run has left in its inputs and outputs."""
    return [region.buffer.contents.copy() for region in regions if not region.scratch]


def check(
    method: str, number: int, alone: Sequence[Bytes], together: Sequence[Bytes], again: Callable[[], Sequence[Bytes]]
) -> None:
    """Compares what a context gives with another one at work with what it gives alone; `again` runs it alone once more.

    Raises:
        Finding: they differ, and `again` doesn't: what differs by itself, as sums do whose order is left open, says
            nothing.
    """
    if _differing(alone, together) and not _differing(alone, again()):
        raise Finding(
            method,
            f"two contexts at once: {_differing(alone, together)} bytes of what the {('first', 'second')[number]} one "
            "writes differ from what it writes alone",
            rule="E10",
            hint=HINT,
        )


def _differing(first: Sequence[Bytes], second: Sequence[Bytes]) -> int:
    return sum(int(np.count_nonzero(one != other)) for one, other in zip(first, second, strict=True))
