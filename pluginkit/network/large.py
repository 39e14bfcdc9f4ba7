"""A run on tensors of more than 2^31 elements, of which only pieces are given and compared."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

from pluginkit.dtypes import DType
from pluginkit.network.networks import Array, Network, Tolerance

NAME = "large"
"""The point's, at the end of the case's id."""
TOOK_TOO_MUCH = 75
"""The exit code of a process that was ended because it took too much memory or time for them."""
MOST_TOUCHED = 3 << 30
"""Bytes, on target cpu: a plugin that touches more runs through whole tensors, for which machines have no memory."""

Pieces: TypeAlias = tuple[tuple[int, Array], ...]
"""Pieces of a tensor: the element that each begins at, and its values."""


@dataclass(frozen=True)
class LargeTensor:
    """A tensor of the plugin: `pieces` of an input are its values, of an output what must come out (float64); of INT8
    and FP8 in steps."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    pieces: Pieces


@dataclass(frozen=True)
class LargeCase:
    """One run of the plugin alone.

    Attributes:
        id: as of a `Case`.
        network: with one profile, whose max are the tensors' shapes.
        symbols: the value of each shape symbol.
        inputs, outputs: in the manifest's order.
        tolerance: how far outputs may be off.
        control: the same with so few elements that indices of 32 bits reach them; its own is None. What fails there
            too, is not the size's doing.
        wider: the same beyond the profile, but for all blocks of each launch, smallest first: where a grid has its
            limits, and indices of 16 and 24 bits end.
        whole: whether all blocks are run on target cpu.
    """

    id: str
    network: Network
    symbols: dict[str, int]
    inputs: tuple[LargeTensor, ...]
    outputs: tuple[LargeTensor, ...]
    tolerance: Tolerance
    control: LargeCase | None = None
    wider: tuple[LargeCase, ...] = ()
    whole: bool = False

    @property
    def elements(self) -> int:
        """Of the largest tensor."""
        return max(math.prod(tensor.shape) for tensor in (*self.inputs, *self.outputs))


@dataclass(frozen=True)
class LargeRun:
    """What came of it: for each output and piece the values, and which of them were written.

    `elsewhere`: on target cpu, whether outputs may have been written in other places than the pieces. `problem`: why
    nothing can be said; empty if something can. `seconds`: of the processor's time that enqueue took.
    """

    outputs: tuple[tuple[tuple[Array, Array], ...], ...] = ()
    elsewhere: bool = False
    problem: str = ""
    seconds: float = 0.0
