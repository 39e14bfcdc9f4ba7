"""What a case of the corpus is: arguments of a `run_<kernel>`, what it should give, and how near."""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent
BFLOAT16 = "bfloat16"  # NumPy has none: its bits travel as uint16
# The largest relative error of rounding to the type.
_UNIT = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, BFLOAT16: 2.0**-8}


def to_bfloat16(values: np.ndarray) -> np.ndarray:
    """The bits of float32 values, rounded to nearest even."""
    bits = np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> np.uint64(16)) & np.uint64(1))) >> np.uint64(16)).astype(np.uint16)


def from_bfloat16(bits: np.ndarray) -> np.ndarray:
    """The float32 values of bits of bfloat16."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


@dataclass(frozen=True)
class Output:
    """An array that the function writes: `expected` within `bound`; `initial` is what it finds there."""

    expected: np.ndarray
    bound: np.ndarray
    dtype: str
    initial: np.ndarray | None = None

    def buffer(self) -> np.ndarray:
        """The array to give to the function; full of a pattern that no kernel leaves."""
        dtype = np.dtype("uint16" if self.dtype == BFLOAT16 else self.dtype)
        if self.initial is not None:
            return np.array(self.initial, dtype, order="C")
        return np.full(self.expected.size * dtype.itemsize, 0xA5, np.uint8).view(dtype).reshape(self.expected.shape)

    def error(self, buffer: np.ndarray) -> float:
        """The largest difference, as a part of what is allowed: right up to 1."""
        if buffer.size == 0:
            return 0.0
        got = from_bfloat16(buffer) if self.dtype == BFLOAT16 else buffer
        if np.issubdtype(got.dtype, np.floating):
            wide, want = got.astype(np.float64), np.asarray(self.expected, np.float64)
            same = (wide == want) | (np.isnan(wide) & np.isnan(want))
            with np.errstate(invalid="ignore"):
                part = np.abs(wide - want) / np.maximum(self.bound, 1e-300)
            part = np.where(np.isfinite(wide) & np.isfinite(want), part, np.inf)
            return float(np.max(np.where(same, 0.0, part)))
        return 0.0 if np.array_equal(got, self.expected) else np.inf

    def where(self, buffer: np.ndarray) -> str:
        """The first element that differs most, in words."""
        got = from_bfloat16(buffer) if self.dtype == BFLOAT16 else buffer
        with np.errstate(invalid="ignore"):
            difference = np.abs(got.astype(np.float64) - np.asarray(self.expected, np.float64))
        at = np.unravel_index(int(np.argmax(np.where(np.isnan(difference), np.inf, difference))), got.shape)
        place = tuple(int(i) for i in at)
        wrong = int(np.sum(~(difference <= self.bound)))
        return f"{wrong} of {got.size} differ; at {place}: {got[at]} instead of {self.expected[at]}"


def exact(expected: np.ndarray, initial: np.ndarray | None = None) -> Output:
    """Integers, or numbers that are only moved."""
    return Output(expected, np.zeros(()), expected.dtype.name, initial)


def near(
    expected: np.ndarray,
    dtype: type | str = np.float32,
    *,
    terms: int = 1,
    scale: np.ndarray | float | None = None,
    initial: np.ndarray | None = None,
) -> Output:
    """`expected` (float64), stored as `dtype` after `terms` roundings in float of values as large as `scale`.

    Two roundings to the stored type and 16 of float (a few library functions) are always allowed. Without a `scale`
    the values in between are taken to be as large as the largest result.
    """
    name = dtype if isinstance(dtype, str) else np.dtype(dtype).name
    expected = np.asarray(expected, np.float64)
    finite = np.abs(expected[np.isfinite(expected)])
    largest = scale if scale is not None else finite.max(initial=0.0)
    tiny = 2.0**-24 if name == "float16" else 1e-37  # a step of the subnormal numbers
    stored = 2 * _UNIT[name] * np.abs(np.where(np.isfinite(expected), expected, 0.0))
    return Output(expected, stored + (terms + 16) * _UNIT["float32"] * np.asarray(largest) + tiny, name, initial)


Make = Callable[..., Sequence[Any]]


@dataclass(frozen=True)
class Case:
    """One call: `make(rng, *sizes)` gives the function's arguments in order, an `Output` for each array it writes."""

    kernel: str
    family: str
    sizes: tuple[int, ...]
    make: Make

    @property
    def name(self) -> str:
        """For tables and tests."""
        return "-".join([self.kernel, "x".join(str(size) for size in self.sizes)])

    def run(self, library: ctypes.CDLL) -> tuple[float, str]:
        """The largest error (right up to 1) and, if it is wrong, why."""
        arguments = self.make(np.random.default_rng(zlib.crc32(self.name.encode())), *self.sizes)
        given = [_passed(each) for each in arguments]
        status = getattr(library, f"run_{self.kernel}")(*[each[0] for each in given])
        if status:
            return np.inf, f"CUDA error {status}"
        outputs = [(each, kept[1]) for each, kept in zip(arguments, given, strict=True) if isinstance(each, Output)]
        errors = [output.error(buffer) for output, buffer in outputs]
        message = [
            f"output {index}: {output.where(buffer)}"
            for index, (output, buffer) in enumerate(outputs)
            if not errors[index] <= 1
        ]
        return max(errors), "; ".join(message)


def _passed(argument: Any) -> tuple[Any, np.ndarray]:
    if isinstance(argument, Output | np.ndarray):
        array = argument.buffer() if isinstance(argument, Output) else np.ascontiguousarray(argument)
        return ctypes.c_void_p(array.ctypes.data), array
    if isinstance(argument, float):
        return ctypes.c_float(argument), np.empty(0)
    return ctypes.c_int(argument), np.empty(0)


CASES: list[Case] = []


def kernel(*sizes: tuple[int, ...]) -> Callable[[Make], Make]:
    """The function below is named as its `.cu` file and makes the arguments; one case for each tuple of sizes."""

    def add(make: Make) -> Make:
        family = make.__module__.rpartition("families_")[2]
        CASES.extend(Case(make.__name__, family, each, make) for each in sizes)
        return make

    return add
