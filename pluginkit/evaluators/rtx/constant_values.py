"""A network whose plugin gets its shape inputs as constants: what is built then shows whose a crash was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import onnx
from onnx import helper, numpy_helper

from pluginkit.manifest import Manifest
from pluginkit.network.networks import Network, NetworkProfile, Range


def with_constants(network: Network, manifest: Manifest) -> Network:
    """The network in its first profile, the plugin's shape inputs as initializers with that profile's opt.

    Itself where they are not network inputs.
    """
    profile = network.profiles[0]
    names = [tensor.name for tensor in manifest.shape_inputs() if tensor.name in profile.values]
    if not names:
        return network
    model = onnx.load_from_string(network.model)
    for value in [value for value in model.graph.input if value.name in names]:
        kind = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        dims = tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)
        array = np.array(profile.values[value.name][1], kind).reshape(dims)
        model.graph.input.remove(value)
        model.graph.initializer.append(numpy_helper.from_array(array, value.name))

    def others(ranges: Mapping[str, Range]) -> dict[str, Range]:
        return {name: one for name, one in ranges.items() if name not in names}

    left = NetworkProfile(profile.name, others(profile.shapes), others(profile.values))
    calls = tuple(replace(call, inputs=call.inputs[:1]) for call in network.calls)
    return replace(network, model=model.SerializeToString(), profiles=(left,), calls=calls)
