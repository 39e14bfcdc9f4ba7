"""Networks with a plugin that copies its input (`runtimes.nvidia.copying`) in the place of the one that is tested."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx

from pluginkit.dtypes import DType
from pluginkit.interpreter import walker
from pluginkit.judges.rtx import own_operators
from pluginkit.manifest import Manifest, Tensor
from pluginkit.network import api_model as api
from pluginkit.network.api_model import AnyNetwork, is_probe
from pluginkit.network.model import Dims, Network, PluginCall
from pluginkit.runtimes.nvidia.copying import NAME
from pluginkit.runtimes.tensorrt.behaviours import Group
from pluginkit.testing.points import bind_shapes

SCALE = 0.125
"""Of INT8 tensors that get theirs by descriptors. No engine runs here."""


def flow(network: AnyNetwork) -> tuple[Group, ...]:
    """What of control flow a network has, as groups of the table of behaviours; all else is nothing of flow."""
    if isinstance(network, Network):
        kinds = {node.op_type for node in walker.nodes(onnx.load_from_string(network.model).graph)}
        loops, branches = bool(kinds & {"Loop", "Scan"}), "If" in kinds
    else:
        loops = any(isinstance(step, api.LoopStep) for step in network.steps)
        branches = any(isinstance(step, api.Conditional) for step in network.steps)
    return ("loops",) if loops else ("conditionals",) if branches else ("types", "calls", "shapes", "batch", "registry")


def copying(network: AnyNetwork, manifest: Manifest) -> AnyNetwork | None:
    """The network with the plugin that copies; None where none can be made.

    Of a network that is made by the API that is one whose output has neither an input of its shape and type nor a shape
    that is known.
    """
    if isinstance(network, Network):
        made = own_operators.replaced(network, manifest, copying=NAME)
        return replace(made, calls=tuple(replace(call, live=False) for call in network.calls))
    own = {call.node: call for call in network.calls}
    steps: list[api.Step] = []
    calls = []
    for step in network.steps:
        if not isinstance(step, api.PluginLayer) or is_probe(step.node):
            steps.append(step)
            continue
        call = own[step.node]
        for number, (out, kind, declared) in enumerate(
            zip(step.outs, call.output_types, manifest.outputs, strict=True)
        ):
            node, alike = f"{step.node}_{number}", own_operators.like(declared, kind, manifest, call)
            if alike is not None:
                source = step.inputs[alike]
            elif call.shape_inputs or (dims := _static(call, manifest, declared)) is None:
                return None
            else:
                source = f"{node}_filled"
                steps += _filled(step.inputs[0], call, kind, dims, source)
            steps.append(api.PluginLayer(node, (source,), (out,)))
            calls.append(replace(call, node=node, fields={}, types=(kind,), output_types=(kind,)))
    return replace(network, steps=tuple(steps), calls=tuple(calls))


def _static(call: PluginCall, manifest: Manifest, output: Tensor) -> Dims | None:
    """An output's shape in a network of one shape; None in any other."""
    if any(low != high for ranges in call.inputs for low, _, high in ranges):
        return None
    shapes = zip(manifest.inputs, call.inputs[0], strict=True)
    return output.dims(bind_shapes(manifest, {tensor.name: opt for tensor, (_, opt, _) in shapes}))


def _filled(x: str, call: PluginCall, kind: DType, dims: Dims, out: str) -> list[api.Step]:
    """Layers that give a tensor of a shape and a type, all its elements the first one of `x`."""
    rank = len(call.inputs[0][0][0])
    steps: list[api.Step] = [api.ConstantLayer(f"{out}_scale", "float32", (SCALE,))]
    wide = f"{out}_wide"
    steps.append(
        api.Dequantize(x, f"{out}_scale", wide) if call.types[0] is DType.INT8 else api.Cast(x, wide, "float32")
    )
    for name, value in (("start", 0), ("one", 1)):
        steps.append(api.ConstantLayer(f"{out}_{name}", "int32", (value,) * rank, (rank,)))
    count = int(np.prod(dims))
    steps += [
        api.Slice(wide, f"{out}_start", f"{out}_one", f"{out}_one", f"{out}_first"),
        api.Reshape(f"{out}_first", (1,) * len(dims), f"{out}_number"),
        api.ConstantLayer(f"{out}_zeros", "float32", (0.0,) * count, dims),
        api.Elementwise("SUM", f"{out}_number", f"{out}_zeros", f"{out}_full"),
        api.Quantize(f"{out}_full", f"{out}_scale", out)
        if kind is DType.INT8
        else api.Cast(f"{out}_full", out, "float16" if kind is DType.FLOAT16 else "float32"),
    ]
    return steps
