"""The element types that pluginkit knows: NumPy's names, TensorRT's names and numbers, and ONNX's."""

from __future__ import annotations

from enum import Enum
from typing import Any

import ml_dtypes
import numpy as np


class DType(str, Enum):
    """An element type. The value is NumPy's name for it; that of FLOAT8 is the manifest's, for ONNX's FLOAT8E4M3FN.

    `code` is the number of `nvinfer1::DataType`, `onnx` that of `onnx.TensorProto.DataType`.
    """

    FLOAT32 = "float32"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    INT8 = "int8"
    FLOAT8 = "float8"
    INT32 = "int32"
    INT64 = "int64"

    @property
    def trt(self) -> str:
        """TensorRT's name: `kFLOAT`, `kHALF`, `kBF16`, `kINT8`, `kFP8`, `kINT32`, `kINT64`."""
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
        """The usual short name: FP32, FP16, BF16, INT8, FP8, INT32, INT64."""
        return _FACTS[self][3]

    @property
    def numpy(self) -> np.dtype[Any]:
        """NumPy's type; ml_dtypes' for bfloat16 and float8."""
        kind: np.dtype[Any] = np.dtype(_ML_DTYPES.get(self, self.value))
        return kind

    @property
    def is_integer(self) -> bool:
        """Whether an element is a whole number: an index, a length. (An INT8 element stands for a real number.)"""
        return self in (DType.INT32, DType.INT64)

    @property
    def is_quantized(self) -> bool:
        """Whether an element stands for a real number by a scale: a network quantizes what it is made of."""
        return self in QUANTIZED

    @property
    def itemsize(self) -> int:
        """Bytes an element."""
        return self.numpy.itemsize

    @classmethod
    def from_numpy(cls, dtype: np.dtype[Any]) -> DType:
        """The type of an array's elements.

        Raises:
            ValueError: pluginkit has no such type.
        """
        for kind in cls:
            if kind.numpy == dtype:
                return kind
        raise ValueError(f"{dtype} is not one of {', '.join(kind.value for kind in cls)}")

    @classmethod
    def from_code(cls, code: int) -> DType:
        """The type of an `nvinfer1::DataType` value.

        Raises:
            ValueError: TensorRT has such a type or not, pluginkit doesn't.
        """
        for kind in cls:
            if kind.code == code:
                return kind
        raise ValueError(f"nvinfer1::DataType {code} is not one of {', '.join(f'{k.trt} ({k.code})' for k in cls)}")


_ML_DTYPES: dict[DType, Any] = {DType.BFLOAT16: ml_dtypes.bfloat16, DType.FLOAT8: ml_dtypes.float8_e4m3fn}
_FACTS: dict[DType, tuple[str, int, int, str]] = {
    DType.FLOAT32: ("kFLOAT", 0, 1, "FP32"),
    DType.FLOAT16: ("kHALF", 1, 10, "FP16"),
    DType.BFLOAT16: ("kBF16", 7, 16, "BF16"),
    DType.INT8: ("kINT8", 2, 3, "INT8"),
    DType.FLOAT8: ("kFP8", 6, 17, "FP8"),
    DType.INT32: ("kINT32", 3, 6, "INT32"),
    DType.INT64: ("kINT64", 8, 7, "INT64"),
}

PRECISIONS = (DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16, DType.INT8, DType.FLOAT8)
"""What a plugin can be tested in; INT32 and INT64 are for indices and lengths in addition."""

QUANTIZED: dict[DType, float] = {DType.INT8: 127.0, DType.FLOAT8: 448.0}
"""The types that QuantizeLinear makes, and the largest number of steps that each has on both sides of zero
(NvInfer.h, IQuantizeLayer: "FP8: [-448, 448]")."""

REFUSED: dict[str, str] = {
    "bool": "TensorRT has no bool tensors in plugins (NvInferRuntimePlugin.h, PluginTensorDesc::type, and "
    'NvInferRuntime.h, IPluginV3OneBuild::getOutputDataTypes: "DataType:kBOOL and DataType::kUINT8 are not supported", '
    "TensorRT 10 and 11, V2 and V3); write int32, and put a Cast before the node",
    "uint8": "TensorRT has no uint8 tensors in plugins (NvInferRuntimePlugin.h, PluginTensorDesc::type, and "
    'NvInferRuntime.h, IPluginV3OneBuild::getOutputDataTypes: "DataType:kBOOL and DataType::kUINT8 are not supported", '
    "TensorRT 10 and 11, V2 and V3); write float16 or float32, and put a Cast before the node",
    "int4": 'TensorRT quantizes only weights to INT4 ("Working with Quantized Types", TensorRT 10.11 and 11.3: '
    "INT4 is weight-only quantization), and a plugin's tensors are not weights; pass two elements in an int8, or the "
    "weights as a field",
}
"""Types that TensorRT has and plugins don't: why, with the source, and what to write."""
