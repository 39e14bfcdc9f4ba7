"""Tensors that a plugin reads and writes: poisoned and guarded before a run, checked after it."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from pluginkit.dtypes import DType
from pluginkit.formats import Format
from pluginkit.host.errors import Finding
from pluginkit.host.memory import layouts
from pluginkit.host.memory.buffers import Allocate, Buffer

POISONS: dict[DType, tuple[int, int]] = {
    DType.FLOAT32: (0x7FC01234, 0x7FC04321),
    DType.FLOAT16: (0x7E5A, 0x7EA5),
    DType.BFLOAT16: (0x7FC5, 0x7FD3),
    DType.INT8: (0x5B, 0xA4),
    DType.FLOAT8: (0x7F, 0xFF),
    DType.INT32: (0x5EED5EED, -0x5EED5EED & 0xFFFFFFFF),
    DType.INT64: (0x5EED5EED5EED5EED, -0x5EED5EED5EED5EED & 0xFFFFFFFFFFFFFFFF),
}
"""Two bit patterns per type that no plugin writes on purpose: NaNs with a payload (FP8's have none, only a sign); for
integers just odd numbers, so an element counts as unwritten only when it keeps both, in two runs."""

LARGEST: dict[DType, tuple[float, float]] = {
    DType.FLOAT32: (3e38, -3e38),
    DType.FLOAT16: (6e4, -6e4),
    DType.BFLOAT16: (3e38, -3e38),
    DType.INT8: (127, -128),
    DType.FLOAT8: (448, -448),
    DType.INT32: (2**31 - 1, -(2**31)),
    DType.INT64: (2**63 - 1, -(2**63)),
}
"""What stands in the padded lanes of a second run: a maximum or minimum over channels shows them, which skips NaNs."""


USUAL, OTHER_LANES, OTHER_SURROUNDINGS = range(3)
"""Turns: what a run differs in from the usual one. Of the same inputs a plugin makes the same in all of them."""


def surroundings(dtype: DType, turn: int) -> bytes:
    """What comes again and again on both sides of an input: what is computed of it shows."""
    if turn != OTHER_SURROUNDINGS:
        return POISONS[dtype][0].to_bytes(dtype.itemsize, "little")
    return np.asarray(LARGEST[dtype]).astype(dtype.numpy).tobytes()


class GuardedTensor:
    """One tensor in guarded memory, laid out in its format; `what` names it in findings on `method`, the
    plugin's enqueue; `allocate` makes the memory.

    The memory has exactly the size of the format's array: with the padded lanes, and not a byte more.
    """

    def __init__(
        self,
        allocate: Allocate,
        method: str,
        what: str,
        dtype: DType,
        shape: tuple[int, ...],
        form: Format = Format.LINEAR,
    ) -> None:
        self.method = method
        self.what = what
        self.dtype = dtype
        self.shape = shape
        self.form = form
        storage = form.storage(shape)
        self.buffer = allocate(math.prod(storage) * dtype.itemsize)
        self.stored: np.ndarray[Any, Any] = self.buffer.contents.view(dtype.numpy).reshape(storage)
        self.bits: np.ndarray[Any, Any] = self.stored.view(f"u{dtype.itemsize}")

    @property
    def array(self) -> np.ndarray[Any, Any]:
        """The tensor's elements, without padding."""
        return layouts.unpack(self.stored, self.form, self.shape)

    @property
    def padded(self) -> bool:
        """Whether the last vector of channels has lanes that are not channels."""
        return self.stored.size > math.prod(self.shape)

    @property
    def address(self) -> int:
        """Of the first byte."""
        return self.buffer.address

    def poison(self, turn: int) -> None:
        """Fills it with the pattern of that turn (0 or 1)."""
        self.bits[...] = POISONS[self.dtype][turn]

    def unwritten(self, turn: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which elements still have the pattern of that turn. Padded lanes are not elements: they may keep it."""
        return layouts.unpack(np.asarray(self.bits == POISONS[self.dtype][turn]), self.form, self.shape)

    def check_guards(self) -> None:
        """Raises a Finding when something outside of the tensor was written."""
        check_guards(self.buffer, self.method, self.what)


class GuardedInput(GuardedTensor):
    """An input, filled with the user's values, which must be there afterwards too (rule E5).

    Its padded lanes hold the pattern that outputs are poisoned with, in the turn `OTHER_LANES` `LARGEST` of either
    sign; so do the bytes on both sides of it, in the turn `OTHER_SURROUNDINGS`.
    """

    def __init__(
        self,
        allocate: Allocate,
        method: str,
        what: str,
        dtype: DType,
        value: np.ndarray[Any, Any],
        form: Format = Format.LINEAR,
        turn: int = USUAL,
    ) -> None:
        super().__init__(partial(allocate, around=surroundings(dtype, turn)), method, what, dtype, value.shape, form)
        if self.padded and turn == OTHER_LANES:
            # A column of vectors has one sign and its neighbour the other.
            column = np.arange(self.stored.size).reshape(self.stored.shape) // self.stored.shape[-1] % 2
            self.stored[...] = np.where(column == 0, *LARGEST[dtype]).astype(dtype.numpy)
        elif self.padded:
            self.poison(0)
        layouts.pack(value, form, self.stored)
        self.before = self.bits.copy()

    def check_unmodified(self) -> None:
        """Raises a Finding when an element has changed."""
        changed = np.flatnonzero((self.bits != self.before).ravel())
        if changed.size:
            index = tuple(int(i) for i in np.unravel_index(changed[0], self.stored.shape))
            place = "index" if self.form is Format.LINEAR else f"{self.form.trt}'s index"
            raise Finding(
                self.method,
                f"input modified: {changed.size} of {self.stored.size} elements of {self.what}, the "
                f"first at {place} {index} (byte {changed[0] * self.dtype.itemsize})",
                rule="E5",
                contained=True,
            )


def check_guards(buffer: Buffer, method: str, what: str) -> None:
    """Raises a Finding when the guards of a buffer are damaged, or when there was an access beyond them (rule T17)."""
    damage = buffer.damage()
    if damage:
        offset, found = damage
        raise Finding(
            method,
            f"written beyond {what}, which has {buffer.size} bytes: at byte {offset} ({_side(buffer, offset)}) "
            f"stands 0x{found:02x} now",
            rule="T17",
        )
    touched = buffer.touched()
    if touched is not None:
        raise Finding(
            method,
            f"read beyond {what}, which has {buffer.size} bytes: at byte {touched} ({_side(buffer, touched)})",
            rule="T17",
        )


def _side(buffer: Buffer, offset: int) -> str:
    return f"{-offset} bytes before it" if offset < 0 else f"{offset - buffer.size} bytes behind its end"


def report_unwritten(tensor: GuardedTensor, mask: np.ndarray[Any, np.dtype[np.bool_]]) -> None:
    """Raises a Finding that names the elements of `mask`."""
    index = tuple(int(i) for i in np.argwhere(mask)[0])
    byte = int(np.ravel_multi_index(index, mask.shape)) * tensor.dtype.itemsize if index else 0
    where = f"byte {byte}" if tensor.form is Format.LINEAR else tensor.form.trt
    raise Finding(
        tensor.method,
        f"left unwritten: {int(mask.sum())} of {mask.size} elements of {tensor.what}, the first at index {index} "
        f"({where})",
        rule="E6",
        contained=True,
    )
