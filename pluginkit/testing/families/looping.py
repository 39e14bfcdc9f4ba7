"""Common parts of all Loops: which inputs are states, what a body does with them, and the same in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto, helper

from pluginkit.manifest import Tensor
from pluginkit.network.networks import Array, PluginCall, Range
from pluginkit.testing.families.base import Applier, Body, Setting, Shown, value_info
from pluginkit.testing.families.family import feedback

TRIPS = (1, 2, 3)
"""The trip count at min, opt and max."""
TRIP_RANGE: Range = ((TRIPS[0],), (TRIPS[1],), (TRIPS[2],))
TRIP_DIM = "trip_count"
DECAY = 0.5
"""What a float input that no output fits is multiplied by in each trip."""

Step = Callable[[Body, list[str], str], tuple[list[str], list[PluginCall]]]
"""What a body does in a trip: (body, plugin inputs, iteration number) -> plugin outputs, both in manifest order."""

Trip = Callable[[list[Array], int], Sequence[Array]]
"""The same in NumPy: (plugin inputs, iteration number) -> plugin outputs."""


def trips_at(point: str) -> int:
    """The trip count follows the point; random points and the user's own data have opt's."""
    return {"min": TRIPS[0], "max": TRIPS[2]}.get(point, TRIPS[1])


@dataclass(frozen=True)
class Carried:
    """How a loop holds a plugin.

    States are the float inputs: those that an output fits become that output, the others are halved each trip.
    INT32 inputs don't change and come from outside. Outputs that are not states are put together along a new axis.
    """

    setting: Setting

    @property
    def fed(self) -> dict[str, str]:
        """Input -> the output that becomes it."""
        return dict(feedback(self.setting))

    @property
    def states(self) -> list[Tensor]:
        """The inputs that are states."""
        return [tensor for tensor in self.setting.manifest.inputs if self.setting.is_float(tensor)]

    @property
    def scanned(self) -> list[Tensor]:
        """The outputs that are not states."""
        fed = set(self.fed.values())
        return [tensor for tensor in self.setting.manifest.outputs if tensor.name not in fed]

    def last(self, tensor: Tensor) -> str:
        """The graph output with a state's last value."""
        return self.setting.free_name(f"{tensor.name}_last")

    def all(self, tensor: Tensor) -> str:
        """The graph output with an output's values of all trips."""
        return self.setting.free_name(f"{tensor.name}_all")

    def shown(self, *, scanned: bool = True, lead: Sequence[str | int] = (TRIP_DIM,)) -> list[Shown]:
        """Graph outputs: states' last values, then the others' values of all trips."""
        found = [
            Shown(value_info(self.setting, tensor, self.last(tensor)), self.fed.get(tensor.name, ""))
            for tensor in self.states
        ]
        if scanned:
            found += [
                Shown(value_info(self.setting, tensor, self.all(tensor), lead=lead), tensor.name)
                for tensor in self.scanned
            ]
        return found


@dataclass(frozen=True)
class Looped:
    """A Loop that was added: the tensors that it gives, and the plugin's calls in it."""

    last: dict[str, str]
    all: dict[str, str]
    calls: list[PluginCall]


@dataclass(frozen=True)
class Heads:
    """What every Loop's body gets first: the iteration number and the condition."""

    iteration: str
    infos: list[onnx.ValueInfoProto]

    @classmethod
    def of(cls, body: Body) -> Heads:
        """With names of their own."""
        iteration, going = (body.names.tensor(f"{body.label}_{name}") for name in ("iteration", "going"))
        return cls(iteration, [scalar(iteration, TensorProto.INT64), scalar(going, TensorProto.BOOL)])


def scalar(name: str, kind: int) -> onnx.ValueInfoProto:
    """A 0-D tensor's description."""
    return helper.make_tensor_value_info(name, kind, [])


def plugin_step(body: Body, inputs: list[str], iteration: str) -> tuple[list[str], list[PluginCall]]:
    """A trip applies the plugin."""
    del iteration
    left, call = body.plugin(inputs)
    return left, [call]


