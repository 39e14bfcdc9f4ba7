"""if-in-loop, loop-in-if, loop-in-loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, TypeVar

import numpy as np
from onnx import TensorProto

from pluginkit.manifest import Tensor
from pluginkit.network.networks import Array, PluginCall
from pluginkit.testing.families import bypass, looping
from pluginkit.testing.families.base import Applier, Body, GraphInput, OracleResult, Setting, Shown, value_info
from pluginkit.testing.families.cond import branch, flag_name
from pluginkit.testing.families.family import Runs, feedback, too_deep
from pluginkit.testing.families.loop import LoopCount, trips_name
from pluginkit.testing.families.looping import Carried, plugin_step

T = TypeVar("T", str, Array)

INNER = 2
"""The inner loop's trips."""


class IfInLoop(LoopCount):
    """The body's If takes the plugin in even trips."""

    NAME = "if-in-loop"
    DESCRIPTION = "A Loop whose body has an If on the parity of the trip: the plugin in even trips, halves in odd ones."
    LAYERS: ClassVar[tuple[str, ...]] = (*LoopCount.LAYERS, "IIfConditional within a loop")

    def fill(self, main: Body) -> Sequence[PluginCall]:
        """The Loop."""
        setting, names = main.setting, main.names

        def step(body: Body, inputs: list[str], iteration: str) -> tuple[list[str], list[PluginCall]]:
            two = body.constant("two", TensorProto.INT64, [], [2])
            zero = body.constant("zero", TensorProto.INT64, [], [0])
            odd = body.op("Mod", [iteration, two], names.tensor("body_odd"))
            even = body.op("Equal", [odd, zero], names.tensor("body_even"))
            then, calls = branch(Body(setting, names, "then"), inputs, 1.0)
            otherwise, _ = branch(Body(setting, names, "else"), inputs, 1.0, live=False)
            left = [names.tensor(f"body_{tensor.name}_either") for tensor in setting.manifest.outputs]
            body.op("If", [even], left, then_branch=then, else_branch=otherwise)
            return left, calls

        inputs = {tensor.name: tensor.name for tensor in setting.manifest.inputs}
        looped = looping.add_loop(main, "body", inputs, step, count=trips_name(setting))
        looping.end(main, looped)
        return looped.calls

    def oracle(self, applier: Applier, feeds: Mapping[str, Array]) -> OracleResult:
        """What must come out; every other trip enqueues."""
        setting = applier.setting
        trips = int(feeds[trips_name(setting)])

        def step(inputs: list[Array], trip: int) -> Sequence[Array]:
            return bypass.compute(applier, inputs) if trip % 2 else applier(inputs)

        inputs = {tensor.name: feeds[tensor.name] for tensor in setting.manifest.inputs}
        ran = looping.run_loop(applier, inputs, trips, step)
        enqueues = (trips + 1) // 2
        return OracleResult(
            looping.shown_of(setting, ran), enqueues, chain=max(1, enqueues) if feedback(setting) else 1
        )


