"""plain: the plugin between graph inputs and outputs."""

from __future__ import annotations

from collections.abc import Mapping

from pluginkit.testing.model import Array, Network
from pluginkit.testing.networks.base import Answer, Applier, Body, Names, Setting, network, value_info
from pluginkit.testing.points import Point

NAME = "plain"
DESCRIPTION = "The plugin alone, between casts (FP16) or QuantizeLinear and DequantizeLinear (INT8)."


def controls(setting: Setting, point: Point) -> list[tuple[str, dict[str, Array]]]:
    """The runs at a point: (suffix of the case's id, feeds beside the plugin's inputs)."""
    del setting, point
    return [("", {})]


def build(setting: Setting) -> Network:
    """The network. Its graph inputs and outputs are called as the plugin's."""
    tensors = setting.manifest
    names = [tensor.name for tensor in tensors.inputs]
    outputs = [tensor.name for tensor in tensors.outputs]
    body = Body(setting, Names([*names, *outputs]), "main")
    left, call = body.plugin(names)
    for name, output in zip(left, outputs, strict=True):
        body.op("Identity", [name], output)
    return network(
        setting,
        NAME,
        body,
        inputs=[value_info(setting, tensor, tensor.name) for tensor in tensors.inputs],
        outputs=[value_info(setting, tensor, tensor.name) for tensor in tensors.outputs],
        calls=[call],
    )


def sources(setting: Setting) -> dict[str, str]:
    """Graph output -> the plugin output that it shows."""
    return {tensor.name: tensor.name for tensor in setting.manifest.outputs}


def feedback(setting: Setting) -> list[tuple[str, str]]:
    """(input, output that is fed back into it)."""
    del setting
    return []


def oracle(applier: Applier, feeds: Mapping[str, Array]) -> Answer:
    """What must come out."""
    manifest = applier.setting.manifest
    left = applier([feeds[tensor.name] for tensor in manifest.inputs])
    return Answer(dict(zip([t.name for t in manifest.outputs], left, strict=True)), enqueues=1, chain=1)
