"""api-loop-...: trip limits, iterators and outputs of loops as only NVIDIA's API can say them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from pluginkit.network import api_model as api
from pluginkit.network.networks import Array
from pluginkit.testing.families import looping
from pluginkit.testing.families.api.draft import Draft
from pluginkit.testing.families.api.family import LOOP, ApiFamily, inputs, own
from pluginkit.testing.families.base import Applier, OracleResult, Setting
from pluginkit.testing.families.family import Runs, feedback, too_deep
from pluginkit.testing.families.loop import trips_name
from pluginkit.testing.families.looping import Carried
from pluginkit.testing.families.scan import slices

PADDING = 2
"""How much longer a concatenation is than there are trips."""


class LoopByCount(ApiFamily):
    """A trip limit of one kind, or of both."""

    NAME = "api-loop-count"
    DESCRIPTION = "A loop by kCOUNT: what can is fed back, the rest concatenated."
    LAYERS: ClassVar[tuple[str, ...]] = (
        "ITripLimitLayer kCOUNT",
        "IRecurrenceLayer",
        "ILoopOutputLayer kLAST_VALUE, kCONCATENATE",
    )
    COUNT: ClassVar[bool] = True
    WHILE: ClassVar[bool] = False

    def refusal(self, setting: Setting) -> str:
        """What isn't fed back is put together along a new axis."""
        return too_deep(Carried(setting).scanned, 1)

    def feedback(self, setting: Setting) -> list[tuple[str, str]]:
        """(input, output that becomes it in the next trip)."""
        return feedback(setting)

    def runs(self, setting: Setting, point: str, feeds: Mapping[str, Array]) -> Runs:
        """As many trips as belong to the point."""
        return [("", {**feeds, trips_name(setting): np.array(looping.trips_at(point), np.int32)})]

    def sources(self, setting: Setting) -> dict[str, str]:
        """Network output -> the plugin output that it shows."""
        carried, fed = Carried(setting), dict(feedback(setting))
        shown = {carried.last(tensor): fed[tensor.name] for tensor in carried.states if tensor.name in fed}
        return {**shown, **{carried.all(tensor): tensor.name for tensor in carried.scanned}}

    def draft(self, draft: Draft) -> None:
        """The loop."""
        setting, manifest = draft.setting, draft.setting.manifest
        carried, fed = Carried(setting), dict(feedback(setting))
        outside, trips = inputs(draft), draft.count(trips_name(setting))
        draft.steps.append(api.LoopStep(LOOP))
        if type(self).COUNT:
            draft.steps.append(api.TripLimit(LOOP, "COUNT", trips))
        if type(self).WHILE:
            _while(draft, trips)
        inside, states = list(outside), {}
        for index, tensor in enumerate(manifest.inputs):
            if tensor in carried.states:
                inside[index] = states[tensor.name] = draft.name(f"{tensor.name}_state")
                draft.steps.append(api.Recurrence(LOOP, outside[index], inside[index]))
        left = dict(zip([tensor.name for tensor in manifest.outputs], draft.plugin(inside), strict=True))
        for tensor in carried.states:
            if tensor.name in fed:
                following = left[fed[tensor.name]]
            else:
                following = draft.times(states[tensor.name], looping.DECAY, len(tensor.shape))
            draft.steps.append(api.Recur(states[tensor.name], following))
            last = draft.name(f"{tensor.name}_last")
            draft.steps.append(api.LoopOutput(LOOP, "LAST_VALUE", states[tensor.name], last))
            draft.show(last, carried.last(tensor))
        for tensor in carried.scanned:
            every = draft.name(f"{tensor.name}_all")
            draft.steps.append(api.LoopOutput(LOOP, "CONCATENATE", left[tensor.name], every, 0, trips))
            draft.show(every, carried.all(tensor))

    def oracle(self, applier: Applier, feeds: Mapping[str, Array]) -> OracleResult:
        """What must come out, trip by trip; each trip enqueues once."""
        setting = applier.setting
        trips = int(feeds[trips_name(setting)])
        ran = looping.run_loop(applier, {t.name: feeds[t.name] for t in setting.manifest.inputs}, trips)
        chain = max(1, trips) if feedback(setting) else 1
        return OracleResult(looping.shown_of(setting, ran), enqueues=trips, chain=chain)


