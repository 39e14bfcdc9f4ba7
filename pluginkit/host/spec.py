"""Plain data before and after a build: what a network passes to a plugin, and the built plugin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pluginkit import bases
from pluginkit.dtypes import DType
from pluginkit.field_types import FieldType, decode, encode, same
from pluginkit.host.bases.changed_fields import Fields
from pluginkit.host.bases.v2_plugin import Serialized
from pluginkit.host.bases.v3.plugin import KeptField
from pluginkit.host.descriptors import LINEAR, Desc, DynamicDesc
from pluginkit.host.errors import Finding
from pluginkit.host.expressions import ShapeProgram

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


Bounds: TypeAlias = tuple[Sequence[TensorSpec], Sequence[TensorSpec]]
"""The inputs and outputs of a profile."""


@dataclass(frozen=True)
class V3Facts:
    """What the build has found out of an IPluginV3.

    Attributes:
        kept: what getFieldsToSerialize gave.
        tactics: the valid tactics for each profile; (0,) where it advertises none.
        aliases: for each output the input whose memory it shares, None for its own.
        shape_inputs: which of the inputs are shape inputs.
        tactic: the one that the engine runs.
    """

    kept: tuple[KeptField, ...]
    tactics: tuple[tuple[int, ...], ...]
    aliases: tuple[int | None, ...]
    shape_inputs: tuple[int, ...] = ()
    tactic: int = 0


@dataclass(frozen=True)
class BuiltPlugin:
    """A plugin layer after the build: all that the run needs, and no plugin. Goes between processes by pickle.

    `outputs` and `configured` have one entry per profile. `configured` is what configurePlugin was given:
    {"inputs": [...], "outputs": [...]}, each tensor a dict of dims, type, format, scale, min, opt, max. `workspace` is
    in bytes, for the profile that wants most. `base` is the interface that it was built by.
    """

    base: bases.Name
    layer: str
    name: str
    version: str
    namespace: str
    serialized: Serialized
    input_dims: tuple[tuple[int, ...], ...]
    shapes: tuple[ShapeProgram, ...]
    outputs: tuple[tuple[TensorSpec, ...], ...]
    configured: tuple[dict[str, list[dict[str, Any]]], ...]
    workspace: int
    batch: int = 1
    """What an IPluginV2IOExt's enqueue gets as batchSize."""
    v3: V3Facts | None = None
    """What only an IPluginV3 has; `serialized` is empty then."""
    fields: Fields = field(default_factory=dict)
    """What createPlugin was given."""

    def profile_of(self, specs: Sequence[TensorSpec]) -> int:
        """The number of the profile that the inputs have these bounds in."""
        mine = [(spec.min, spec.opt, spec.max) for spec in specs]
        ranges = [[(one["min"], one["opt"], one["max"]) for one in profile["inputs"]] for profile in self.configured]
        return ranges.index(mine) if mine in ranges else 0

    def engine_has(self, name: str) -> bool | None:
        """Whether the engine keeps the value of a field; None if the serialized form is the plugin's own, which doesn't
        show it."""
        dtype, value = self.fields[name]
        raw = encode(FieldType(dtype), value).tobytes()
        if self.v3 is None:
            return raw.removesuffix(b"\0" if isinstance(value, str) else b"") in self.serialized.data or None
        # Kept in the field's own type, it may have come in another: the parser has no attribute of each.
        given = decode(FieldType(dtype).code, raw)
        found = next((kept for kept in self.v3.kept if kept.name == name), None)
        return None if found is None else same(decode(found.type, found.data), given)


@dataclass(frozen=True)
class LayerConfig:
    """What a network has of a layer other than its inputs.

    Attributes:
        scales: the outputs' INT8 scales in implicit quantization, where configure sees them in `desc.scale`; none
            means explicit quantization: 1 for all.
        formats: of the outputs, numbers of `nvinfer1::TensorFormat`; none means linear.
        types: of the outputs, as the plugin's manifest has them for these inputs; none: whatever the plugin answers.
        undeclared: formats of all inputs and outputs that the plugin must refuse.
        declared_types: rows of types of all tensors, inputs first: the plugin should refuse all others in linear
            memory. None: it isn't asked.
        implicit_batch: the shapes are passed without their first dimension, which all inputs share (IPluginV2IOExt).
        shape_inputs: the inputs that are shape inputs, by index (IPluginV3): of such a spec min, opt and max are the
            tensor's values, and its dims are -1 for each element.
        chooses: whether the builder chooses types and formats: it asks for all of them, and configures each candidate.
    """

    scales: Sequence[float] = ()
    formats: Sequence[int] = ()
    types: Sequence[DType] = ()
    undeclared: Sequence[Sequence[int]] = ()
    declared_types: Sequence[Sequence[DType]] = ()
    implicit_batch: bool = False
    shape_inputs: Sequence[int] = ()
    chooses: bool = True

    def outputs(self, count: int) -> list[tuple[float, int]]:
        """Each output's scale and format."""
        return list(zip(self.scales or [1.0] * count, self.formats or [LINEAR] * count, strict=True))

    def check_count(self, method: str, answered: int) -> None:
        """Looks at what a plugin's getNbOutputs (`method`) has answered.

        Raises:
            Finding: another number than the manifest has outputs.
        """
        declared = len(self.types or self.formats or self.scales)
        if declared and answered != declared:
            raise Finding(
                method,
                f"answered {answered}, and the manifest has {declared} output{'s' * (declared > 1)}",
                rule="T19",
                hint="Correct [[outputs]] in pluginkit.toml. If the number follows from a field, leave that field "
                "out, and write a manifest for each number.",
            )

    def check_types(self, method: str, inputs: Sequence[DType], answered: Sequence[DType]) -> None:
        """Looks at what a plugin's getOutputDataType (`method`, or that of all outputs at once) has answered.

        Before the formats are asked for: there the wrong type would be refused, by a method that is right.

        Raises:
            Finding: an output's type is another than the manifest's.
        """
        for index, (mine, its) in enumerate(zip(answered, self.types, strict=False)):
            if mine is not its:
                given = ", ".join(kind.trt for kind in inputs)
                message = f"answered {mine.trt} for output {index}, where the inputs are {given}"
                raise Finding(method, f"{message}; the manifest says {its.trt}", rule="T19")


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
