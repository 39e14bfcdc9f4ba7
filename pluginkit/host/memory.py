"""What a plugin is given to read and write: poisoned, guarded and compared afterwards. Host memory, for target cpu."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pluginkit import _native
from pluginkit.dtypes import DType
from pluginkit.host.errors import Finding

POISONS: dict[DType, tuple[int, int]] = {
    DType.FLOAT32: (0x7FC01234, 0x7FC04321),
    DType.FLOAT16: (0x7E5A, 0x7EA5),
    DType.INT8: (0x5B, 0xA4),
    DType.INT32: (0x5EED5EED, -0x5EED5EED & 0xFFFFFFFF),
}
"""Two bit patterns per type that no plugin writes on purpose: NaNs with a payload; for integers just odd numbers, so an
element counts as unwritten only when it keeps both, in two runs."""


class Tensor:
    """One tensor in guarded memory; `what` names it in findings on `method`, the plugin's enqueue."""

    def __init__(self, method: str, what: str, dtype: DType, shape: tuple[int, ...]) -> None:
        self.method = method
        self.what = what
        self.dtype = dtype
        self.buffer = _native.Buffer(math.prod(shape) * dtype.itemsize)
        self.array: np.ndarray[Any, Any] = np.asarray(memoryview(self.buffer)).view(dtype.numpy).reshape(shape)
        self.bits: np.ndarray[Any, Any] = self.array.view(f"u{dtype.itemsize}")

    @property
    def address(self) -> int:
        """Of the first byte."""
        return self.buffer.address

    def poison(self, turn: int) -> None:
        """Fills it with the pattern of that turn (0 or 1)."""
        self.bits[...] = POISONS[self.dtype][turn]

    def unwritten(self, turn: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which elements still have the pattern of that turn."""
        return np.asarray(self.bits == POISONS[self.dtype][turn])

    def check_guards(self) -> None:
        """Raises a Finding when something beside the tensor was written."""
        check_guards(self.buffer, self.method, self.what)


class Input(Tensor):
    """An input, filled with a person's values, which must be there afterwards too (rule E5)."""

    def __init__(self, method: str, what: str, dtype: DType, value: np.ndarray[Any, Any]) -> None:
        super().__init__(method, what, dtype, value.shape)
        self.array[...] = value
        self.before = self.bits.copy()

    def check_unmodified(self) -> None:
        """Raises a Finding when an element has changed."""
        changed = np.flatnonzero((self.bits != self.before).ravel())
        if changed.size:
            index = tuple(int(i) for i in np.unravel_index(changed[0], self.array.shape))
            raise Finding(
                self.method,
                f"input modified: {changed.size} of {self.array.size} elements of {self.what}, the "
                f"first at index {index} (byte {changed[0] * self.dtype.itemsize})",
            )


def check_guards(buffer: _native.Buffer, method: str, what: str) -> None:
    """Raises a Finding when the guards of a buffer are damaged (rule T17)."""
    damage = buffer.damage()
    if damage:
        offset, found = damage
        where = f"{-offset} bytes before it" if offset < 0 else f"{offset - buffer.size} bytes behind its end"
        raise Finding(
            method,
            f"written beyond {what}, which has {buffer.size} bytes: at byte {offset} ({where}) "
            f"stands 0x{found:02x} now",
        )


def report_unwritten(tensor: Tensor, mask: np.ndarray[Any, np.dtype[np.bool_]]) -> None:
    """Raises a Finding that names the elements of `mask`."""
    index = tuple(int(i) for i in np.argwhere(mask)[0])
    byte = int(np.ravel_multi_index(index, mask.shape)) * tensor.dtype.itemsize if index else 0
    raise Finding(
        tensor.method,
        f"left unwritten: {int(mask.sum())} of {mask.size} elements of {tensor.what}, the first at "
        f"index {index} (byte {byte})",
    )