class LoopByWhile(LoopByCount):
    """kWHILE alone, with a length for what is concatenated."""

    NAME = "api-loop-while"
    DESCRIPTION = (
        "A loop by kWHILE (a counter below a limit), which ONNX can't concatenate from: here a length is given."
    )
    LAYERS: ClassVar[tuple[str, ...]] = (
        "ITripLimitLayer kWHILE",
        "IRecurrenceLayer",
        "ILoopOutputLayer kLAST_VALUE, kCONCATENATE",
    )
    COUNT = False
    WHILE = True


class LoopByBoth(LoopByCount):
    """kCOUNT and kWHILE."""

    NAME = "api-loop-count-while"
    DESCRIPTION = "A loop with both trip limits."
    LAYERS: ClassVar[tuple[str, ...]] = ("ITripLimitLayer kCOUNT and kWHILE", *LoopByCount.LAYERS[1:])
    WHILE = True


def _while(draft: Draft, trips: str) -> None:
    """kWHILE: a counter that is less than the limit."""
    counter, going, following = (draft.name(label) for label in ("counter", "going", "following"))
    draft.steps += [
        api.Recurrence(LOOP, draft.constant("int32", 0), counter),
        api.Elementwise("LESS", counter, trips, going),
        api.TripLimit(LOOP, "WHILE", going),
        api.Elementwise("SUM", counter, draft.constant("int32", 1), following),
        api.Recur(counter, following),
    ]


class IteratorForward(ApiFamily):
    """A loop over slices of all inputs that have such an axis; the outputs put together again.

    In FP16 the loop's tensors are FP16 too: NVIDIA's backend fails on the cast of a slice (see `refusals`).
    """

    NAME = "api-loop-iterator-0"
    DESCRIPTION = "A loop with iterators over axis 0 of the inputs, its outputs concatenated along axis 0."
    LAYERS: ClassVar[tuple[str, ...]] = (
        "ITripLimitLayer kCOUNT",
        "IIteratorLayer(axis 0)",
        "ILoopOutputLayer kCONCATENATE",
    )
    AXIS: ClassVar[int] = 0
    REVERSE: ClassVar[bool] = False
    KIND: ClassVar[api.OutputKind] = "CONCATENATE"
    LONGER: ClassVar[int] = 0

    def refusal(self, setting: Setting) -> str:
        """There must be an input with such an axis, and room for it."""
        axis = type(self).AXIS
        if all(len(tensor.shape) < axis for tensor in setting.manifest.inputs):
            return f"no input has the axis {axis - 1}, behind which the trips' axis would be"
        tensors = (*setting.manifest.inputs, *setting.manifest.outputs)
        deep = next((tensor.name for tensor in tensors if len(tensor.shape) >= 8), "")
        return f"'{deep}' has 8 dimensions, and TensorRT no more for the trips" if deep else ""

    def _iterated(self, setting: Setting) -> list[str]:
        return [tensor.name for tensor in setting.manifest.inputs if len(tensor.shape) >= type(self).AXIS]

    def runs(self, setting: Setting, point: str, feeds: Mapping[str, Array]) -> Runs:
        """As many slices as belong to the point."""
        trips = looping.trips_at(point)
        sliced = {name: slices(feeds[name], trips, type(self).AXIS) for name in self._iterated(setting)}
        counts = {trips_name(setting): np.array(trips, np.int32)}
        if type(self).LONGER:
            counts[setting.free_name("length")] = np.array(trips + type(self).LONGER, np.int32)
        return [("", {**feeds, **sliced, **counts})]

    def sources(self, setting: Setting) -> dict[str, str]:
        """Network output -> the plugin output that it shows."""
        return {Carried(setting).all(tensor): tensor.name for tensor in setting.manifest.outputs}

    def draft(self, draft: Draft) -> None:
        """The loop."""
        setting, manifest, axis = draft.setting, draft.setting.manifest, type(self).AXIS
        iterated = self._iterated(setting)
        given = [draft.input(tensor, lead=axis if tensor.name in iterated else None) for tensor in manifest.inputs]
        inside = [draft.to_half(tensor, name) for tensor, name in zip(manifest.inputs, given, strict=True)]
        trips = length = draft.count(trips_name(setting))
        if type(self).LONGER:
            length = draft.count(setting.free_name("length"), type(self).LONGER)
        draft.steps += [api.LoopStep(LOOP), api.TripLimit(LOOP, "COUNT", trips)]
        for index, tensor in enumerate(manifest.inputs):
            if tensor.name in iterated:
                piece = draft.name(f"{tensor.name}_slice")
                draft.steps.append(api.IteratorLayer(LOOP, inside[index], piece, axis, type(self).REVERSE))
                inside[index] = piece
        for tensor, name in zip(manifest.outputs, draft.plugin(inside, half=True), strict=True):
            every = draft.name(f"{tensor.name}_all")
            at = min(axis, len(tensor.shape))
            draft.steps.append(api.LoopOutput(LOOP, type(self).KIND, name, every, at, length))
            draft.show(draft.from_half(tensor, every), Carried(setting).all(tensor))

    def oracle(self, applier: Applier, feeds: Mapping[str, Array]) -> OracleResult:
        """What must come out, slice by slice; behind the last trip anything may stand."""
        setting, axis = applier.setting, type(self).AXIS
        iterated, manifest = self._iterated(setting), setting.manifest
        trips = int(feeds[trips_name(setting)])
        found: list[list[Array]] = []
        for trip in range(trips):
            at = trips - 1 - trip if type(self).REVERSE else trip
            values = {name: feeds[name].take(at, axis) if name in iterated else feeds[name] for name in feeds}
            found.append(list(applier(own(setting, values))))
        if type(self).KIND == "REVERSE":
            found.reverse()
        outputs = {
            Carried(setting).all(tensor): np.stack([left[index] for left in found], axis=min(axis, len(tensor.shape)))
            for index, tensor in enumerate(manifest.outputs)
        }
        longer = type(self).LONGER
        padded = dict.fromkeys(outputs, trips + longer) if longer else {}
        return OracleResult(outputs, trips, chain=1, padded=padded)


