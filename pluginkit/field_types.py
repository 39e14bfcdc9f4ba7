"""The types of a creator's fields: TensorRT's names and numbers, those that a `pluginkit.toml` can declare, and values.

A new type for manifests is a member of `FieldType` and a row of `_FACTS`; its C++ halves are `fieldTypeOf` in
`include/pluginkit/fields.h` and `CPP_TYPES` in `build/signature/fields.py`. Whatever else knows field types reads them
here; only `runtimes/tensorrt/plugins.py` names NVIDIA's own constants, since a type checker compares those with the
real bindings.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt

NAMES = (
    *("kFLOAT16", "kFLOAT32", "kFLOAT64", "kINT8", "kINT16", "kINT32", "kCHAR", "kDIMS", "kUNKNOWN"),
    *("kBF16", "kINT64", "kFP8", "kINT4", "kFP4"),
)
"""`nvinfer1::PluginFieldType`, by number."""

Number: TypeAlias = float | int
Value: TypeAlias = Number | str | tuple[Number, ...]
"""A field's value: a number, a text, or the numbers of a list."""

CARRIED_INTEGERS = range(-(2**31), 2**31)
"""The integers that an ONNX attribute brings to a plugin: NVIDIA's parser cuts others to 32 bits without a message."""


class FieldType(str, Enum):
    """What a field of a `pluginkit.toml` consists of: a number, a list of them, or a text. The value is its name."""

    FLOAT32 = "float32"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    FLOAT64 = "float64"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    STRING = "string"

    @property
    def code(self) -> int:
        """The number of `nvinfer1::PluginFieldType`."""
        return NAMES.index(_FACTS[self].trt)

    @property
    def trt(self) -> str:
        """TensorRT's name, as `kINT64`."""
        return _FACTS[self].trt

    @property
    def numpy(self) -> np.dtype[Any]:
        """NumPy's type of an element; bytes of a text are int8."""
        return _FACTS[self].numpy

    @property
    def parsed(self) -> FieldType:
        """What NVIDIA's ONNX parser gives createPlugin of an attribute of this type (`docs/fields.md`)."""
        return FieldType.STRING if self.is_text else FieldType.INT32 if self.is_integer else FieldType.FLOAT32

    @property
    def is_text(self) -> bool:
        """Whether its values are texts."""
        return self is FieldType.STRING

    @property
    def is_integer(self) -> bool:
        """Whether its values are whole numbers."""
        return self.numpy.kind == "i" and not self.is_text

    @property
    def ends(self) -> tuple[Number, Number]:
        """The least and the largest finite number of it; of a text's bytes."""
        if self.numpy.kind == "i":
            info = np.iinfo(self.numpy)
            return int(info.min), int(info.max)
        return -_LARGEST[self], _LARGEST[self]

    def holds(self, value: Number) -> bool:
        """Whether a number is one of this type, or rounds to one."""
        if self.is_integer:
            low, high = self.ends
            return isinstance(value, int) and low <= value <= high
        try:
            with np.errstate(over="ignore"):
                return math.isfinite(float(self.numpy.type(value)))
        except OverflowError:
            return False

    def read(self, text: str) -> Number:
        """The number that a text is.

        Raises:
            ValueError: it is none, or it has a fraction and this is a type of whole numbers.
        """
        return int(text) if self.is_integer else float(text)

    def exact(self, value: Number) -> Number:
        """A number as a plugin gets it from an ONNX attribute, which holds a float as float32."""
        if self.is_integer:
            return int(value)
        wide = self is FieldType.FLOAT64
        if wide and not FieldType.FLOAT32.holds(value):
            return float(value)  # which no attribute carries
        narrow = np.dtype(np.float32) if wide else self.numpy
        return float(narrow.type(value))

    def takes(self, code: int) -> bool:
        """Whether generated code reads a field of this type from what comes as the `PluginFieldType` of that number."""
        if self.is_integer:
            return NAMES[code] in ("kINT8", "kINT16", "kINT32", "kINT64") if code in range(len(NAMES)) else False
        return code in (self.code, self.parsed.code)


@dataclass(frozen=True)
class _TypeFacts:
    trt: str
    numpy: np.dtype[Any]


_FACTS: dict[FieldType, _TypeFacts] = {
    FieldType.FLOAT32: _TypeFacts("kFLOAT32", np.dtype(np.float32)),
    FieldType.FLOAT16: _TypeFacts("kFLOAT16", np.dtype(np.float16)),
    FieldType.BFLOAT16: _TypeFacts("kBF16", np.dtype(ml_dtypes.bfloat16)),
    FieldType.FLOAT64: _TypeFacts("kFLOAT64", np.dtype(np.float64)),
    FieldType.INT8: _TypeFacts("kINT8", np.dtype(np.int8)),
    FieldType.INT16: _TypeFacts("kINT16", np.dtype(np.int16)),
    FieldType.INT32: _TypeFacts("kINT32", np.dtype(np.int32)),
    FieldType.INT64: _TypeFacts("kINT64", np.dtype(np.int64)),
    FieldType.STRING: _TypeFacts("kCHAR", np.dtype(np.int8)),
}

