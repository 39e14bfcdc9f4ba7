"""Negative controls: networks that NVIDIA must refuse, and for which reason. One that accepts these accepts all."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import onnx
from onnx import helper

from pluginkit.dtypes import DType
from pluginkit.evaluators.rtx import structure_controls
from pluginkit.network import api_model as api
from pluginkit.network.networks import Network, NetworkProfile
from pluginkit.runtimes.verdict import BuildVerdict
from pluginkit.testing.families.api import forms as api_networks
from pluginkit.testing.families.base import Setting
from pluginkit.testing.families.family import MAX_RANK

AnyNetwork: TypeAlias = Network | api.ApiNetwork


@dataclass(frozen=True)
class Control:
    """A network that must be refused.

    Attributes:
        id: the network's id, and what is wrong with it.
        wrong: what is wrong, a sentence's end: `refused, for ...`.
        reason: a regular expression that NVIDIA's message must match.
        network: what is built.
    """

    id: str
    wrong: str
    reason: str
    network: AnyNetwork


def problem(control: Control, verdict: BuildVerdict) -> str:
    """Why a control has not done its work; empty if it was refused for its reason."""
    if verdict.status == "built":
        return f"built, and must be refused: {control.wrong}"
    text = "\n".join((verdict.message, *verdict.log))
    if verdict.status != "refused" or not re.search(control.reason, text):
        return f"{verdict.status}, but not for its reason ({control.wrong}; /{control.reason}/):\n{verdict.message}"
    return ""


def network_controls(networks: Sequence[Network], setting: Setting) -> Iterator[Control]:
    """The controls for a plugin of any signature: its networks with one thing wrong.

    Args:
        networks: the positive ones, of any family.
        setting: the plugin, at the precision in which the networks by NVIDIA's API are made.
    """
    families = {network.family for network in networks}
    # Twice nothing is nothing: what is empty at a profile's opt is built.
    grows = all(0 not in profile.at("opt").values() for profile in setting.manifest.profiles)
    for network in networks:
        yield from upside_down(network)
        if grows and network.family == "loop-count" and (grown := _growing_loop(network)):
            yield _control(network, grown, "recurrence-changes-shape")
    forms = {"plain": "api-shape-out", "loop-count": "api-loop-while", "cond-both": "api-cond-lazy"}
    for form in (form for family, form in forms.items() if family in families):
        if (made := api_networks.make(setting, form)) is None:
            continue
        yield from upside_down(made)
        for wrong, mutate in _MUTATIONS.items():
            if (grows or mutate is not _growing_recurrence) and (mutated := mutate(made, setting)) is not None:
                yield _control(made, mutated, wrong)
        if form == forms["plain"]:
            for wrong, mutated in structure_controls.networks(made):
                yield _control(made, mutated, wrong)


_WRONG: dict[str, tuple[str, str]] = {
    "min-above-opt": ("a profile's min is above its opt", r"MIN<=OPT<=MAX"),
    "recurrence-changes-shape": (
        "a recurrence's shape grows in each trip",
        r"inputs to IRecurrenceLayer have different shapes|IRecurrenceLayer must have inputs with same shape",
    ),
    "no-trip-count": (
        "a while-loop's outputs are concatenated without a length",
        r"loopOutput == LoopOutput::kLAST_VALUE \? 1 : 2",
    ),
    "types-differ": ("a conditional's branches give different types", r"must have inputs of same type"),
    "ranks-differ": (
        "a conditional's branches give different ranks, and its condition isn't constant",
        r"Must have inputs with equal ranks when condition is not a build-time constant",
    ),
    "type-not-offered": (
        (
            "the plugin gets a type that pluginkit.toml doesn't declare (add it to `types` there, or have "
            "supportsFormatCombination refuse it)"
        ),
        # The second, of a plugin with aliases.
        r"supported plugin/custom tactic format|could not find any supported formats consistent with",
    ),
    **structure_controls.WRONG,
}


def _control(network: AnyNetwork, mutated: AnyNetwork, name: str) -> Control:
    wrong, reason = _WRONG[name]
    return Control(f"{network.id}/{name}", wrong, reason, mutated)


def upside_down(network: AnyNetwork) -> Iterator[Control]:
    """The network with min and max of its first profile in each other's place; none if all is fixed."""
    first, *others = network.profiles
    turned = {name: (high, best, low) for name, (low, best, high) in first.shapes.items()}
    if turned != first.shapes:
        profiles = (NetworkProfile(first.name, turned, first.values), *others)
        yield _control(network, replace(network, profiles=profiles), "min-above-opt")


def _growing_loop(network: Network) -> Network | None:
    """A state of the Loop concatenated with itself."""
    model = onnx.load_from_string(network.model)
    (loop,) = [node for node in model.graph.node if node.op_type == "Loop"]
    (body,) = [attribute.g for attribute in loop.attribute if attribute.name == "body"]
    # The first output is the condition; then come the states, which the Loop has as inputs from its third on.
    states = body.output[1 : 1 + len(loop.input) - 2]
    state = next((state for state in states if state.type.tensor_type.shape.dim), None)
    if state is None:
        return None
    for node in body.node:
        node.output[:] = [f"{name}_once" if name == state.name else name for name in node.output]
    once = f"{state.name}_once"
    body.node.append(helper.make_node("Concat", [once, once], [state.name], f"n999_{state.name}_twice", axis=0))
    return replace(network, model=model.SerializeToString())


