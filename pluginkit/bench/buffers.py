"""Sets of inputs and outputs in device memory, so many that a set has left the L2 cache before its next turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pluginkit import gpu
from pluginkit.bench.timing import ALIGNMENT, L2_TIMES
from pluginkit.errors import CheckFailed
from pluginkit.network.networks import Array

MOST_SETS = 1024
"""So many small ones are enough: between two replays the whole cache is overwritten besides."""
POISON = 0xFF
"""What outputs hold before a launch: NaN, or -1."""
_READ_BYTES = 1 << 28


def aligned(size: int) -> int:
    """The next size after which another tensor may begin."""
    return -(-max(size, 1) // ALIGNMENT) * ALIGNMENT


def sets_needed(set_bytes: int, l2_bytes: int) -> int:
    """How many sets have more than four times the L2 cache between two turns of one; at most `MOST_SETS`."""
    return min(MOST_SETS, max(2, L2_TIMES * l2_bytes // set_bytes + 2))


class Buffers:
    """The sets. `inputs[i]` and `outputs[i]` are set i's addresses.

    Raises:
        CheckFailed: the GPU's memory doesn't hold two sets.
    """

    def __init__(self, context: gpu.GpuContext, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        self._context = context
        self._outputs = outputs
        sizes = [aligned(array.nbytes) for array in (*inputs, *outputs)]
        self.set_bytes = sum(sizes)
        self.count = sets_needed(self.set_bytes, context.l2_bytes)
        room = context.free_bytes() * 7 // 8
        if self.count * self.set_bytes > room:
            raise CheckFailed(
                f"{self.count} sets of {self.set_bytes} bytes are needed, and the GPU has {room} for them.",
                hint="Measure a smaller shape.",
            )
        self._out_bytes = sum(sizes[len(inputs) :])
        self._in_bytes = self.set_bytes - self._out_bytes
        # All outputs lie together, so that one call poisons and one reads them.
        self._memory_in = context.alloc(self.count * self._in_bytes)
        self._memory_out = context.alloc(self.count * self._out_bytes)
        starts = np.cumsum([0, *sizes])
        offsets_in, offsets_out = starts[: len(inputs)], starts[len(inputs) : -1] - self._in_bytes
        self.inputs = self._addresses(self._memory_in, self._in_bytes, offsets_in)
        self.outputs = self._addresses(self._memory_out, self._out_bytes, offsets_out)
        self._offsets = [int(offset) for offset in offsets_out]
        self._fill(inputs)

    def _addresses(self, memory: gpu.Memory, step: int, offsets: Array) -> list[list[int]]:
        return [[memory.address + i * step + int(offset) for offset in offsets] for i in range(self.count)]

    def _fill(self, inputs: Sequence[Array]) -> None:
        for address, array in zip(self.inputs[0], inputs, strict=True):
            if array.nbytes:
                self._context.write(address, np.asarray(array, order="C"))
        for i in range(1, self.count):
            self._context.copy(self.inputs[i][0], self.inputs[0][0], self._in_bytes)

    @property
    def turn_bytes(self) -> int:
        """How much memory is used between two turns of a set."""
        return (self.count - 1) * self.set_bytes

    def poison(self, stream: gpu.Stream) -> None:
        """Overwrites all outputs."""
        self._context.fill(self._memory_out.address, POISON, self._memory_out.size, stream)

    def read(self, index: int) -> list[Array]:
        """What the outputs of a set hold."""
        found = []
        for address, like in zip(self.outputs[index], self._outputs, strict=True):
            array = np.empty_like(like)
            if array.nbytes:
                self._context.read(array, address)
            found.append(array)
        return found

    def others(self, first: Sequence[Array]) -> Iterator[int]:
        """The sets whose outputs are not, byte for byte, those of set 0, given here."""
        block = max(1, _READ_BYTES // self._out_bytes)
        for start in range(1, self.count, block):
            count = min(block, self.count - start)
            raw = np.empty((count, self._out_bytes), np.uint8)
            self._context.read(raw, self._memory_out.address + start * self._out_bytes)
            for offset, array in zip(self._offsets, first, strict=True):
                there = raw[:, offset : offset + array.nbytes]
                if not np.array_equal(there, np.broadcast_to(array.reshape(-1).view(np.uint8), there.shape)):
                    differ = [not np.array_equal(row, array.reshape(-1).view(np.uint8)) for row in there]
                    yield from (start + index for index, one in enumerate(differ) if one)

    def free(self) -> None:
        """Frees the memory."""
        self._memory_in.free()
        self._memory_out.free()
