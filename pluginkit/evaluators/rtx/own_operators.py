"""A network with ONNX's own operators in the plugin's place: what is refused then too, no plugin is to blame for."""

from __future__ import annotations

from dataclasses import replace

import onnx
from onnx import TensorProto

from pluginkit import shapes
from pluginkit.dtypes import DType
from pluginkit.interpreter import walker
from pluginkit.manifest import Manifest
from pluginkit.network.networks import Network, PluginCall
from pluginkit.testing.families import dimensions
from pluginkit.testing.families.base import Body, Names, Setting

_SCALE = 0.125
"""Of INT8 tensors that get theirs by descriptors. No engine runs here."""


def replaced(network: Network, manifest: Manifest) -> Network:
    """The network, each plugin node as operators of ONNX with its types: every output is the mean of all inputs."""
    model = onnx.load_from_string(network.model)
    calls = {call.node: call for call in network.calls}
    taken = [name for node in walker.nodes(model.graph) for name in (*node.input, *node.output)]
    names = Names([*taken, *(value.name for value in (*model.graph.input, *model.graph.initializer))])
    _replace(model.graph, calls, manifest, Setting(manifest, network.precision, {}), names)
    return replace(network, model=model.SerializeToString(), calls=())


def _replace(
    graph: onnx.GraphProto, calls: dict[str, PluginCall], manifest: Manifest, setting: Setting, names: Names
) -> None:
    nodes = list(graph.node)
    del graph.node[:]
    for node in nodes:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                _replace(attribute.g, calls, manifest, setting, names)
        if node.name not in calls:
            graph.node.append(node)
            continue
        given = {name: value for name, (_, value) in calls[node.name].fields.items()}
        ranked = manifest.like(calls[node.name].ranks)
        body = Body(replace(setting, manifest=ranked, fields=given), names, f"own_{node.name}")
        _fill(body, node, calls[node.name])
        graph.node.extend(body.nodes)
        graph.initializer.extend(body.constants)


def _fill(body: Body, node: onnx.NodeProto, call: PluginCall) -> None:
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
    outputs = zip(node.output, call.output_types, call.output_scales, manifest.outputs, strict=True)
    for name, kind, scale, declared in outputs:
        value = mean
        if declared.shape:
            sizes = [
                dimensions.size(body, manifest.inputs, list(node.input), shapes.parse(dim)) for dim in declared.shape
            ]
            wanted = body.op("Concat", sizes, tensor(f"{label}_shape"), axis=0)
            value = body.op("Expand", [mean, wanted], tensor(f"{label}_filled"))
        if kind.is_quantized:
            body.op("QuantizeLinear", [value, *_scales(body, scale, kind)], name)
        else:
            body.op("Cast", [value], name, to=kind.onnx)


def _scales(body: Body, scale: float, kind: DType) -> list[str]:
    return [
        body.constant("scale", TensorProto.FLOAT, [], [scale or _SCALE]),
        body.constant("zero", kind.onnx, [], [0]),
    ]