def _growing_recurrence(network: api.ApiNetwork, setting: Setting) -> api.ApiNetwork | None:
    inputs = [s for s in network.steps if isinstance(s, api.NetworkInput) and s.dims and s.dtype != "bool"]
    loops = [step for step in network.steps if isinstance(step, api.LoopStep)]
    if not inputs or not loops or not setting.manifest.inputs[0].shape:
        return None
    state, twice, last = "z1_state", "z2_twice", "z3_last"
    more = (
        api.Recurrence(loops[0].name, inputs[0].out, state),
        api.Concat((state, state), 0, twice),
        api.Recur(state, twice),
        api.LoopOutput(loops[0].name, "LAST_VALUE", state, last),
        api.NetworkOutput(last),
    )
    return replace(network, steps=(*network.steps, *more))


def _no_trip_count(network: api.ApiNetwork, setting: Setting) -> api.ApiNetwork | None:
    del setting
    loops = [step for step in network.steps if isinstance(step, api.LoopStep)]
    if not loops:
        return None
    (plugin, *_) = _plugins(network)
    more = (api.LoopOutput(loops[0].name, "CONCATENATE", plugin.outs[0], "z1_all"), api.NetworkOutput("z1_all"))
    return replace(network, steps=(*network.steps, *more))


def _types_differ(network: api.ApiNetwork, setting: Setting) -> api.ApiNetwork | None:
    if not any(isinstance(step, api.BranchOutput) for step in network.steps):
        return None
    other: api.TypeName = "int32" if setting.is_float(setting.manifest.outputs[0]) else "float32"
    steps: list[api.Step] = []
    for step in network.steps:
        if isinstance(step, api.BranchOutput) and not any(isinstance(s, api.BranchOutput) for s in steps):
            steps += [api.Cast(step.otherwise, "z1_other", other), replace(step, otherwise="z1_other")]
        else:
            steps.append(step)
    return replace(network, steps=tuple(steps))


def _ranks_differ(network: api.ApiNetwork, setting: Setting) -> api.ApiNetwork | None:
    """The first output's else branch gives one element in another rank."""
    first = next((step for step in network.steps if isinstance(step, api.BranchOutput)), None)
    if first is None:
        return None
    tensor = setting.manifest.outputs[0]
    rank = len(tensor.shape) + 1 if len(tensor.shape) < MAX_RANK else 1
    other = api.ConstantLayer("z1_other", setting.graph_type(tensor), (1,), (1,) * rank)
    at = network.steps.index(first)
    changed = replace(first, otherwise=other.out)
    return replace(network, steps=(*network.steps[:at], other, changed, *network.steps[at + 1 :]))


def _not_offered(network: api.ApiNetwork, setting: Setting) -> api.ApiNetwork | None:
    """The first float input in the first of three types that no input declares; bool if all are declared.

    INT8 is not one of them, and no output is INT8 or FP8: the output type that the plugin then answers may be FP32,
    which Dequantize refuses before the builder asks the plugin.
    """
    manifest = setting.manifest
    declared = {kind for tensor in manifest.inputs for kind in tensor.types}
    free = [kind for kind in (DType.FLOAT16, DType.INT32, DType.FLOAT32) if kind not in declared]
    index = next((i for i, tensor in enumerate(manifest.inputs) if setting.kind(tensor) is DType.FLOAT32), None)
    if index is None or any(setting.kind(tensor).is_quantized for tensor in manifest.outputs):
        return None
    typed: api.TypeName = free[0].value if free else "bool"
    steps: list[api.Step] = []
    plugins = _plugins(network)
    for step in network.steps:
        if isinstance(step, api.PluginLayer) and step in plugins:
            steps += _retyped(step, index, typed, f"z{len(steps)}", setting)
        else:
            steps.append(step)
    return replace(network, steps=tuple(steps))


def _retyped(
    step: api.PluginLayer, index: int, typed: api.TypeName, prefix: str, setting: Setting
) -> Iterator[api.Step]:
    """The plugin with another type at an input, and what it gives made FP32 again: nothing else is to be wrong."""
    inputs = tuple(f"{prefix}_in" if i == index else name for i, name in enumerate(step.inputs))
    float_outputs = [setting.kind(tensor) is DType.FLOAT32 for tensor in setting.manifest.outputs]
    outs = tuple(f"{prefix}_{out}" if is_float else out for out, is_float in zip(step.outs, float_outputs, strict=True))
    yield api.Cast(step.inputs[index], inputs[index], typed)
    yield replace(step, inputs=inputs, outs=outs)
    for out, again, is_float in zip(outs, step.outs, float_outputs, strict=True):
        if is_float:
            yield api.Cast(out, again, "float32")


def _plugins(network: api.ApiNetwork) -> list[api.PluginLayer]:
    """The layers of the plugin itself, without the probes behind it."""
    return [s for s in network.steps if isinstance(s, api.PluginLayer) and s.node.partition("_")[2] == "plugin"]


_MUTATIONS: dict[str, Callable[[api.ApiNetwork, Setting], api.ApiNetwork | None]] = {
    "recurrence-changes-shape": _growing_recurrence,
    "no-trip-count": _no_trip_count,
    "types-differ": _types_differ,
    "ranks-differ": _ranks_differ,
    "type-not-offered": _not_offered,
}
