"""scan and its directions and axes: ONNX's Scan, which NVIDIA's parser makes a loop with iterators of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from onnx import TensorProto

from pluginkit.manifest import Tensor
from pluginkit.network.networks import Array, Dims, PluginCall, Range
from pluginkit.testing.families import looping
from pluginkit.testing.families.base import Applier, Body, GraphInput, OracleResult, Setting, Shown, value_info
from pluginkit.testing.families.family import MAX_RANK, OnnxFamily, Runs, cast_kind, feedback

SLICES = (1.0, 0.5, 0.75, 0.25)
"""What a float input is multiplied by in each trip, so that no two slices are the same."""


def slices(array: Array, trips: int, axis: int) -> Array:
    """A tensor's slices of all trips along a new axis, each one's values turned by one more place."""
    turned = [np.roll(array.ravel(), trip).reshape(array.shape) for trip in range(trips)]
    if array.dtype.kind == "f":
        turned = [(one * np.float32(SLICES[trip % len(SLICES)])).astype(array.dtype) for trip, one in enumerate(turned)]
    return np.stack(turned, axis=axis)


def lengthened(ranges: Sequence[Range], axis: int) -> tuple[Range, ...]:
    """Ranges with the trip count put in at an axis."""

    def put(dims: Dims, trips: int) -> Dims:
        return (*dims[:axis], trips, *dims[axis:])

    low, best, high = looping.TRIPS
    return tuple((put(one[0], low), put(one[1], best), put(one[2], high)) for one in ranges)


class ScanForward(OnnxFamily):
    """Slices of the inputs go through the plugin one by one."""

    NAME = "scan-forward"
    DESCRIPTION = "A Scan over slices of the inputs; if there are several, the first output that fits one is its state."
    LAYERS: ClassVar[tuple[str, ...]] = (
        "ITripLimitLayer kCOUNT",
        "IIteratorLayer",
        "IRecurrenceLayer",
        "ILoopOutputLayer kCONCATENATE",
    )
    AXIS: ClassVar[int] = 0
    REVERSE_INPUT: ClassVar[bool] = False
    REVERSE_OUTPUT: ClassVar[bool] = False

    def refusal(self, setting: Setting) -> str:
        """Everything but the state gets one more axis."""
        states, axis = dict(self.feedback(setting)), type(self).AXIS
        iterated = [tensor for tensor in setting.manifest.execution_inputs() if tensor.name not in states]
        if all(len(tensor.shape) < axis for tensor in iterated):
            return f"no input that is not a state has the axis {axis - 1}, behind which the trips' axis would be"
        for tensor in (*iterated, *[t for t in setting.manifest.outputs if t.name not in states.values()]):
            if len(tensor.shape) >= MAX_RANK:
                return f"'{tensor.name}' has {len(tensor.shape)} dimensions, and TensorRT no more for the trips"
        return ""

    def feedback(self, setting: Setting) -> list[tuple[str, str]]:
        """The first pair is a state, if there is another input to be iterated over and another output to be shown."""
        several = len(setting.manifest.execution_inputs()) > 1 and len(setting.manifest.outputs) > 1
        return feedback(setting, as_cast=True)[:1] if several else []

    def _axis(self, tensor: Tensor) -> int:
        return min(type(self).AXIS, len(tensor.shape))

    def given(self, setting: Setting) -> list[GraphInput]:
        """The plugin's inputs, all but the state with an axis for the trips."""
        states = dict(self.feedback(setting))
        found = []
        for tensor in setting.manifest.inputs:
            ranges = setting.ranges(tensor)
            lead: tuple[str, ...] = ()
            if tensor.is_shape_input:
                found.append(GraphInput(value_info(setting, tensor, tensor.name), ranges, setting.value_ranges(tensor)))
                continue
            if tensor.name not in states:
                lead, ranges = (looping.TRIP_DIM,), lengthened(ranges, self._axis(tensor))
            found.append(GraphInput(value_info(setting, tensor, tensor.name, lead=lead, at=self._axis(tensor)), ranges))
        return found

    def runs(self, setting: Setting, point: str, feeds: Mapping[str, Array]) -> Runs:
        """As many slices as belong to the point."""
        states, trips = dict(self.feedback(setting)), looping.trips_at(point)
        iterated = {
            tensor.name: slices(feeds[tensor.name], trips, self._axis(tensor))
            for tensor in setting.manifest.execution_inputs()
            if tensor.name not in states
        }
        return [("", {**feeds, **iterated})]

    def shown(self, setting: Setting) -> list[Shown]:
        """The state's last value (`x_last`), and the other outputs of all trips (`y_all`)."""
        carried, states = looping.Carried(setting), dict(self.feedback(setting))
        found = [
            Shown(value_info(setting, tensor, carried.last(tensor)), states[tensor.name])
            for tensor in setting.manifest.inputs
            if tensor.name in states
        ]
        for tensor in setting.manifest.outputs:
            if tensor.name not in states.values():
                lead = (looping.TRIP_DIM,)
                info = value_info(setting, tensor, carried.all(tensor), lead=lead, at=self._axis(tensor))
                found.append(Shown(info, tensor.name))
        return found

    def fill(self, main: Body) -> Sequence[PluginCall]:
        """The Scan. Floats are cast before it and after it: NVIDIA's backend fails on the cast of a slice."""
        setting, names, manifest = main.setting, main.names, main.setting.manifest
        carried, states = looping.Carried(setting), dict(self.feedback(setting))
        body = Body(setting, names, "body")
        first = [tensor for tensor in manifest.inputs if tensor.name in states]
        iterated = [tensor for tensor in manifest.execution_inputs() if tensor.name not in states]
        outputs = [tensor for tensor in manifest.outputs if tensor.name not in states.values()]
        inside = {tensor.name: names.tensor(f"body_{tensor.name}_slice") for tensor in manifest.execution_inputs()}
        inside.update({tensor.name: tensor.name for tensor in manifest.shape_inputs()})
        left, call = body.plugin([inside[tensor.name] for tensor in manifest.inputs], cast=False)
        produced = dict(zip([tensor.name for tensor in manifest.outputs], left, strict=True))
        ends, after = [], []
        for tensor, source in [*[(t, states[t.name]) for t in first], *[(t, t.name) for t in outputs]]:
            end = body.op("Identity", [produced[source]], names.tensor(f"body_{tensor.name}_end"))
            ends.append(value_info(setting, tensor, end, kind=cast_kind(setting, tensor)))
            after.append((tensor, carried.last(tensor) if tensor in first else carried.all(tensor)))
        heads = [
            value_info(setting, tensor, inside[tensor.name], kind=cast_kind(setting, tensor))
            for tensor in [*first, *iterated]
        ]
        typed = [names.tensor(f"main_{name}_typed") for _, name in after]
        given = [main.cast(tensor, tensor.name) for tensor in [*first, *iterated]]
        taken = list(typed)
        if not first:
            # NVIDIA's parser calls a Scan without states an invalid node: this one counts.
            counter, counted = names.tensor("body_counter"), names.tensor("body_counted")
            one = body.constant("one", TensorProto.FLOAT, [], [1.0])
            body.op("Add", [counter, one], counted)
            heads.insert(0, looping.scalar(counter, TensorProto.FLOAT))
            ends.insert(0, looping.scalar(counted, TensorProto.FLOAT))
            given.insert(0, main.constant("zero", TensorProto.FLOAT, [], [0.0]))
            taken.insert(0, names.tensor("main_counted"))
        main.op(
            "Scan",
            given,
            taken,
            body=body.graph(heads, ends),
            num_scan_inputs=len(iterated),
            scan_input_axes=[self._axis(tensor) for tensor in iterated],
            scan_input_directions=[int(type(self).REVERSE_INPUT)] * len(iterated),
            scan_output_axes=[self._axis(tensor) for tensor in outputs],
            scan_output_directions=[int(type(self).REVERSE_OUTPUT)] * len(outputs),
        )
        for (tensor, name), value in zip(after, typed, strict=True):
            main.op("Identity", [main.cast_back(tensor, value)], name)
        return [call]

    def oracle(self, applier: Applier, feeds: Mapping[str, Array]) -> OracleResult:
        """What must come out, slice by slice."""
        setting, manifest = applier.setting, applier.setting.manifest
        carried, states = looping.Carried(setting), dict(self.feedback(setting))
        axes = {t.name: self._axis(t) for t in manifest.execution_inputs() if t.name not in states}
        (trips,) = {feeds[name].shape[axis] for name, axis in axes.items()}
        now = {name: np.asarray(feeds[name]) for name in (*states, *(one.name for one in manifest.shape_inputs()))}
        every: dict[str, list[Array]] = {t.name: [] for t in manifest.outputs if t.name not in states.values()}
        for trip in range(trips):
            at = trips - 1 - trip if type(self).REVERSE_INPUT else trip
            given = {**now, **{name: feeds[name].take(at, axis) for name, axis in axes.items()}}
            left = applier([given[tensor.name] for tensor in manifest.inputs])
            produced = dict(zip([tensor.name for tensor in manifest.outputs], left, strict=True))
            now.update({name: produced[source] for name, source in states.items()})
            for name, values in every.items():
                values.append(produced[name])
        outputs = {carried.last(t): now[t.name] for t in manifest.inputs if t.name in states}
        for tensor in manifest.outputs:
            if tensor.name in every:
                values = every[tensor.name][:: -1 if type(self).REVERSE_OUTPUT else 1]
                outputs[carried.all(tensor)] = np.stack(values, axis=self._axis(tensor))
        return OracleResult(outputs, enqueues=trips, chain=trips if states else 1)


class ScanReverseInput(ScanForward):
    """From the last slice to the first."""

    NAME = "scan-reverse-input"
    DESCRIPTION = "The same from the last slice to the first."
    LAYERS: ClassVar[tuple[str, ...]] = ("IIteratorLayer reversed", *ScanForward.LAYERS[:1], *ScanForward.LAYERS[2:])
    REVERSE_INPUT = True


class ScanReverseOutput(ScanForward):
    """The outputs are put together from the end."""

    NAME = "scan-reverse-output"
    DESCRIPTION = "The same with its outputs put together from the end to the beginning."
    LAYERS: ClassVar[tuple[str, ...]] = (*ScanForward.LAYERS[:3], "ILoopOutputLayer kREVERSE")
    REVERSE_OUTPUT = True


class ScanAxis(ScanForward):
    """Slices along axis 1."""

    NAME = "scan-axis-1"
    DESCRIPTION = "The same along axis 1 of inputs and outputs (axis 0 of those that have no dimensions)."
    LAYERS: ClassVar[tuple[str, ...]] = ("IIteratorLayer(axis 1)", *ScanForward.LAYERS[:1], *ScanForward.LAYERS[2:])
    AXIS = 1
