"""Plain data on both sides of the lifecycle: what a network gives to a plugin, and what was built of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pluginkit.dtypes import DType
from pluginkit.host.expressions import ShapeProgram
from pluginkit.host.plugin import LINEAR, Desc, DynamicDesc

NO_SCALE = -1.0
"""`desc.scale` of a tensor that isn't INT8 (NvInferRuntimePlugin.h on PluginTensorDesc::scale)."""


@dataclass(frozen=True)
class TensorSpec:
    """A tensor of the plugin in one profile: `dims` as in the network (-1 is dynamic), and the profile's shapes.

    `scale` is what configure sees in `desc.scale`: 1 in explicit quantization, the tensor's scale in implicit.
    `format` is the number of `nvinfer1::TensorFormat`.
    """

    dtype: DType
    dims: tuple[int, ...]
    min: tuple[int, ...]
    opt: tuple[int, ...]
    max: tuple[int, ...]
    scale: float = 1.0
    format: int = LINEAR

    def desc(self) -> Desc:
        """As the build sees it."""
        return Desc(self.dims, self.dtype.code, self.format, self.scale)

    def dynamic(self) -> DynamicDesc:
        """As configurePlugin sees it at build."""
        return DynamicDesc(self.desc(), self.min, self.opt, self.max)

    def at(self, dims: tuple[int, ...]) -> Desc:
        """As enqueue sees it, with real dimensions."""
        return Desc(dims, self.dtype.code, self.format, self.scale)


@dataclass(frozen=True)
class BuiltPlugin:
    """A plugin layer after the build: all that the run needs, and no plugin. Goes between processes by pickle.

    `outputs` and `configured` have one entry per profile. `configured` is what configurePlugin was given:
    {"inputs": [...], "outputs": [...]}, each tensor a dict of dims, type, format, scale, min, opt, max. `workspace` is
    in bytes, for the profile that wants most.
    """

    layer: str
    name: str
    version: str
    namespace: str
    serialized: bytes
    input_dims: tuple[tuple[int, ...], ...]
    shapes: tuple[ShapeProgram, ...]
    outputs: tuple[tuple[TensorSpec, ...], ...]
    configured: tuple[dict[str, list[dict[str, Any]]], ...]
    workspace: int


def as_dict(desc: DynamicDesc) -> dict[str, Any]:
    """A descriptor as plain data."""
    inner = desc.desc
    return {
        "dims": inner.dims,
        "type": inner.type,
        "format": inner.format,
        "scale": inner.scale,
        "min": desc.min,
        "opt": desc.opt,
        "max": desc.max,
    }
