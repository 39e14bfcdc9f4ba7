"""A network with ONNX's own operators in the plugin's place: what is refused then too, no plugin is to blame for."""

from __future__ import annotations

from dataclasses import replace

import onnx
from onnx import TensorProto

from pluginkit import shapes
from pluginkit.dtypes import DType
from pluginkit.interpreter import walker
from pluginkit.manifest import Manifest, Tensor
from pluginkit.network.model import Network, PluginCall
from pluginkit.testing.families import dimensions
from pluginkit.testing.families.base import Body, Names, Setting

_SCALE = 0.125
"""Of INT8 tensors that get theirs by descriptors. No engine runs here."""


def replaced(network: Network, manifest: Manifest, *, copying: str = "") -> Network:
    """The network, each plugin node as operators of ONNX with its types: every output is the mean of all inputs.

    With the name of a `copying` plugin, which copies its input: what gives an output is that plugin, on the input that
    is like the output, or else on that mean.
    """
    model = onnx.load_from_string(network.model)
    calls = {call.node: call for call in network.calls}
    taken = [name for node in walker.nodes(model.graph) for name in (*node.input, *node.output)]
    names = Names([*taken, *(value.name for value in (*model.graph.input, *model.graph.initializer))])
    _replace(model.graph, calls, manifest, Setting(manifest, network.precision, {}), names, copying)
    return replace(network, model=model.SerializeToString(), calls=())


def _replace(
    graph: onnx.GraphProto,
    calls: dict[str, PluginCall],
    manifest: Manifest,
    setting: Setting,
    names: Names,
    copying: str,
) -> None:
    nodes = list(graph.node)
    del graph.node[:]
    for node in nodes:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                _replace(attribute.g, calls, manifest, setting, names, copying)
        if node.name not in calls:
            graph.node.append(node)
            continue
        given = {name: value for name, (_, value) in calls[node.name].fields.items()}
        ranked = manifest.like(calls[node.name].ranks)
        body = Body(replace(setting, manifest=ranked, fields=given), names, f"own_{node.name}")
        _fill(body, node, calls[node.name], copying)
        graph.node.extend(body.nodes)
        graph.initializer.extend(body.constants)


def _fill(body: Body, node: onnx.NodeProto, call: PluginCall, copying: str) -> None:
    manifest, label, tensor = body.setting.manifest, body.label, body.names.tensor
    outputs = zip(node.output, call.output_types, call.output_scales, manifest.outputs, strict=True)
    mean = ""
    for name, kind, scale, declared in outputs:
        if copying and (alike := like(declared, kind, manifest, call)) is not None:
            body.op(copying, [node.input[alike]], name)
            continue
        value = mean = mean or _mean(body, node, call)
        if declared.shape:
            sizes = [
                dimensions.size(body, manifest.inputs, list(node.input), shapes.parse(dim)) for dim in declared.shape
            ]
            wanted = body.op("Concat", sizes, tensor(f"{label}_shape"), axis=0)
            value = body.op("Expand", [mean, wanted], tensor(f"{label}_filled"))
        end = tensor(f"{label}_own") if copying else name
        if kind.is_quantized:
            body.op("QuantizeLinear", [value, *_scales(body, scale, kind)], end)
        else:
            body.op("Cast", [value], end, to=kind.onnx)
        if copying:
            body.op(copying, [end], name)


def like(output: Tensor, kind: DType, manifest: Manifest, call: PluginCall) -> int | None:
    """The input of a call that has the shape and the type of an output; None if there is none."""
    pairs = enumerate(zip(manifest.inputs, call.types, strict=True))
    return next((i for i, (one, its) in pairs if one.shape == output.shape and its is kind), None)


def _mean(body: Body, node: onnx.NodeProto, call: PluginCall) -> str:
    """The mean of all inputs: 0-D, of FP32."""
    manifest, label, tensor = body.setting.manifest, body.label, body.names.tensor
    means = []
    for name, kind, scale, declared in zip(node.input, call.types, call.scales, manifest.inputs, strict=True):
        if kind.is_quantized:
            wide = body.op("DequantizeLinear", [name, *_scales(body, scale, kind)], tensor(f"{label}_wide"))
        else:
            wide = body.op("Cast", [name], tensor(f"{label}_wide"), to=TensorProto.FLOAT)
        means.append(body.op("ReduceMean", [wide], tensor(f"{label}_mean"), keepdims=0) if declared.shape else wide)
    mean = means[0]
    for other in means[1:]:
        mean = body.op("Add", [mean, other], tensor(f"{label}_sum"))
    return mean


def _scales(body: Body, scale: float, kind: DType) -> list[str]:
    return [
        body.constant("scale", TensorProto.FLOAT, [], [scale or _SCALE]),
        body.constant("zero", kind.onnx, [], [0]),
    ]
