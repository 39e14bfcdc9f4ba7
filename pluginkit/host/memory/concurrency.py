"""Two contexts of one engine at once: what each gives must be what it gives alone (E10)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

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


ROUNDS = 10
"""How often a difference must come again; as for what stands around inputs (`surroundings.ROUNDS`)."""


def check(
    method: str,
    number: int,
    alone: Sequence[Bytes],
    together: Sequence[Bytes],
    run_alone: Callable[[], Sequence[Bytes]],
    run_together: Callable[[], Sequence[Bytes]] | None = None,
) -> None:
    """Compares what a context gives with another one at work with what it gives alone. Both are run again as long as
    the same bytes differ: what differs by itself, as sums do whose order is left open, says nothing.

    Args:
        method: enqueue, in findings.
        number: the context's.
        alone, together: what it gives.
        run_alone: gives the first once more.
        run_together: gives the other once more; None where one run needn't be as the other.

    Raises:
        Finding: they differ each time, and what it gives alone doesn't.
    """
    suspects = _differing(alone, together)
    for round_number in range(ROUNDS):
        if round_number and run_together is not None:
            suspects = [mask & other for mask, other in zip(suspects, _differing(alone, run_together()), strict=True)]
        if not any(mask.any() for mask in suspects):
            return
        suspects = [mask & ~other for mask, other in zip(suspects, _differing(alone, run_alone()), strict=True)]
    if count := sum(int(mask.sum()) for mask in suspects):
        raise Finding(
            method,
            f"two contexts at once: {count} bytes of what the {('first', 'second')[number]} one "
            "writes differ from what it writes alone",
            rule="E10",
            hint=HINT,
        )


def _differing(first: Sequence[Bytes], second: Sequence[Bytes]) -> list[np.ndarray[Any, np.dtype[np.bool_]]]:
    return [np.asarray(one != other) for one, other in zip(first, second, strict=True)]
