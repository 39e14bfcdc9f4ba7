"""The types of a creator's fields: TensorRT's names and numbers, and those that a `pluginkit.toml` can declare.

A new type for manifests is a name in `Scalar` and a row of `SCALARS`, and its C++ half: `fieldTypeOf` in
`include/pluginkit/fields.h`. Whatever else knows field types reads them here; only `runtimes/tensorrt/plugins.py` names
NVIDIA's own constants, since a type checker holds those against the real bindings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pluginkit.dtypes import DType

NAMES = (
    *("kFLOAT16", "kFLOAT32", "kFLOAT64", "kINT8", "kINT16", "kINT32", "kCHAR", "kDIMS", "kUNKNOWN"),
    *("kBF16", "kINT64", "kFP8", "kINT4", "kFP4"),
)
"""`nvinfer1::PluginFieldType`, by number."""

NUMBERS: dict[DType, int] = {
    DType.FLOAT16: NAMES.index("kFLOAT16"),
    DType.FLOAT32: NAMES.index("kFLOAT32"),
    DType.INT8: NAMES.index("kINT8"),
    DType.INT32: NAMES.index("kINT32"),
    DType.BFLOAT16: NAMES.index("kBF16"),
}
"""The `nvinfer1::PluginFieldType` of a field of each element type."""

Scalar: TypeAlias = Literal["float32", "int32"]
"""The types that a field of a `pluginkit.toml` can have."""


@dataclass(frozen=True)
class ScalarType:
    """A type that a `pluginkit.toml` can declare for a field.

    Attributes:
        python: makes a number of a text: `float` or `int`.
        least, most: the open range of its numbers.
        suffix: what a C++ literal of it ends with.
    """

    python: type[float | int]
    least: float
    most: float
    suffix: str

    def literal(self, value: float) -> str:
        """A number as C++ has it."""
        return f"{self.python(value)!r}{self.suffix}"


_FLOAT32_END = (2.0 - 2.0**-24) * 2.0**127
"""As C++'s FLT_MAX is written, 3.40282347e+38, it is a little more than that: what counts is that it rounds there."""

SCALARS: dict[DType, ScalarType] = {
    DType.FLOAT32: ScalarType(float, -_FLOAT32_END, _FLOAT32_END, "F"),
    DType.INT32: ScalarType(int, -(2**31) - 1, 2**31, ""),
}
