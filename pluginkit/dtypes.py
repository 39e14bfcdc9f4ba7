"""The element types that pluginkit knows: NumPy's names, TensorRT's names and numbers, and ONNX's."""

from __future__ import annotations

from enum import Enum
from typing import Any

import ml_dtypes
import numpy as np


class DType(str, Enum):
    """An element type. The value is NumPy's name for it.

    `code` is the number of `nvinfer1::DataType`, `onnx` that of `onnx.TensorProto.DataType`.
    """

    FLOAT32 = "float32"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    INT8 = "int8"
    INT32 = "int32"

    @property
    def trt(self) -> str:
        """TensorRT's name: `kFLOAT`, `kHALF`, `kBF16`, `kINT8`, `kINT32`."""
        return _FACTS[self][0]

    @property
    def code(self) -> int:
        """The value of `nvinfer1::DataType`."""
        return _FACTS[self][1]

    @property
    def onnx(self) -> int:
        """The value of `onnx.TensorProto.DataType`."""
        return _FACTS[self][2]

    @property
    def short(self) -> str:
        """The usual short name: FP32, FP16, BF16, INT8, INT32."""
        return _FACTS[self][3]

    @property
    def numpy(self) -> np.dtype[Any]:
        """NumPy's type; ml_dtypes' for bfloat16."""
        kind: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16 if self is DType.BFLOAT16 else self.value)
        return kind

    @property
    def itemsize(self) -> int:
        """Bytes an element."""
        return self.numpy.itemsize

    @classmethod
    def from_code(cls, code: int) -> DType:
        """The type of an `nvinfer1::DataType` value.

        Raises:
            ValueError: TensorRT has such a type or not, pluginkit doesn't.
        """
        for kind in cls:
            if kind.code == code:
                return kind
        raise ValueError(f"nvinfer1::DataType {code} is none of {', '.join(f'{k.trt} ({k.code})' for k in cls)}")


_FACTS: dict[DType, tuple[str, int, int, str]] = {
    DType.FLOAT32: ("kFLOAT", 0, 1, "FP32"),
    DType.FLOAT16: ("kHALF", 1, 10, "FP16"),
    DType.BFLOAT16: ("kBF16", 7, 16, "BF16"),
    DType.INT8: ("kINT8", 2, 3, "INT8"),
    DType.INT32: ("kINT32", 3, 6, "INT32"),
}

PRECISIONS = (DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16, DType.INT8)
"""What a plugin can be tested in; INT32 is for indices and lengths in addition."""
