"""What is asked of TensorRT 8 alone: types that its builder is held to, and whether what goes wrong is NVIDIA's own.

TensorRT 8.5 refuses plugins in most loops and in some conditionals, whatever they answer, and computes a few networks
wrongly. So a network of the family and the precision of a bad one is built and run with a plugin that is right for
certain (`controls`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from pluginkit.dtypes import DType
from pluginkit.evaluators.tensorrt import controls
from pluginkit.network.api_model import AnyNetwork
from pluginkit.network.networks import Case
from pluginkit.runtimes.tensorrt import behaviours
from pluginkit.runtimes.tensorrt.session import TensorrtSession
from pluginkit.testing.report import REFUSED_ALIKE, WRONG_ALIKE, Outcome, Verdict

NVIDIA = re.compile(r"TensorRT's (builder|parser): ")
"""How a refusal of NVIDIA's begins."""
PLUGINKITS = "TensorRT: "
"""How an error of pluginkit's own begins, in the process that has TensorRT."""
REFUSES = "refuses"
HALF = 2**-10
"""The distance of FP16's numbers from one to the next, relatively."""
UNKNOWN = "Unknown format"
"""What the inspector of 8.5.3 says of some contexts of a second profile."""


def other_types(network: AnyNetwork, told: Mapping[str, list[str]]) -> list[str]:
    """What is wrong with the types in which the plugin runs in an engine.

    Args:
        network: what was built.
        told: plugin layer -> types and formats of its tensors, as the engine's inspector tells; a layer that is fused
            into another isn't there. Where the inspector says `Unknown format`, nothing is known.
    """
    found = []
    for call in network.calls:
        wanted = [kind.short for kind in (*call.types, *call.output_types)]  # as the inspector writes them
        got = told.get(call.node, [])
        if got and not all(kind in text.upper() or UNKNOWN in text for kind, text in zip(wanted, got, strict=True)):
            found.append(f"{call.node} runs in {', '.join(got)}; the network has {', '.join(wanted)} there")
    return found


def as_8_rounds(network: AnyNetwork, case: Case) -> Case:
    """The case with at least the tolerance that 8.5.3's own layers need around a plugin.

    Of two plugins that copy, one behind the other in INT8, it gave 40 of 576 values a step beside what ONNX's
    arithmetic gives for the DequantizeLinear and the QuantizeLinear between them. With FP16 allowed it rounded an FP32
    input of a conditional to FP16, though the layer that reads it is held to FP32.
    """
    allowed = case.tolerance
    if allowed.kind == "steps":
        return replace(case, tolerance=replace(allowed, steps=max(allowed.steps, 1)))
    if network.precision is DType.FLOAT16:
        return replace(case, tolerance=replace(allowed, rtol=max(allowed.rtol, HALF)))
    return case


def whatever(
    session: TensorrtSession, network: AnyNetwork, verdict: Verdict, judged: Callable[[AnyNetwork, list[Case]], Verdict]
) -> Verdict:
    """The verdict on a network that TensorRT refuses, computes wrongly or ends its process by: none on the plugin,
    where one that copies, with as many inputs and outputs, fares likewise in such a network.

    Args:
        session: TensorRT 8, with the plugin's library.
        network: the plugin's.
        verdict: a bad one.
        judged: builds and runs a network with the plugin that copies.
    """
    if verdict.outcome is Outcome.FAILED and verdict.message.startswith(PLUGINKITS):
        return verdict
    made = controls.copying(network)
    if made is None:
        return verdict
    control = judged(*made)
    how, too = _how(verdict), _how(control)
    if not too:
        text = "TensorRT builds such a network with a plugin that only copies, and computes the right values."
        return replace(verdict, message=f"{verdict.message}\n{text}")
    if how != too:
        text = f"With a plugin that only copies TensorRT {too} such a network:"
        return replace(verdict, message=f"{verdict.message}\n{text}\n{control.message}")
    row = behaviours.recognise(controls.flow(network), verdict.message, *verdict.log) if how == REFUSES else None
    what = f"{row.network} ({row.id})" if row else "this network"
    message = (
        f"TensorRT {session.version} {how} {what}, whatever the plugin: with one that only copies, too. So the "
        f"plugin is not tested in this network.\n{verdict.message.splitlines()[0]}"
    )
    if row and row.instead:
        message = f"{message}\nWhat to do: {row.instead}."
    alike = REFUSED_ALIKE if how == REFUSES else WRONG_ALIKE
    return replace(verdict, outcome=Outcome.SKIPPED, message=message, how=alike)


def _how(verdict: Verdict) -> str:
    """What TensorRT does with a network, as a verb of a sentence; empty where it does what it should."""
    if not verdict.outcome.bad:
        return ""
    if verdict.outcome is Outcome.FAILED:
        return REFUSES if NVIDIA.match(verdict.message) else "computes wrong values in"
    return "ends its own process by" if verdict.outcome is Outcome.CRASHED else "comes to no end with"
