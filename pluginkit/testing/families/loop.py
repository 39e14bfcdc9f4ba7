"""loop-count, loop-while, loop-zero-trips, loop-invariant: a Loop with the plugin in its body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from onnx import TensorProto, helper

from pluginkit.network.networks import Array, PluginCall, Range
from pluginkit.testing.families import looping
from pluginkit.testing.families.base import Applier, Body, GraphInput, OracleResult, Setting, Shown, value_info
from pluginkit.testing.families.family import OnnxFamily, Runs, cast_kind, feedback, graph_kind, too_deep
from pluginkit.testing.families.looping import Carried, Heads, plugin_step, scalar

_ZERO: Range = ((0,), (2,), (3,))


def trips_name(setting: Setting) -> str:
    """The graph input that gives the trip count: a 0-D int64."""
    return setting.free_name("trips")


class LoopCount(OnnxFamily):
    """A trip count that is a graph input."""

    NAME = "loop-count"
    DESCRIPTION = (
        "A Loop with a trip count: outputs feed back into inputs of the same shape, the others are concatenated."
    )
    LAYERS: ClassVar[tuple[str, ...]] = (
        "ITripLimitLayer kCOUNT",
        "IRecurrenceLayer",
        "ILoopOutputLayer kLAST_VALUE, kCONCATENATE",
    )

    def refusal(self, setting: Setting) -> str:
        """What isn't fed back is put together along a new axis."""
        return too_deep(Carried(setting).scanned, 1)

    def given(self, setting: Setting) -> list[GraphInput]:
        """The trip count is a shape tensor."""
        trips = GraphInput.scalar(setting, trips_name(setting), TensorProto.INT64, looping.TRIP_RANGE)
        return [trips, *super().given(setting)]

    def shown(self, setting: Setting) -> list[Shown]:
        """States' last values (`x_last`), and the other outputs of all trips (`y_all`)."""
        return Carried(setting).shown()

    def runs(self, setting: Setting, point: str, feeds: Mapping[str, Array]) -> Runs:
        """As many trips as belong to the point."""
        return [("", {**feeds, trips_name(setting): np.array(looping.trips_at(point), np.int64)})]

    def feedback(self, setting: Setting) -> list[tuple[str, str]]:
        """(input, output that becomes it in the next trip)."""
        return feedback(setting)

    def fill(self, main: Body) -> Sequence[PluginCall]:
        """The Loop."""
        inputs = {tensor.name: tensor.name for tensor in main.setting.manifest.inputs}
        looped = looping.add_loop(main, "body", inputs, plugin_step, count=trips_name(main.setting))
        looping.end(main, looped)
        return looped.calls

    def oracle(self, applier: Applier, feeds: Mapping[str, Array]) -> OracleResult:
        """What must come out, trip by trip; each trip enqueues once."""
        setting = applier.setting
        trips = int(feeds[trips_name(setting)])
        ran = looping.run_loop(applier, {t.name: feeds[t.name] for t in setting.manifest.inputs}, trips)
        chain = max(1, trips) if feedback(setting) else 1
        return OracleResult(looping.shown_of(setting, ran), enqueues=trips, chain=chain)


class LoopWhile(LoopCount):
    """No trip count: the condition is computed in the body."""

    NAME = "loop-while"
    DESCRIPTION = "A Loop that only its condition ends (a counter below a graph input): outputs feed back into inputs."
    LAYERS: ClassVar[tuple[str, ...]] = ("ITripLimitLayer kWHILE", "IRecurrenceLayer", "ILoopOutputLayer kLAST_VALUE")

    def refusal(self, setting: Setting) -> str:
        """Without a trip count nothing can be concatenated."""
        if feedback(setting):
            return ""
        return "no output has the shape of an input, so nothing can be fed back; and a while-loop can't concatenate"

    def given(self, setting: Setting) -> list[GraphInput]:
        """The limit is not a shape tensor."""
        plugin = super().given(setting)[1:]
        return [GraphInput.scalar(setting, trips_name(setting), TensorProto.INT64), *plugin]

    def shown(self, setting: Setting) -> list[Shown]:
        """States' last values."""
        return Carried(setting).shown(scanned=False)

    def fill(self, main: Body) -> Sequence[PluginCall]:
        """The Loop, and its condition before the first trip."""
        limit = trips_name(main.setting)
        zero = main.constant("zero", TensorProto.INT64, [], [0])
        going = main.op("Less", [zero, limit], main.names.tensor("main_going"))
        inputs = {tensor.name: tensor.name for tensor in main.setting.manifest.inputs}
        looped = looping.add_loop(main, "body", inputs, plugin_step, limit=limit, going=going)
        looping.end(main, looped)
        return looped.calls

    def oracle(self, applier: Applier, feeds: Mapping[str, Array]) -> OracleResult:
        """What must come out."""
        answer = super().oracle(applier, feeds)
        shown = {one.info.name for one in self.shown(applier.setting)}
        outputs = {name: value for name, value in answer.outputs.items() if name in shown}
        return OracleResult(outputs, answer.enqueues, answer.chain)


