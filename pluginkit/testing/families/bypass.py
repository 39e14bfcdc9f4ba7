"""The output of a branch without the plugin: an input of the output's shape, or a constant of that shape.

The shape is computed in the graph, by the outputs' expressions in `pluginkit.toml`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from onnx import TensorProto

from pluginkit import shapes
from pluginkit.manifest import Tensor
from pluginkit.network.networks import Array
from pluginkit.testing.families import dimensions
from pluginkit.testing.families.base import Applier, Body, Setting
from pluginkit.testing.families.family import graph_kind, symbolic
from pluginkit.testing.points import bind

_FACTOR = 0.5
_FILL = 0.25


def source(setting: Setting, output: Tensor) -> Tensor | None:
    """The first input of an output's shape and kind."""
    for tensor in setting.manifest.execution_inputs():
        if setting.graph_type(tensor) == setting.graph_type(output) and symbolic(tensor) == symbolic(output):
            return tensor
    return None


def add(body: Body, inputs: Sequence[str], *, count: str = "", lead: Sequence[Tensor] = ()) -> list[str]:
    """Outputs without the plugin: halves of inputs, or a constant; in manifest order.

    Those with an axis more are constants: NVIDIA's builder crashes on an input that is expanded next to a loop's
    concatenation (TensorRT-RTX 1.7.1).

    Args:
        body: where they stand.
        inputs: what the plugin would get.
        count: 0-D int64: the size of an axis that is put before all others of the outputs in `lead`.
        lead: outputs that have such an axis.
    """
    setting = body.setting
    return [_output_node(body, inputs, tensor, count if tensor in lead else "") for tensor in setting.manifest.outputs]


def half(body: Body, tensor: Tensor, name: str) -> str:
    """The half of a float graph tensor that `tensor` describes."""
    factor = body.constant(f"{tensor.name}_factor", TensorProto.FLOAT, [], [_FACTOR])
    return body.op("Mul", [name, factor], body.names.tensor(f"{body.label}_{tensor.name}_half"))


def halved(applier: Applier, value: Array) -> Array:
    """The same by NumPy."""
    return applier.state(value * np.float32(_FACTOR))


def _output_node(body: Body, inputs: Sequence[str], tensor: Tensor, count: str) -> str:
    setting, names = body.setting, body.names
    given = None if count else source(setting, tensor)
    value = inputs[setting.manifest.inputs.index(given)] if given else ""
    if given and setting.is_float(tensor):
        value = half(body, tensor, value)
    elif not given:
        value = body.constant(f"{tensor.name}_fill", graph_kind(setting, tensor), [], [_fill(setting, tensor)])
    sizes = [dimensions.size(body, setting.manifest.inputs, inputs, shapes.parse(dim)) for dim in tensor.shape]
    if count:
        one = body.constant(f"{tensor.name}_one", TensorProto.INT64, [1], [1])
        sizes.insert(0, body.op("Reshape", [count, one], names.tensor(f"{body.label}_{tensor.name}_count")))
    if given or not sizes:
        return value
    wanted = body.op("Concat", sizes, names.tensor(f"{body.label}_{tensor.name}_shape"), axis=0)
    return body.op("Expand", [value, wanted], names.tensor(f"{body.label}_{tensor.name}_filled"))


def _fill(setting: Setting, tensor: Tensor) -> float:
    """Another whole number for each output: NVIDIA's builder refuses an If that gives the same one twice (refusal
    same-constants). A count of rows that mean something is 1: an output has as many."""
    if setting.is_float(tensor):
        return _FILL
    outputs = setting.manifest.outputs
    return 1 if tensor.name in {other.valid for other in outputs} else 2 + outputs.index(tensor)


def compute(applier: Applier, inputs: Sequence[Array], *, count: int = 0, lead: Sequence[Tensor] = ()) -> list[Array]:
    """The same by NumPy."""
    setting = applier.setting
    sizes = setting.manifest.output_shapes(_bound(setting, inputs))
    found = []
    for tensor in setting.manifest.outputs:
        given = None if tensor in lead else source(setting, tensor)
        if given is None:
            fill = _fill(setting, tensor)
            value = np.full(sizes[tensor.name], fill, np.float64 if setting.is_float(tensor) else np.int64)
        else:
            value = np.asarray(inputs[setting.manifest.inputs.index(given)])
            value = halved(applier, value) if setting.is_float(tensor) else value.astype(np.int64)
        found.append(np.stack([value] * count) if tensor in lead else value)
    return found


def _bound(setting: Setting, inputs: Sequence[Array]) -> Mapping[str, int]:
    tensors = setting.manifest.inputs
    return bind(setting.manifest, {tensor.name: value for tensor, value in zip(tensors, inputs, strict=True)})
