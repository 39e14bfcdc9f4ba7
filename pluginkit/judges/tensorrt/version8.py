"""What is asked of TensorRT 8 alone: types that its builder is held to, and whether a refusal is NVIDIA's own.

TensorRT 8.5 refuses plugins in most loops and in some conditionals, whatever they answer. So a refused network is built
once more with a plugin that is right for certain: ONNX's own operators in the plugin's place, and behind each of their
outputs a plugin of NVIDIA's own library (`own_operators.GELU`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from pluginkit.dtypes import DType
from pluginkit.field_types import FieldType, Value
from pluginkit.judges.rtx import own_operators
from pluginkit.manifest import Manifest
from pluginkit.network import api_model as api
from pluginkit.network.api_model import AnyNetwork, ApiNetwork, is_probe
from pluginkit.network.model import Network
from pluginkit.runtimes.tensorrt import behaviours
from pluginkit.runtimes.tensorrt.session import TensorrtSession
from pluginkit.testing.report import NVIDIAS, Outcome, Verdict

SHORT = {DType.FLOAT32: "FP32", DType.FLOAT16: "FP16", DType.INT8: "INT8", DType.INT32: "INT32"}
"""As an engine's inspector writes them."""

NVIDIA = re.compile(r"TensorRT's (builder|parser): ")
"""How a refusal of NVIDIA's begins; any other is pluginkit's."""
PLACE = re.compile(r"\[(\w+\.cpp::\w+)::\d+\]")
"""Where in NVIDIA's sources a refusal was decided."""


def other_types(network: AnyNetwork, told: Mapping[str, list[str]]) -> list[str]:
    """What is wrong with the types in which the plugin runs in an engine.

    Args:
        network: what was built.
        told: plugin layer -> types and formats of its tensors, as the engine's inspector tells; a layer that is fused
            into another isn't there.
    """
    found = []
    for call in network.calls:
        wanted = [SHORT[kind] for kind in (*call.types, *call.output_types) if kind in SHORT]
        got = told.get(call.node, [])
        if got and not all(kind in text.upper() for kind, text in zip(wanted, got, strict=True)):
            found.append(f"{call.node} runs in {', '.join(got)}; the network has {', '.join(wanted)} there")
    return found


def whatever(session: TensorrtSession, network: AnyNetwork, manifest: Manifest, verdict: Verdict) -> Verdict:
    """The verdict on a refused network: no verdict on the plugin, where NVIDIA's own plugin is refused in its place."""
    control = with_gelu(network, manifest) if NVIDIA.match(verdict.message) else None
    if control is None:
        return verdict
    built = session.build_control(control, own_operators.GELU[0])
    if built.ok:
        text = "With a plugin of NVIDIA's in this one's place TensorRT builds the network."
        return replace(verdict, message=f"{verdict.message}\n{text}")
    if built.status != "refused" or not NVIDIA.match(built.message):
        return verdict
    row = behaviours.recognise(verdict.message, *verdict.log)
    other = behaviours.recognise(built.message, *built.log)
    if row != other or (row is None and PLACE.findall(verdict.message) != PLACE.findall(built.message)):
        text = "With a plugin of NVIDIA's in this one's place it is refused, too, but with another message:"
        return replace(verdict, message=f"{verdict.message}\n{text}\n{built.message}")
    what = f"{row.network} ({row.id})" if row else "this network"
    message = (
        f"TensorRT {session.version} refuses {what}, whatever the plugin: with NVIDIA's own {own_operators.GELU[0]} in "
        f"this one's place, too. So the plugin is not tested in this network.\n{verdict.message.splitlines()[0]}"
    )
    if row and row.instead:
        message = f"{message}\nWhat to do: {row.instead}."
    return replace(verdict, outcome=Outcome.SKIPPED, message=message, how=NVIDIAS)


def with_gelu(network: AnyNetwork, manifest: Manifest) -> AnyNetwork | None:
    """The network with NVIDIA's plugin; None where none can be made."""
    if isinstance(network, Network):
        made = own_operators.replaced(network, manifest, through_gelu=True)
        return replace(made, calls=tuple(replace(call, live=False) for call in network.calls))
    return _by_api(network, manifest)


def _by_api(network: ApiNetwork, manifest: Manifest) -> ApiNetwork | None:
    """As of an ONNX network; each output is NVIDIA's plugin on an input of its shape and type."""
    sources = []
    for output in manifest.outputs:
        alike = (i for i, one in enumerate(manifest.inputs) if one.shape == output.shape and one.types == output.types)
        sources.append(next(alike, None))
    if None in sources or {kind for call in network.calls for kind in call.execution_types} - {
        DType.FLOAT32,
        DType.FLOAT16,
    }:
        return None
    own = {call.node: call for call in network.calls}
    steps: list[api.Step] = []
    calls = []
    for step in network.steps:
        if not isinstance(step, api.PluginLayer) or is_probe(step.node):
            steps.append(step)
            continue
        for number, (out, source) in enumerate(zip(step.outs, sources, strict=True)):
            node, kind = f"{step.node}_{number}", own[step.node].types[source or 0]
            steps.append(api.PluginLayer(node, (step.inputs[source or 0],), (out,)))
            fields: dict[str, tuple[FieldType, Value]] = {"type_id": (FieldType.INT32, int(kind is DType.FLOAT16))}
            calls.append(replace(own[step.node], node=node, fields=fields, types=(kind,), output_types=(kind,)))
    return replace(network, steps=tuple(steps), calls=tuple(calls))