class Iterator1(IteratorForward):
    """Along axis 1."""

    NAME = "api-loop-iterator-1"
    DESCRIPTION = "The same along axis 1."
    LAYERS: ClassVar[tuple[str, ...]] = (
        "ITripLimitLayer kCOUNT",
        "IIteratorLayer(axis 1)",
        "ILoopOutputLayer kCONCATENATE(axis 1)",
    )
    AXIS = 1


class IteratorReversed(IteratorForward):
    """From the end."""

    NAME = "api-loop-iterator-0-reversed"
    DESCRIPTION = "A loop with reversed iterators over axis 0."
    LAYERS: ClassVar[tuple[str, ...]] = (
        "ITripLimitLayer kCOUNT",
        "IIteratorLayer(axis 0, reverse)",
        "ILoopOutputLayer kCONCATENATE",
    )
    REVERSE = True


class Iterator1Reversed(Iterator1):
    """Along axis 1 from the end."""

    NAME = "api-loop-iterator-1-reversed"
    DESCRIPTION = "A loop with reversed iterators over axis 1."
    LAYERS: ClassVar[tuple[str, ...]] = (
        "ITripLimitLayer kCOUNT",
        "IIteratorLayer(axis 1, reverse)",
        "ILoopOutputLayer kCONCATENATE(axis 1)",
    )
    REVERSE = True


class Reverse(IteratorForward):
    """Put together from the end."""

    NAME = "api-loop-reverse-0"
    DESCRIPTION = "A loop with iterators over axis 0 whose outputs come in reverse."
    LAYERS: ClassVar[tuple[str, ...]] = (
        "ITripLimitLayer kCOUNT",
        "IIteratorLayer(axis 0)",
        "ILoopOutputLayer kREVERSE",
    )
    KIND = "REVERSE"


class Reverse1(Iterator1):
    """Along axis 1, put together from the end."""

    NAME = "api-loop-reverse-1"
    DESCRIPTION = "The same along axis 1."
    LAYERS: ClassVar[tuple[str, ...]] = (
        "ITripLimitLayer kCOUNT",
        "IIteratorLayer(axis 1)",
        "ILoopOutputLayer kREVERSE(axis 1)",
    )
    KIND = "REVERSE"


class ConcatLonger(IteratorForward):
    """A length above the trip count."""

    NAME = "api-concat-longer"
    DESCRIPTION = (
        f"A concatenation {PADDING} longer than there are trips: what is behind the last trip may be anything."
    )
    LAYERS: ClassVar[tuple[str, ...]] = (
        "ITripLimitLayer kCOUNT",
        "IIteratorLayer(axis 0)",
        "ILoopOutputLayer kCONCATENATE with padding",
    )
    LONGER = PADDING