_LARGEST = {
    FieldType.FLOAT64: float(np.finfo(np.float64).max),
    FieldType.FLOAT32: float(np.finfo(np.float32).max),
    FieldType.FLOAT16: float(np.finfo(np.float16).max),
    FieldType.BFLOAT16: (2.0 - 2.0**-7) * 2.0**127,
}

REFUSED = {
    "dims": "no attribute of an ONNX node comes to a plugin as kDIMS; write int64 with a length",
    "unknown": "nothing is known of its bytes as kUNKNOWN; write int8 with a length",
    "float8": "NVIDIA's parser gives the bytes of a float8 attribute as kFLOAT16, so none comes as kFP8; write float32",
    "int4": "NVIDIA's parser gives the bytes of an int4 attribute as kFLOAT16, so none comes as kINT4; write int8",
    "float4": "no attribute of an ONNX node comes to a plugin as kFP4; write float32",
    "bool": "TensorRT has no PluginFieldType for it; write int32 with choices = [0, 1]",
    "uint8": "TensorRT has no PluginFieldType for it; write int16 with min = 0 and max = 255",
}
"""Types that a field can't have, with the reason. The names of the rest of `nvinfer1::PluginFieldType` stand here."""


def numbers() -> dict[int, FieldType]:
    """The types whose values are numbers, by the number of `nvinfer1::PluginFieldType`."""
    return {kind.code: kind for kind in FieldType if not kind.is_text}


def of_code(code: int) -> FieldType | None:
    """The type of a number of `nvinfer1::PluginFieldType`; None of one that manifests don't have."""
    return next((one for one in FieldType if one.code == code), None)


def encode(kind: FieldType, value: Value) -> npt.NDArray[Any]:
    """A value as a field's data: an array of one dimension. A text ends with a zero where the value does."""
    if isinstance(value, str):
        return np.frombuffer(value.encode("utf-8", "surrogateescape"), np.int8)
    array = np.atleast_1d(np.asarray(value, kind.numpy))
    # Python's buffers have no bfloat16.
    return array.view(np.int16) if kind is FieldType.BFLOAT16 else array


def decode(code: int, data: bytes) -> Value | None:
    """The numbers of a field's data, or its text; None where the type isn't known or the data don't fit it."""
    kind = of_code(code)
    if kind is None or len(data) % kind.numpy.itemsize:
        return None
    if kind.is_text:
        return data.decode("utf-8", "replace").removesuffix("\0")
    return tuple(np.frombuffer(data, kind.numpy).tolist())


def same(one: Value | None, other: Value | None) -> bool:
    """Whether two values are the same, a number being a list of one."""
    listed: list[Value | None] = [(v,) if isinstance(v, (int, float)) else v for v in (one, other)]
    return listed[0] == listed[1]


def each(value: Value, change: Callable[[Number], Number]) -> Value:
    """The value with each of its numbers changed; a text as it is."""
    if isinstance(value, str):
        return value
    return tuple(map(change, value)) if isinstance(value, tuple) else change(value)


def as_parsed(kind: FieldType, value: Value) -> tuple[FieldType, Value]:
    """Type and value as NVIDIA's parser hands an attribute over: the length of a text counts its closing zero."""
    return kind.parsed, f"{value}\0" if isinstance(value, str) else value


def is_carried(kind: FieldType, value: Value) -> bool:
    """Whether an attribute of an ONNX node brings the value to a plugin unchanged."""
    if isinstance(value, str):
        return True
    numbers = value if isinstance(value, tuple) else (value,)
    if kind.is_integer:
        return all(number in CARRIED_INTEGERS for number in numbers)
    return all(FieldType.FLOAT32.holds(number) for number in numbers)


def shown(value: Value) -> str:
    """A value in messages: `0.5`, `[0, 1]`, `"nearest"`."""
    if isinstance(value, str):
        return json.dumps(value.removesuffix("\0"), ensure_ascii=False)
    if isinstance(value, tuple):
        first = ", ".join(f"{number:g}" if isinstance(number, float) else str(number) for number in value[:16])
        return f"[{first}{', ...' if len(value) > 16 else ''}]"
    return f"{value:g}" if isinstance(value, float) else str(value)