class LoopInIf(LoopCount):
    """The then branch is a loop."""

    NAME = "loop-in-if"
    DESCRIPTION = "An If whose then branch is a Loop with the plugin; the else branch gives halves, or a constant."
    LAYERS: ClassVar[tuple[str, ...]] = (*LoopCount.LAYERS, "IIfConditional around a loop")

    def given(self, setting: Setting) -> list[GraphInput]:
        """The flag, the trip count, the plugin's."""
        return [GraphInput.scalar(setting, flag_name(setting), TensorProto.BOOL), *super().given(setting)]

    def runs(self, setting: Setting, point: str, feeds: Mapping[str, Array]) -> Runs:
        """Both branches."""
        ((_, looped),) = super().runs(setting, point, feeds)
        name = flag_name(setting)
        return [("then", {**looped, name: np.array(True)}), ("else", {**looped, name: np.array(False)})]

    def shown(self, setting: Setting) -> list[Shown]:
        """What is fed back, its last value; the other outputs of all trips; the other states' last values."""
        carried = Carried(setting)
        fed = set(carried.fed.values())
        shown = [
            Shown(value_info(setting, tensor, tensor.name), tensor.name)
            if tensor.name in fed
            else Shown(value_info(setting, tensor, carried.all(tensor), lead=(looping.TRIP_DIM,)), tensor.name)
            for tensor in setting.manifest.outputs
        ]
        return [*shown, *[Shown(value_info(setting, tensor, carried.last(tensor))) for tensor in _fading(carried)]]

    def fill(self, main: Body) -> Sequence[PluginCall]:
        """The If.

        NVIDIA's builder wants the Loop's outputs used, and nothing in it that is the same in all trips (refusal
        loop-in-if): states that are shown, and INT32 inputs as states.
        """
        setting, names = main.setting, main.names
        carried, trips = Carried(setting), trips_name(setting)
        inputs = [tensor.name for tensor in setting.manifest.inputs]
        then, otherwise = Body(setting, names, "then"), Body(setting, names, "else")
        same = {name: name for name in inputs}
        passed = [tensor for tensor in setting.manifest.execution_inputs() if not setting.is_float(tensor)]
        looped = looping.add_loop(then, "body", same, plugin_step, count=trips, passed=passed)
        fading = _fading(carried)
        taken = [*_outputs(carried, looped.last, looped.all), *[looped.last[tensor.name] for tensor in fading]]
        other = [
            *bypass.add(otherwise, inputs, count=trips, lead=carried.scanned),
            *[bypass.half(otherwise, tensor, tensor.name) for tensor in fading],
        ]
        graphs = []
        for body, values in ((then, taken), (otherwise, other)):
            infos = []
            for tensor, value in zip((*setting.manifest.outputs, *fading), values, strict=True):
                end = body.op("Identity", [value], names.tensor(f"{body.label}_{tensor.name}_end"))
                lead = (looping.TRIP_DIM,) if tensor in carried.scanned else ()
                infos.append(value_info(setting, tensor, end, lead=lead))
            graphs.append(body.graph([], infos))
        shown = [one.info.name for one in self.shown(setting)]
        main.op("If", [flag_name(setting)], shown, then_branch=graphs[0], else_branch=graphs[1])
        return looped.calls

    def oracle(self, applier: Applier, feeds: Mapping[str, Array]) -> OracleResult:
        """What must come out; the else branch enqueues nothing."""
        setting, carried = applier.setting, Carried(applier.setting)
        trips, taken = int(feeds[trips_name(setting)]), bool(feeds[flag_name(setting)])
        inputs = {tensor.name: feeds[tensor.name] for tensor in setting.manifest.inputs}
        fading = [tensor.name for tensor in _fading(carried)]
        if taken:
            ran = looping.run_loop(applier, inputs, trips)
            left = [*_outputs(carried, ran.last, ran.all), *[ran.last[name] for name in fading]]
        else:
            left = bypass.compute(applier, list(inputs.values()), count=trips, lead=carried.scanned)
            left += [bypass.halved(applier, inputs[name]) for name in fading]
        outputs = dict(zip([one.info.name for one in self.shown(setting)], left, strict=True))
        return OracleResult(outputs, trips if taken else 0, chain=max(1, trips) if feedback(setting) else 1)


def _fading(carried: Carried) -> list[Tensor]:
    """The states that no output becomes."""
    return [tensor for tensor in carried.states if tensor.name not in carried.fed]


def _outputs(carried: Carried, last: Mapping[str, T], every: Mapping[str, T]) -> list[T]:
    """The plugin's outputs in manifest order, from what a loop gives."""
    taker = {output: name for name, output in carried.fed.items()}
    return [
        last[taker[tensor.name]] if tensor.name in taker else every[tensor.name]
        for tensor in carried.setting.manifest.outputs
    ]


class LoopInLoop(LoopCount):
    """Each trip is a loop of two trips."""

    NAME = "loop-in-loop"
    DESCRIPTION = f"A Loop whose body is a Loop of {INNER} trips with the plugin."
    LAYERS: ClassVar[tuple[str, ...]] = (*LoopCount.LAYERS, "a loop within a loop")

    def refusal(self, setting: Setting) -> str:
        """What isn't fed back is put together twice."""
        return too_deep(Carried(setting).scanned, 2)

    def shown(self, setting: Setting) -> list[Shown]:
        """As a loop's, with both loops' trips before."""
        return Carried(setting).shown(lead=(looping.TRIP_DIM, INNER))

    def fill(self, main: Body) -> Sequence[PluginCall]:
        """Both Loops."""
        setting = main.setting
        carried, names = Carried(setting), [tensor.name for tensor in setting.manifest.inputs]

        def step(body: Body, inputs: list[str], iteration: str) -> tuple[list[str], list[PluginCall]]:
            del iteration
            count = body.constant("count", TensorProto.INT64, [], [INNER])
            inner = looping.add_loop(body, "inner", dict(zip(names, inputs, strict=True)), plugin_step, count=count)
            return _outputs(carried, inner.last, inner.all), inner.calls

        count, lead = trips_name(setting), (INNER,)
        looped = looping.add_loop(main, "outer", dict(zip(names, names, strict=True)), step, count=count, lead=lead)
        looping.end(main, looped)
        return looped.calls

    def oracle(self, applier: Applier, feeds: Mapping[str, Array]) -> OracleResult:
        """What must come out, trip by trip of both loops."""
        setting, carried = applier.setting, Carried(applier.setting)
        trips = int(feeds[trips_name(setting)])
        names = [tensor.name for tensor in setting.manifest.inputs]

        def step(inputs: list[Array], trip: int) -> Sequence[Array]:
            del trip
            ran = looping.run_loop(applier, dict(zip(names, inputs, strict=True)), INNER)
            return _outputs(carried, ran.last, ran.all)

        ran = looping.run_loop(applier, {name: feeds[name] for name in names}, trips, step)
        chain = max(1, trips * INNER) if feedback(setting) else 1
        return OracleResult(looping.shown_of(setting, ran), trips * INNER, chain)
