"""cond: an If with the plugin in both branches."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from onnx import GraphProto, TensorProto, helper

from pluginkit.testing.model import Array, Network, PluginCall
from pluginkit.testing.networks.base import Answer, Applier, Body, Names, Setting, network, value_info
from pluginkit.testing.points import Point

NAME = "cond"
DESCRIPTION = "An If on a graph input, the plugin in both branches; the else branch gets the inputs times -1 (or 0.5)."


def control_name(setting: Setting) -> str:
    """The graph input that chooses the branch: a 0-D bool."""
    return setting.free_name("flag")


def controls(setting: Setting, point: Point) -> list[tuple[str, dict[str, Array]]]:
    """Both branches."""
    del point
    name = control_name(setting)
    return [("then", {name: np.array(True)}), ("else", {name: np.array(False)})]


def build(setting: Setting) -> Network:
    """The network. Enter and leave stand inside the branches: no INT8 tensor crosses an If's boundary."""
    manifest, flag = setting.manifest, control_name(setting)
    outputs = [tensor.name for tensor in manifest.outputs]
    names = Names([flag, *[tensor.name for tensor in manifest.inputs], *outputs])
    main = Body(setting, names, "main")
    then_graph, then_call = _branch(setting, names, "then", 1.0)
    else_graph, else_call = _branch(setting, names, "else", setting.else_factor)
    main.op("If", [flag], outputs, then_branch=then_graph, else_branch=else_graph)
    return network(
        setting,
        NAME,
        main,
        inputs=[
            helper.make_tensor_value_info(flag, TensorProto.BOOL, []),
            *[value_info(setting, tensor, tensor.name) for tensor in manifest.inputs],
        ],
        outputs=[value_info(setting, tensor, tensor.name) for tensor in manifest.outputs],
        calls=[then_call, else_call],
        control=(flag, None),
    )


def _branch(setting: Setting, names: Names, label: str, factor: float) -> tuple[GraphProto, PluginCall]:
    body = Body(setting, names, label)
    inputs = []
    for tensor in setting.manifest.inputs:
        name = tensor.name
        if factor != 1.0 and setting.is_float(tensor):
            by = body.constant(f"{name}_factor", TensorProto.FLOAT, [], [factor])
            name = body.op("Mul", [name, by], names.tensor(f"{label}_{name}_scaled"))
        inputs.append(name)
    left, call = body.plugin(inputs)
    ends = [body.op("Identity", [name], names.tensor(f"{label}_{name}_end")) for name in left]
    infos = [value_info(setting, t, name) for t, name in zip(setting.manifest.outputs, ends, strict=True)]
    return helper.make_graph(body.nodes, f"{label}_branch", [], infos, body.constants), call


def sources(setting: Setting) -> dict[str, str]:
    """Graph output -> the plugin output that it shows."""
    return {tensor.name: tensor.name for tensor in setting.manifest.outputs}


def feedback(setting: Setting) -> list[tuple[str, str]]:
    """(input, output that is fed back into it)."""
    del setting
    return []


def oracle(applier: Applier, feeds: Mapping[str, Array]) -> Answer:
    """What must come out; only the branch taken enqueues."""
    setting = applier.setting
    factor = 1.0 if bool(feeds[control_name(setting)]) else setting.else_factor
    inputs = []
    for tensor in setting.manifest.inputs:
        value = feeds[tensor.name]
        inputs.append(applier.state(value * np.float32(factor)) if setting.is_float(tensor) else value)
    left = applier(inputs)
    return Answer(dict(zip([t.name for t in setting.manifest.outputs], left, strict=True)), enqueues=1, chain=1)
