"""The oracle of `running`, in a worker: plugins by reference.py, all else by onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import onnx

from pluginkit import float8
from pluginkit.dtypes import PRECISIONS, DType
from pluginkit.errors import CheckFailed, UsageError
from pluginkit.field_types import Value
from pluginkit.importing.cut_model import CutModel
from pluginkit.importing.plugin_node import Expected, Identity, field_value, identity
from pluginkit.manifest import Manifest, Tensor
from pluginkit.network.networks import Array, Scale
from pluginkit.testing import precision
from pluginkit.testing.families.base import MEANINGLESS
from pluginkit.testing.reference import Reference

Projects = Mapping[Identity, tuple[Path, Manifest]]


def run(model: bytes, projects: Projects, feeds: Mapping[str, Array]) -> Expected:
    """What the model's outputs must be; the nodes of the domain `plugin_node.DOMAIN` are the plugins'.

    Raises:
        UsageError: a plugin stands where this can't follow, or reference.py can't be loaded.
        ToolMissing: onnxruntime isn't installed, and there is a node that only it can run.
        CheckFailed: reference.py fails, or the shape of an output follows from elements that it masks.
    """
    proto = onnx.load_from_string(model)
    plugins = {key: (manifest, Reference.load(path, manifest)) for key, (path, manifest) in projects.items()}
    first = Oracle(proto, plugins, 0)
    outputs = first.outputs(feeds)
    if not any(mask.any() for calls in first.free.values() for masks in calls for mask in masks):
        return Expected(outputs, steps=first.steps)
    # What depends on elements that mean nothing changes with them.
    other = Oracle(proto, plugins, 1).outputs(feeds)
    arbitrary = {}
    for name, value in outputs.items():
        if value.shape != other[name].shape:
            raise CheckFailed(f"the shape of '{name}' depends on elements that reference() masks")
        same = (value == other[name]) | ((value != value) & (other[name] != other[name]))  # noqa: PLR0124 - NaN
        if not same.all():
            arbitrary[name] = ~same
    return Expected(outputs, arbitrary, first.free, first.steps)


class Oracle(CutModel):
    """One computation of a model. `free` collects what reference.py masks: of each plugin's node, of each of its runs,
    for each output which elements mean nothing; they get the value number `fill` of `MEANINGLESS`. `steps` are as of
    `Expected`."""

    def __init__(
        self,
        model: onnx.ModelProto,
        plugins: Mapping[Identity, tuple[Manifest, Reference]],
        fill: Literal[0, 1],
    ) -> None:
        super().__init__(model)
        self._plugins = plugins
        self._fill = fill
        self.free: dict[str, list[tuple[Array, ...]]] = {}
        self.steps: dict[str, float] = {}

    def _plugin(self, node: onnx.NodeProto, inputs: Sequence[Array]) -> list[Array]:
        """reference.py on what the inputs stand for, its outputs as the plugin's types hold them."""
        manifest, reference = self._plugins[identity(node)]
        fields = {field.name: field_value(node, field) for field in manifest.fields}
        tensors = (*manifest.inputs, *manifest.outputs)
        scales = {t.name: _scale(t, fields[t.scale]) if t.scale else 1.0 for t in tensors}
        # As NVIDIA's parser has it: float64 is float32.
        wide = any(value.dtype == np.float64 for value in inputs)
        kinds = [_kind(value) for value in inputs]
        computed = next((kind for kind in kinds if kind in PRECISIONS), DType.FLOAT32)
        typed = [*zip(manifest.inputs, kinds, strict=True)]
        typed += [(tensor, manifest.type_of(tensor, computed)) for tensor in manifest.outputs]
        quantized = [(tensor, kind) for tensor, kind in typed if kind.is_quantized]
        if nothing := sorted({one.scale for one, _ in quantized if one.scale and not np.all(scales[one.name])}):
            raise UsageError(
                f"node {node.name} has {quantized[0][1].short} tensors, and {', '.join(nothing)} is 0: what a step is "
                "worth is not known",
                hint="Give the node these attributes.",
            )
        real = [
            precision.dequantize(value, scales[tensor.name])
            if kind.is_quantized
            else value.astype(np.int64 if kind.is_integer else np.float64)
            for tensor, value, kind in zip(manifest.inputs, inputs, kinds, strict=True)
        ]
        given = {name: value for name, value in fields.items() if name not in manifest.scale_fields()}
        answer = reference.masked(real, given)
        self.free.setdefault(node.name, []).append(tuple(np.ma.getmaskarray(one) for one in answer))
        filled = [np.ma.filled(one, MEANINGLESS[one.dtype.kind][self._fill]) for one in answer]
        outputs = []
        for tensor, value in zip(manifest.outputs, filled, strict=True):
            kind = manifest.type_of(tensor, computed)
            held = precision.quantize(value, scales[tensor.name], kind) if kind.is_quantized else value
            outputs.append(np.asarray(held).astype(np.float64 if wide and kind is DType.FLOAT32 else kind.numpy))
        for one, kind in quantized:
            # FP8's largest numbers are the farthest apart.
            steps = float8.spacing(np.asarray(float8.LARGEST)).item() if kind is DType.FLOAT8 else 1.0
            far = steps * float(np.max(np.abs(scales[one.name]))) * precision.steps_of(manifest, kind)
            self.steps[node.name] = max(self.steps.get(node.name, 0.0), far)
        return outputs


def _kind(value: Array) -> DType:
    """A tensor's type as the plugin gets it."""
    return DType.FLOAT32 if value.dtype == np.float64 else DType.from_numpy(value.dtype)


def _scale(tensor: Tensor, value: Value) -> Scale:
    """What a step of a tensor is worth, by the field that its scale, or those of its channels, come in."""
    if isinstance(value, tuple):
        return precision.along(value, tensor.scale_axis or 0, len(tensor.shape))
    return float(value) if isinstance(value, (int, float)) else 1.0
