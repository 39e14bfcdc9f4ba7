"""The tensor formats that pluginkit knows: TensorRT's names and numbers, and how the elements lie in memory.

Source of lanes, vector dimensions and types: `nvinfer1::TensorFormat` in NvInferRuntimeBase.h of TensorRT 11, and
https://docs.nvidia.com/deeplearning/tensorrt/11.0.0/inference-library/data-format-desc.html. (Early releases of
TensorRT 10 list FP16 for kCHW4 too; later ones don't. What NVIDIA's builder takes: docs/proved.md.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from pluginkit.dtypes import DType


@dataclass(frozen=True)
class _Facts:
    trt: str
    code: int
    types: tuple[DType, ...]
    lanes: int = 1
    axis: int = 0
    minor: bool = False


class Format(str, Enum):
    """How a tensor lies in memory. The value is TensorRT's name in small letters, without the k.

    A vector format packs `lanes` channels together, the channel being the dimension `axis` from the end. For a tensor
    [N, C, H, W] a vector-major one stores [N, ceil(C / lanes), H, W, lanes], a vector-minor one
    [N, H, W, ceil(C / lanes) * lanes]. Channels that only fill up a vector are padding.
    """

    LINEAR = "linear"
    CHW2 = "chw2"
    HWC8 = "hwc8"
    CHW4 = "chw4"
    CHW32 = "chw32"
    DHWC8 = "dhwc8"
    CDHW32 = "cdhw32"
    HWC = "hwc"
    HWC16 = "hwc16"
    DHWC = "dhwc"

    @property
    def trt(self) -> str:
        """TensorRT's name, as in `kCHW32`."""
        return _FACTS[self].trt

    @property
    def code(self) -> int:
        """The value of `nvinfer1::TensorFormat`."""
        return _FACTS[self].code

    @property
    def types(self) -> tuple[DType, ...]:
        """The element types that TensorRT documents for it."""
        return _FACTS[self].types

    @property
    def lanes(self) -> int:
        """Channels a vector; 1 where none are packed."""
        return _FACTS[self].lanes

    @property
    def axis(self) -> int:
        """Which dimension is the channel's, counted from the end (3: third to last); 0 for linear."""
        return _FACTS[self].axis

    @property
    def minor(self) -> bool:
        """Whether the channel is the last axis in memory."""
        return _FACTS[self].minor

    def storage(self, dims: Sequence[int]) -> tuple[int, ...]:
        """The shape of the array that holds a tensor of these dimensions, padding included."""
        if self is Format.LINEAR:
            return tuple(dims)
        channel = len(dims) - self.axis
        vectors = math.ceil(dims[channel] / self.lanes)
        before, behind = tuple(dims[:channel]), tuple(dims[channel + 1 :])
        if self.minor:
            return (*before, *behind, vectors * self.lanes)
        return (*before, vectors, *behind, self.lanes)

    def pads(self, dims: Sequence[int]) -> bool:
        """Whether a tensor of these dimensions has padded lanes: its channels don't fill the last vector."""
        return self is not Format.LINEAR and math.prod(self.storage(dims)) > math.prod(dims)

    @classmethod
    def from_code(cls, code: int) -> Format:
        """The format of an `nvinfer1::TensorFormat` value.

        Raises:
            ValueError: TensorRT has such a format or not, pluginkit doesn't.
        """
        for one in cls:
            if one.code == code:
                return one
        raise ValueError(f"nvinfer1::TensorFormat {code} is not one of {', '.join(f'{f.trt} ({f.code})' for f in cls)}")


_HALVES = (DType.FLOAT16, DType.BFLOAT16)
_FACTS: dict[Format, _Facts] = {
    Format.LINEAR: _Facts("kLINEAR", 0, tuple(DType)),
    Format.CHW2: _Facts("kCHW2", 1, _HALVES, lanes=2, axis=3),
    Format.HWC8: _Facts("kHWC8", 2, _HALVES, lanes=8, axis=3, minor=True),
    Format.CHW4: _Facts("kCHW4", 3, (DType.INT8,), lanes=4, axis=3),
    Format.CHW32: _Facts("kCHW32", 5, (DType.FLOAT32, DType.FLOAT16, DType.INT8), lanes=32, axis=3),
    Format.DHWC8: _Facts("kDHWC8", 6, _HALVES, lanes=8, axis=4, minor=True),
    Format.CDHW32: _Facts("kCDHW32", 7, (DType.FLOAT16, DType.INT8), lanes=32, axis=4),
    Format.HWC: _Facts("kHWC", 8, (DType.FLOAT32,), axis=3, minor=True),
    Format.HWC16: _Facts("kHWC16", 11, (DType.FLOAT16, DType.INT8, DType.FLOAT8), lanes=16, axis=3, minor=True),
    Format.DHWC: _Facts("kDHWC", 12, (DType.FLOAT32,), axis=4, minor=True),
}

DLA_ONLY = ("chw16", "dla_linear", "dla_hwc4")
"""TensorRT's formats for DLA cores, which run no plugins."""

NEVER_IN_V2EXT = (Format.CHW4, Format.CHW32)
"""What an IPluginV2 or IPluginV2Ext never gets: NvInferRuntimePlugin.h, IPluginV2::supportsFormat ("the values
PluginFormat::kCHW4, PluginFormat::kCHW16, and PluginFormat::kCHW32 will not be passed in")."""
