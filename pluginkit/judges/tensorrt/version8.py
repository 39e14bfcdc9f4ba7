"""What is asked of TensorRT 8 alone: types that its builder is held to, and whether a refusal is NVIDIA's own.

TensorRT 8.5 refuses plugins in most loops and in some conditionals, whatever they answer. So a network of the family
and the precision of a refused one is built with a plugin that is right for certain (`controls`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from pluginkit.dtypes import DType
from pluginkit.judges.tensorrt import controls
from pluginkit.network.api_model import AnyNetwork
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


def whatever(session: TensorrtSession, network: AnyNetwork, verdict: Verdict) -> Verdict:
    """The verdict on a refused network: none on the plugin, where one that copies is refused in such a network."""
    control = controls.copying(network) if NVIDIA.match(verdict.message) else None
    if control is None:
        return verdict
    built = session.build_control(control)
    if built.ok:
        text = "TensorRT builds such a network with a plugin that only copies."
        return replace(verdict, message=f"{verdict.message}\n{text}")
    if built.status != "refused" or not NVIDIA.match(built.message):
        return verdict
    groups = controls.flow(network)
    row = behaviours.recognise(groups, verdict.message, *verdict.log)
    other = behaviours.recognise(groups, built.message, *built.log)
    if row != other or (row is None and PLACE.findall(verdict.message) != PLACE.findall(built.message)):
        text = "Such a network with a plugin that only copies is refused, too, but with another message:"
        return replace(verdict, message=f"{verdict.message}\n{text}\n{built.message}")
    what = f"{row.network} ({row.id})" if row else "this network"
    message = (
        f"TensorRT {session.version} refuses {what}, whatever the plugin: with one that only copies, too. So the "
        f"plugin is not tested in this network.\n{verdict.message.splitlines()[0]}"
    )
    if row and row.instead:
        message = f"{message}\nWhat to do: {row.instead}."
    return replace(verdict, outcome=Outcome.SKIPPED, message=message, how=NVIDIAS)
