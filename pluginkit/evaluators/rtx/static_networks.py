"""Concrete points as static networks: where every dimension is fixed, NVIDIA must say the same numbers as the oracle.

In a dynamic network both would say -1, and -1 compared with -1 proves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import onnx
from onnx import helper, numpy_helper

from pluginkit.interpreter import walker
from pluginkit.manifest import Manifest, Tensor
from pluginkit.network.api_model import PROBE
from pluginkit.network.networks import Case, Dims, Network, NetworkProfile, PluginCall
from pluginkit.testing import edges
from pluginkit.testing.families.base import DOMAIN

_BEHIND = "_probe"


def points(cases: Sequence[Case], network: Network) -> list[Case]:
    """The network's cases, one for each set of shapes and shape tensors' values.

    Of other families than `plain` only the last: a random one where there is any. The points of `testing.edges` are
    for kernels, and none runs here.
    """
    found: dict[tuple[object, ...], Case] = {}
    for case in cases:
        if case.network_id == network.id and not edges.is_edge(case.point):
            shaping = [str(case.feeds[name].tolist()) for name in network.profiles[0].values]
            found.setdefault((tuple(case.symbols.items()), *shaping), case)
    return list(found.values()) if network.family == "plain" else list(found.values())[-1:]


def fixed(network: Network, case: Case, manifest: Manifest) -> Network:
    """The network with the case's dimensions and shape tensors as constants, and a probe behind each plugin output."""
    model = onnx.load_from_string(network.model)
    graph = model.graph
    for name in network.profiles[0].values:
        (value,) = [value for value in graph.input if value.name == name]
        graph.input.remove(value)
        graph.initializer.append(numpy_helper.from_array(case.feeds[name], name))
    for value in graph.input:
        shape = value.type.tensor_type.shape
        del shape.dim[:]
        for size in case.feeds[value.name].shape:
            shape.dim.add().dim_value = size
    live = _live(graph, {output.name for output in graph.output})
    # A size that only enqueue knows is not a number here either.
    numbers = [not manifest.is_sized(tensor) for tensor in manifest.outputs]
    plugins = {call.node for call in network.calls}
    seen = {
        node.name: [name in live and number for name, number in zip(node.output, numbers, strict=False)]
        for node in walker.nodes(graph)
        if node.name in plugins
    }
    calls = []
    for call in network.calls:
        calls += _fixed_calls(call, case, manifest, seen[call.node])
    _put_probes(graph, manifest, seen)
    shapes = {value.name: (dims,) * 3 for value in graph.input if (dims := tuple(case.feeds[value.name].shape))}
    profile = NetworkProfile("static", shapes)
    return replace(network, model=model.SerializeToString(), calls=tuple(calls), profiles=(profile,))


def _live(graph: onnx.GraphProto, wanted: set[str]) -> set[str]:
    """All tensors that `wanted` ones are made of. A probe behind another one would be optimised away."""
    live = set(wanted)
    for node in reversed(graph.node):
        if live.isdisjoint(node.output):
            continue
        live.update(node.input)
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                live |= _live(attribute.g, {output.name for output in attribute.g.output})
    return live


def _fixed_calls(call: PluginCall, case: Case, manifest: Manifest, seen: Sequence[bool]) -> list[PluginCall]:
    manifest = manifest.like(call.ranks)
    manifest = manifest.with_fields({name: value for name, (_, value) in call.fields.items()})
    inputs = tuple(
        tensor.elements(case.symbols) if tensor.is_shape_input else tensor.dims(case.symbols)
        for tensor in manifest.inputs
    )
    behind = [
        PluginCall(
            node=_probe_name(call.node, tensor),
            fields={},
            types=(kind,),
            output_types=(kind,),
            inputs=(((dims, dims, dims),),),
            scales=(0.0,),
            output_scales=(0.0,),
        )
        for tensor, kind, dims, is_seen in zip(
            manifest.outputs, call.output_types, manifest.output_shapes(case.symbols).values(), seen, strict=True
        )
        if is_seen
    ]
    return [replace(call, inputs=(tuple((dims, dims, dims) for dims in inputs),)), *behind]


def _probe_name(node: str, tensor: Tensor) -> str:
    # No node's name may be the beginning of another's: NVIDIA's parser finds layers by prefix.
    return f"p_{node}_{tensor.name}"


def _put_probes(graph: onnx.GraphProto, manifest: Manifest, seen: Mapping[str, Sequence[bool]]) -> None:
    """Behind each of the plugin's outputs that is used, in the graph and in those inside it."""
    name, version, namespace = PROBE
    nodes = list(graph.node)
    del graph.node[:]
    for node in nodes:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                _put_probes(attribute.g, manifest, seen)
        graph.node.append(node)
        if node.op_type != manifest.plugin.name:
            continue
        plugin = graph.node[-1]
        for index, tensor in enumerate(manifest.outputs):
            if not seen[node.name][index]:
                continue
            output = plugin.output[index]
            plugin.output[index] = output + _BEHIND
            graph.node.append(
                helper.make_node(
                    name,
                    [output + _BEHIND],
                    [output],
                    _probe_name(node.name, tensor),
                    domain=DOMAIN,
                    plugin_version=version,
                    plugin_namespace=namespace,
                )
            )


def wrong_shapes(case: Case, shapes: Mapping[str, Dims], manifest: Manifest) -> list[str]:
    """Where NVIDIA's shapes of a static network's outputs aren't those of the oracle; -1 is not a number to agree on.

    What has a size that only enqueue knows, or comes of that, is -1.
    """
    found = []
    for name, expected in case.expected.items():
        got, agreed = shapes.get(name), expected.shape
        if got is not None and manifest.size_tensors() and len(got) == len(agreed):
            agreed = tuple(-1 if size == -1 else want for size, want in zip(got, agreed, strict=True))
        if got != agreed:
            found.append(f"output {name!r}: the oracle's shape is {list(expected.shape)}, NVIDIA's {list(got or ())}")
    return found
