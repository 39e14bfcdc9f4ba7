"""Runs a network made by NVIDIA's API: a function computes the plugin's nodes, NumPy the others.

What is in a loop or a branch follows from the network, as in TensorRT: a layer is in a loop if it depends on one of the
loop's recurrences or iterators, and lazy in a conditional if it depends on one of its input layers.

Source: NvInfer.h on ILoop, ITripLimitLayer, IIteratorLayer, ILoopOutputLayer, IRecurrenceLayer and IIfConditional.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pluginkit.errors import CheckFailed
from pluginkit.interpreter import api_layers, walker
from pluginkit.interpreter.api_structure import reads
from pluginkit.network import api_model as api
from pluginkit.network.networks import Array

POISON = {"f": np.nan, "V": np.nan, "i": -77, "u": 77, "b": True}
"""By kind of type (V is bfloat16's): what stands where a concatenation is longer than there are trips."""


def run(
    network: api.ApiNetwork, call: walker.Call, feeds: Mapping[str, Array], not_taken: walker.Call | None = None
) -> dict[str, Array]:
    """Runs a network.

    Args:
        network: its plugin nodes are asked for by name; probes are identities.
        call: what a plugin node does.
        feeds: network input -> array.
        not_taken: what a plugin node does in a branch that is not taken; None: such branches do not run.

    Returns:
        Network output -> array. Behind the last trip of a longer concatenation stands `POISON`.

    Raises:
        CheckFailed: a concatenation is shorter than there are trips, an iterator goes past its end, a
            state changes its shape, or branches differ.
    """
    graph = _Graph(network, walker.PluginCalls(call, not_taken), feeds)
    with np.errstate(all="ignore"):
        return {name: graph.value(name, _Scope()) for name in network.outputs}


@dataclass
class _Scope:
    """What was computed in one trip of a loop; the outermost is the network itself."""

    outer: _Scope | None = None
    loop: str = ""
    trip: int = 0
    trips: int = 0
    values: dict[str, Array] = field(default_factory=dict)


class _Graph:
    def __init__(self, network: api.ApiNetwork, call: walker.PluginCalls, feeds: Mapping[str, Array]) -> None:
        self._feeds = feeds
        self._call = call
        self._by_out: dict[str, api.Step] = {}
        self._steps = network.steps
        self._next: dict[str, str] = {}
        for step in network.steps:
            for out in step.outs if isinstance(step, api.PluginLayer) else [getattr(step, "out", "")]:
                self._by_out[out] = step
            if isinstance(step, api.Recur):
                self._next[step.state] = step.x
        self._root = _Scope()
        self._within: dict[str, frozenset[str]] = {}

    def value(self, name: str, scope: _Scope) -> Array:
        """A tensor's value, computed in the outermost scope that it depends on."""
        inside = self._inside(name)
        while scope.outer is not None and scope.loop not in inside:
            scope = scope.outer
        if scope.outer is None:
            scope = self._root
        if name not in scope.values:
            step = self._by_out[name]
            outs = step.outs if isinstance(step, api.PluginLayer) else (name,)
            scope.values.update(zip(outs, self._computed(step, scope), strict=True))
        return scope.values[name]

    def _inside(self, name: str) -> frozenset[str]:
        """The loops that a tensor is in."""
        if name not in self._within:
            step = self._by_out[name]
            found: set[str] = set()
            if isinstance(step, (api.Recurrence, api.IteratorLayer)):
                found = {step.loop, *self._inside(step.x)}
            else:
                for other in reads(step):
                    found |= self._inside(other)
                if isinstance(step, api.LoopOutput):
                    found -= {step.loop}
            self._within[name] = frozenset(found)
        return self._within[name]

    def _computed(self, step: api.Step, scope: _Scope) -> Sequence[Array]:
        if isinstance(step, api.PluginLayer):
            values = [self.value(name, scope) for name in step.inputs]
            return values if api.is_probe(step.node) else self._call(step.node, values)
        return [self._output(step, scope)]

    def _output(self, step: api.Step, scope: _Scope) -> Array:
        if isinstance(step, api.NetworkInput):
            found = np.asarray(self._feeds[step.out])
        elif isinstance(step, api.LoopOutput):
            found = self._loop_output(step, scope)
        elif isinstance(step, api.IteratorLayer):
            at = scope.trips - 1 - scope.trip if step.reverse else scope.trip
            found = _slice(self.value(step.x, scope), at, step)
        elif isinstance(step, api.BranchOutput):
            found = self._either(step, scope)
        else:
            found = api_layers.compute(step, [self.value(name, scope) for name in reads(step)])
        return found

    def _loop_output(self, asked: api.LoopOutput, scope: _Scope) -> Array:
        """Runs a loop; all of its outputs are kept."""
        loop = asked.loop
        outputs = [step for step in self._steps if isinstance(step, api.LoopOutput) and step.loop == loop]
        states = [step for step in self._steps if isinstance(step, api.Recurrence) and step.loop == loop]
        limits = {step.kind: step.x for step in self._steps if isinstance(step, api.TripLimit) and step.loop == loop}
        count = int(self.value(limits["COUNT"], scope)) if "COUNT" in limits else None
        now = {step.out: self.value(step.x, scope) for step in states}
        collected: dict[str, list[Array]] = {step.out: [] for step in outputs if step.kind != "LAST_VALUE"}
        trip = 0
        while count is None or trip < count:
            inner = _Scope(scope, loop, trip, count or 0, dict(now))
            if "WHILE" in limits and not bool(self.value(limits["WHILE"], inner)):
                break
            for step in outputs:
                if step.kind != "LAST_VALUE":
                    collected[step.out].append(self.value(step.x, inner))
            following = {step.out: self.value(self._next[step.out], inner) for step in states}
            _check_states(now, following)
            now, trip = following, trip + 1
        for step in outputs:
            if step.kind == "LAST_VALUE":
                scope.values[step.out] = now[step.x]
            else:
                length = int(self.value(step.length, scope))
                scope.values[step.out] = _together(step, collected[step.out], length)
        return scope.values[asked.out]

    def _either(self, step: api.BranchOutput, scope: _Scope) -> Array:
        (conditional,) = [s for s in self._steps if isinstance(s, api.Conditional) and s.name == step.conditional]
        flag = bool(self.value(conditional.flag, scope))
        taken, other = (step.then, step.otherwise) if flag else (step.otherwise, step.then)
        value = self.value(taken, scope)
        self._eager(other, step.conditional, scope)
        if self._call.not_taken:
            self._run_not_taken(other, scope)
        return value

    def _run_not_taken(self, name: str, scope: _Scope) -> None:
        """Computes a branch that isn't taken; nothing is kept of it."""
        kept: list[tuple[_Scope, dict[str, Array]]] = []
        one: _Scope | None = scope
        while one is not None:
            kept.append((one, dict(one.values)))
            one = one.outer
        with self._call.in_branch_not_taken():
            self.value(name, scope)
        for one, values in kept:
            one.values.clear()
            one.values.update(values)

    def _eager(self, name: str, conditional: str, scope: _Scope) -> None:
        """Compute what a branch that isn't taken needs from before its input layers."""
        step = self._by_out[name]
        if isinstance(step, api.BranchInput) and step.conditional == conditional:
            self.value(step.x, scope)
        elif self._lazy(name, conditional):
            for other in reads(step):
                self._eager(other, conditional, scope)
        else:
            self.value(name, scope)

    def _lazy(self, name: str, conditional: str) -> bool:
        step = self._by_out[name]
        if isinstance(step, api.BranchInput) and step.conditional == conditional:
            return True
        return any(self._lazy(other, conditional) for other in reads(step))


def _slice(values: Array, at: int, step: api.IteratorLayer) -> Array:
    if not 0 <= at < values.shape[step.axis]:
        raise CheckFailed(
            f"iterator {step.out!r} goes past the end: slice {at} of {values.shape[step.axis]} on axis {step.axis}",
            hint="The trip count must be at most the axis's length.",
        )
    found: Array = values.take(at, step.axis)
    return found


def _together(step: api.LoopOutput, values: Sequence[Array], length: int) -> Array:
    if length < len(values):
        raise CheckFailed(
            f"{step.kind} {step.out!r}: its length is {length}, and the loop made {len(values)} trips",
            hint="The length of a concatenation must be at least the trip count.",
        )
    if step.kind == "REVERSE":
        values = values[::-1]
    if not values:
        raise CheckFailed(f"{step.kind} {step.out!r}: the loop made no trips, so its shape is unknown")
    padding = np.full_like(values[0], POISON[values[0].dtype.kind])
    return np.stack([*values, *[padding] * (length - len(values))], axis=step.axis)


def _check_states(before: Mapping[str, Array], after: Mapping[str, Array]) -> None:
    for name, value in before.items():
        other = after[name]
        if (value.dtype, value.shape) != (other.dtype, other.shape):
            raise CheckFailed(
                f"recurrence {name!r} is {value.dtype} {list(value.shape)} before a trip and "
                f"{other.dtype} {list(other.shape)} after it",
                hint="What a loop carries from trip to trip must keep its type and shape.",
            )
