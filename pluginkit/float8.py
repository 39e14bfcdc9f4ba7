"""FP8 (E4M3) as a scale of numbers: 1 sign bit, 4 exponent bits, 3 mantissa bits, bias 7, no infinities.

Source: NvInferRuntimeBase.h, DataType::kFP8; FLOAT8E4M3FN in https://onnx.ai/onnx/technical/float8.html.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pluginkit.dtypes import QUANTIZED, DType

Array: TypeAlias = npt.NDArray[Any]

LARGEST = QUANTIZED[DType.FLOAT8]
_LOWEST_EXPONENT = -6
"""Of normal numbers; the denormal ones are as far apart as the smallest normal ones, 2^-9."""
_MANTISSA = 3


def place(numbers: Array) -> Array:
    """Where numbers lie among those of FP8: 0 is 0, 1 the smallest above it, 126 is 448; linear between two of them."""
    size, exponent = np.abs(np.asarray(numbers, np.float64)), _exponents(numbers)
    found: Array = np.ldexp(size, _MANTISSA - exponent) + 2**_MANTISSA * (exponent - _LOWEST_EXPONENT)
    return np.copysign(found, numbers)


def spacing(numbers: Array) -> Array:
    """How far the next number of FP8 away from zero is."""
    found: Array = np.ldexp(1.0, _exponents(numbers) - _MANTISSA)
    return found


def _exponents(numbers: Array) -> npt.NDArray[np.intc]:
    fraction, exponent = np.frexp(np.asarray(numbers, np.float64))
    return np.where(fraction == 0, _LOWEST_EXPONENT, np.maximum(exponent - 1, _LOWEST_EXPONENT)).astype(np.intc)


def clear(exact: Array, scale: float | Array, margin: float, off: Array) -> npt.NDArray[np.bool_]:
    """Which elements have one nearest number, whatever a computation is `off`: real values, before they are rounded.

    `margin` is in places, between an element and the middle between two numbers.
    """
    numbers = np.asarray(exact, np.float64) / scale
    places = place(numbers)
    with np.errstate(invalid="ignore"):
        middle = np.abs(np.abs(places - np.rint(places)) - 0.5)
        exactly = off / scale < margin / 2 * spacing(numbers)
        found: npt.NDArray[np.bool_] = (middle >= margin) & (np.abs(numbers) < LARGEST) & exactly
    return found