class LoopZeroTrips(LoopCount):
    """The trip count is 0."""

    NAME = "loop-zero-trips"
    DESCRIPTION = "A Loop whose trip count may be 0, run with 0: states stay as they were, the plugin isn't enqueued."
    LAYERS: ClassVar[tuple[str, ...]] = (*LoopCount.LAYERS, "IReduceLayer over no trips")

    def given(self, setting: Setting) -> list[GraphInput]:
        """The trip count is a shape tensor whose min is 0."""
        trips = GraphInput.scalar(setting, trips_name(setting), TensorProto.INT64, _ZERO)
        return [trips, *super().given(setting)[1:]]

    def runs(self, setting: Setting, point: str, feeds: Mapping[str, Array]) -> Runs:
        """No trips."""
        del point
        return [("", {**feeds, trips_name(setting): np.array(0, np.int64)})]

    def shown(self, setting: Setting) -> list[Shown]:
        """States' last values, and sums of the other outputs over all trips: 0, whatever a runtime answers for the
        other dimensions of a tensor that has no elements."""
        carried = Carried(setting)
        sums = [
            Shown(helper.make_tensor_value_info(_sum(setting, tensor.name), graph_kind(setting, tensor), []))
            for tensor in carried.scanned
        ]
        # What comes out has not been in the plugin: it shows no output of it.
        return [Shown(one.info) for one in carried.shown(scanned=False)] + sums

    def fill(self, main: Body) -> Sequence[PluginCall]:
        """The Loop and the sums."""
        setting = main.setting
        inputs = {tensor.name: tensor.name for tensor in setting.manifest.inputs}
        looped = looping.add_loop(main, "body", inputs, plugin_step, count=trips_name(setting))
        looping.end(main, looping.Looped(looped.last, {}, looped.calls))
        for name, every in looped.all.items():
            main.op("ReduceSum", [every], _sum(setting, name), keepdims=0)
        return looped.calls

    def oracle(self, applier: Applier, feeds: Mapping[str, Array]) -> OracleResult:
        """The inputs, and zeros; a calibration sees what a trip would give."""
        setting = applier.setting
        carried = Carried(setting)
        if applier.exact:
            applier([feeds[tensor.name] for tensor in setting.manifest.inputs])
        outputs = {carried.last(tensor): feeds[tensor.name].astype(np.float64) for tensor in carried.states}
        for tensor in carried.scanned:
            zero = np.float64(0) if setting.is_float(tensor) else np.int64(0)
            outputs[_sum(setting, tensor.name)] = np.asarray(zero)
        return OracleResult(outputs, enqueues=0, chain=1)


def _sum(setting: Setting, output: str) -> str:
    return setting.free_name(f"{output}_sum")


class LoopInvariant(LoopCount):
    """The plugin's inputs come from outside, and are the same in every trip."""

    NAME = "loop-invariant"
    DESCRIPTION = "A Loop with a trip count whose plugin gets the same tensors from outside in every trip."
    LAYERS: ClassVar[tuple[str, ...]] = (
        "ITripLimitLayer kCOUNT",
        "ILoopOutputLayer kCONCATENATE",
        "tensors from outside a loop",
    )

    def refusal(self, setting: Setting) -> str:
        """Every output is put together along a new axis."""
        return too_deep(setting.manifest.outputs, 1)

    def feedback(self, setting: Setting) -> list[tuple[str, str]]:
        """Nothing is fed back."""
        del setting
        return []

    def shown(self, setting: Setting) -> list[Shown]:
        """All outputs of all trips."""
        carried = Carried(setting)
        return [
            Shown(value_info(setting, tensor, carried.all(tensor), lead=(looping.TRIP_DIM,)), tensor.name)
            for tensor in setting.manifest.outputs
        ]

    def fill(self, main: Body) -> Sequence[PluginCall]:
        """The Loop, which has no states. Floats are cast before it and after it: NVIDIA's backend fails on the cast
        within (see `refusals`)."""
        setting, names, manifest = main.setting, main.names, main.setting.manifest
        carried, body = Carried(setting), Body(setting, names, "body")
        heads, after = Heads.of(body), names.tensor("body_still")
        body.op("Identity", [body.constant("true", TensorProto.BOOL, [], [True])], after)
        left, call = body.plugin([main.cast(tensor, tensor.name) for tensor in manifest.inputs], cast=False)
        ends, every = [scalar(after, TensorProto.BOOL)], []
        for name, tensor in zip(left, manifest.outputs, strict=True):
            end = body.op("Identity", [name], names.tensor(f"body_{tensor.name}_scan"))
            ends.append(value_info(setting, tensor, end, kind=cast_kind(setting, tensor)))
            every.append(names.tensor(f"main_{tensor.name}_every"))
        main.op("Loop", [trips_name(setting), ""], every, body=body.graph(heads.infos, ends))
        for name, tensor in zip(every, manifest.outputs, strict=True):
            main.op("Identity", [main.cast_back(tensor, name)], carried.all(tensor))
        return [call]

    def oracle(self, applier: Applier, feeds: Mapping[str, Array]) -> OracleResult:
        """One application, as often as there are trips."""
        setting, carried = applier.setting, Carried(applier.setting)
        trips = int(feeds[trips_name(setting)])
        left = applier([feeds[tensor.name] for tensor in setting.manifest.inputs])
        outputs = {
            carried.all(tensor): np.stack([value] * trips)
            for tensor, value in zip(setting.manifest.outputs, left, strict=True)
        }
        return OracleResult(outputs, enqueues=trips, chain=1)
