"""Tensor descriptors that a plugin gets, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from pluginkit import _native

LINEAR = 0
"""`nvinfer1::TensorFormat::kLINEAR`"""


@dataclass(frozen=True)
class Desc:
    """A PluginTensorDesc: dims (-1 is dynamic), type and format by their numbers, and the INT8 scale."""

    dims: tuple[int, ...]
    type: int
    format: int = LINEAR
    scale: float = 1.0

    def native(self) -> _native.Desc:
        """As the native module takes it."""
        return self.dims, self.type, self.format, self.scale


@dataclass(frozen=True)
class DynamicDesc:
    """A DynamicPluginTensorDesc."""

    desc: Desc
    min: tuple[int, ...]
    opt: tuple[int, ...]
    max: tuple[int, ...]

    def native(self) -> _native.DynamicDesc:
        """As the native module takes it."""
        return self.desc.native(), self.min, self.opt, self.max
