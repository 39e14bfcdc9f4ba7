"""Checks of a network before any plugin is called: profiles, and the creators that plugin nodes name.

NVIDIA's parser and builder refuse the same. Held against them by tests/fidelity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import onnx

from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed
from pluginkit.interpreter import walker
from pluginkit.network import api_model as api
from pluginkit.network.networks import Array, Dims, Network, NetworkProfile, PluginCall, Range

Identity = tuple[str, str, str]
"""A creator's name, version and namespace."""
CHANNEL_AXIS = 1
"""Of a tensor's dimensions, the channels."""
INT8_CHANNELS = "INT8 wants a channel dimension that is a constant at build time"
"""NVIDIA's documents, of TensorRT 10.16, 11.4 and RTX: "Restrictions for Dynamic Shapes" in "Dynamic Shapes: Advanced
Topics"."""


def check(network: Network, identity: Identity) -> None:
    """Looks at the profiles and the plugin's nodes.

    Args:
        network: the network.
        identity: the creator that the plugin's nodes must name.

    Raises:
        CheckFailed: the first thing that is wrong.
    """
    model = onnx.load_from_string(network.model)
    for node in walker.nodes(model.graph):
        if node.op_type == identity[0]:
            _check_identity(node, identity)
    constants = {tensor.name for tensor in model.graph.initializer}
    for value in (value for value in model.graph.input if value.name not in constants):
        declared = tuple(dim.dim_value if dim.HasField("dim_value") else -1 for dim in value.type.tensor_type.shape.dim)
        _check_profiles(value.name, declared, network.profiles)


def check_api(network: api.ApiNetwork) -> None:
    """Looks at the profiles of a network made by NVIDIA's API.

    Raises:
        CheckFailed: the first thing that is wrong.
    """
    for step in network.steps:
        if isinstance(step, api.NetworkInput):
            _check_profiles(step.out, step.dims, network.profiles)


def check_feeds(profile: NetworkProfile, feeds: Mapping[str, Array]) -> None:
    """Looks at what a network is to be run on, as IExecutionContext::setInputShape does.

    Args:
        profile: the one that the context has.
        feeds: graph input -> array.

    Raises:
        CheckFailed: a shape, or a shape tensor's value, lies outside of the profile; it names both.
    """
    for name, array in feeds.items():
        ends = [(array.shape, profile.shapes[name], "axis")] if name in profile.shapes else []
        if name in profile.values:
            ends.append((tuple(int(one) for one in array.ravel()), profile.values[name], "value"))
        for sizes, (low, _, high), what in ends:
            if len(sizes) != len(low):
                raise CheckFailed(f"profile {profile.name!r}, input {name!r}: rank {len(sizes)}, expected {len(low)}")
            for axis, (size, least, most) in enumerate(zip(sizes, low, high, strict=True)):
                if not least <= size <= most:
                    raise CheckFailed(
                        f"profile {profile.name!r}, input {name!r}, {what} {axis}: {size} is outside of {least} to "
                        f"{most}",
                        hint="Take a profile that holds it, or widen this one.",
                    )


def check_outputs(network: api.AnyNetwork, outputs: Mapping[str, int]) -> None:
    """Looks at how many outputs the plugin's nodes have.

    Args:
        network: the network.
        outputs: plugin node -> how many the plugin has.

    Raises:
        CheckFailed: a node has more.
    """
    if isinstance(network, Network):
        asked = [(node.name, len(node.output)) for node in walker.nodes(onnx.load_from_string(network.model).graph)]
    else:
        asked = [(step.node, len(step.outs)) for step in network.steps if isinstance(step, api.PluginLayer)]
    for node, count in asked:
        has = outputs.get(node)
        if has is not None and count > has:
            raise CheckFailed(f"plugin node {node!r} has {count} outputs, the plugin {has}")


def check_channels(calls: Iterable[PluginCall]) -> None:
    """Looks at the plugin's INT8 inputs.

    Raises:
        CheckFailed: the channels of one differ within a profile or between two.
    """
    for call in calls:
        for index, kind in enumerate(call.types):
            ends = [dims for profile in call.inputs for dims in profile[index]]
            counts = {dims[CHANNEL_AXIS] for dims in ends if len(dims) > CHANNEL_AXIS}
            if kind is DType.INT8 and len(counts) > 1:
                raise CheckFailed(
                    f"plugin node {call.node!r}: input {index} is INT8 and has {min(counts)} to {max(counts)} "
                    f"channels; {INT8_CHANNELS}",
                    hint="Give the channels one value in all profiles, or build a network for each count.",
                )


def _check_identity(node: onnx.NodeProto, identity: Identity) -> None:
    given = {attribute.name: attribute.s.decode() for attribute in node.attribute if attribute.type == attribute.STRING}
    asked = (node.op_type, given.get("plugin_version", "1"), given.get("plugin_namespace", ""))
    if asked != identity:
        raise CheckFailed(
            f"plugin node {node.name!r} asks for {_text(asked)}; the library has {_text(identity)}",
            hint="plugin_version and plugin_namespace are attributes of the node, both strings.",
        )


def _text(identity: Identity) -> str:
    name, version, namespace = identity
    return f"{name} {version} in namespace {namespace!r}"


def _check_profiles(name: str, declared: Dims, profiles: Sequence[NetworkProfile]) -> None:
    for profile in profiles:
        where = f"profile {profile.name!r}, input {name!r}"
        given = profile.shapes.get(name)
        if given is not None:
            _check_range(where, declared, given)
        elif -1 in declared:
            raise CheckFailed(f"{where}: it has dynamic dimensions, {list(declared)}, and the profile no shapes for it")


def _check_range(where: str, declared: Dims, given: Range) -> None:
    for low_opt_high in given:
        if len(low_opt_high) != len(declared):
            raise CheckFailed(f"{where}: {list(low_opt_high)} has another rank than the network's {list(declared)}")
    for axis, (dim, low, best, high) in enumerate(zip(declared, *given, strict=True)):
        message = f"{where}, axis {axis}: min {low}, opt {best}, max {high}"
        if not 0 <= low <= best <= high:
            raise CheckFailed(f"{message}; expected 0 <= min <= opt <= max")
        if dim >= 0 and {low, best, high} != {dim}:
            raise CheckFailed(f"{message}; the network has the constant {dim}")