def add_loop(
    outer: Body,
    label: str,
    inputs: Mapping[str, str],
    step: Step,
    *,
    count: str = "",
    limit: str = "",
    going: str = "",
    lead: Sequence[str | int] = (),
    passed: Sequence[Tensor] = (),
) -> Looped:
    """Add a Loop.

    Args:
        outer: where it stands.
        label: a name for what is in it, unique in the model.
        inputs: plugin input -> tensor before the loop.
        step: what a trip does.
        count: 0-D int64, the trip count; empty for a loop that only its condition ends, which can't concatenate.
        limit: 0-D int64 from outside: the condition is that the number of trips done is less.
        going: 0-D bool, the condition before the first trip; without it only the trip count ends the loop.
        lead: dimensions that the outputs which are put together have in each trip already.
        passed: inputs that are states too and don't change; they come first, and their last values are of no use.
    """
    setting, names = outer.setting, outer.names
    carried = Carried(setting)
    states, scanned = [*passed, *carried.states], carried.scanned if count else []
    body = Body(setting, names, label)
    inside = {**inputs, **{tensor.name: names.tensor(f"{label}_{tensor.name}_state") for tensor in states}}
    heads, after = Heads.of(body), names.tensor(f"{label}_still")
    counters = []
    if limit:
        # NVIDIA's parser knows no iteration number where there is no trip count: the loop counts itself.
        counter, counted = names.tensor(f"{label}_counter"), names.tensor(f"{label}_counted")
        one = body.constant("one", TensorProto.INT64, [], [1])
        body.op("Add", [counter, one], counted)
        body.op("Less", [counted, limit], after)
        counters = [(counter, counted, outer.constant(f"{label}_zero", TensorProto.INT64, [], [0]))]
    else:
        body.op("Identity", [body.constant("true", TensorProto.BOOL, [], [True])], after)
    left, calls = step(body, [inside[tensor.name] for tensor in setting.manifest.inputs], heads.iteration)
    produced = dict(zip([tensor.name for tensor in setting.manifest.outputs], left, strict=True))
    ends = [scalar(after, TensorProto.BOOL)]
    for tensor in states:
        end = names.tensor(f"{label}_{tensor.name}_next")
        if tensor.name in carried.fed:
            body.op("Identity", [produced[carried.fed[tensor.name]]], end)
        elif tensor in passed:
            body.op("Identity", [inside[tensor.name]], end)
        else:
            half = body.constant(f"{tensor.name}_decay", TensorProto.FLOAT, [], [DECAY])
            body.op("Mul", [inside[tensor.name], half], end)
        ends.append(value_info(setting, tensor, end))
    for tensor in scanned:
        end = body.op("Identity", [produced[tensor.name]], names.tensor(f"{label}_{tensor.name}_scan"))
        ends.append(value_info(setting, tensor, end, lead=lead))
    entered = [value_info(setting, tensor, inside[tensor.name]) for tensor in states]
    entered += [scalar(counter, TensorProto.INT64) for counter, _, _ in counters]
    ends[1 + len(states) : 1 + len(states)] = [scalar(counted, TensorProto.INT64) for _, counted, _ in counters]
    last = {tensor.name: names.tensor(f"{label}_{tensor.name}_out") for tensor in states}
    every = {tensor.name: names.tensor(f"{label}_{tensor.name}_every") for tensor in scanned}
    outputs = [*last.values(), *[names.tensor(f"{counter}_out") for counter, _, _ in counters], *every.values()]
    given = [count, going, *[inputs[tensor.name] for tensor in states], *[zero for _, _, zero in counters]]
    outer.op("Loop", given, outputs, body=body.graph([*heads.infos, *entered], ends))
    return Looped(last, every, calls)


def end(main: Body, looped: Looped) -> None:
    """The loop's outputs as the graph's."""
    carried = Carried(main.setting)
    for tensor in carried.states:
        main.op("Identity", [looped.last[tensor.name]], carried.last(tensor))
    for tensor in carried.scanned:
        if tensor.name in looped.all:
            main.op("Identity", [looped.all[tensor.name]], carried.all(tensor))


@dataclass(frozen=True)
class LoopRun:
    """What a loop in NumPy gives: input -> last value, output -> values of all trips."""

    last: dict[str, Array]
    all: dict[str, Array]


def run_loop(applier: Applier, inputs: Mapping[str, Array], trips: int, step: Trip | None = None) -> LoopRun:
    """The loop trip by trip. Without trips there is nothing in `all`."""
    setting = applier.setting
    carried = Carried(setting)
    fed = carried.fed
    now = {name: np.asarray(value) for name, value in inputs.items()}
    history: dict[str, list[Array]] = {tensor.name: [] for tensor in carried.scanned}
    for trip in range(trips):
        entered = [now[tensor.name] for tensor in setting.manifest.inputs]
        left = step(entered, trip) if step else applier(entered)
        produced = dict(zip([tensor.name for tensor in setting.manifest.outputs], left, strict=True))
        for tensor in carried.states:
            name = tensor.name
            now[name] = produced[fed[name]] if name in fed else applier.state(now[name] * np.float32(DECAY))
        for name, values in history.items():
            values.append(produced[name])
    last = {tensor.name: now[tensor.name].astype(np.float64) for tensor in carried.states}
    return LoopRun(last, {name: np.stack(values) for name, values in history.items() if values})


def shown_of(setting: Setting, ran: LoopRun) -> dict[str, Array]:
    """The graph outputs that `Carried.shown` names."""
    carried = Carried(setting)
    outputs = {carried.last(tensor): ran.last[tensor.name] for tensor in carried.states}
    outputs.update({carried.all(tensor): ran.all[tensor.name] for tensor in carried.scanned if tensor.name in ran.all})
    return outputs
