"""Looks at the loops and conditionals of a network made by NVIDIA's API before anything in it is run.

A tensor is in a loop if it depends on one of the loop's recurrences or iterators, and in a conditional if it depends on
one of its input layers; it leaves them by their output layers alone.

Source: NvInfer.h on ILoop and IIfConditional and their layers; "Working with Loops" and "Working with Conditionals" of
NVIDIA's documents. Which limit has whose verdict: docs/networks.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from graphlib import CycleError, TopologicalSorter

from pluginkit.errors import CheckFailed
from pluginkit.interpreter import api_types
from pluginkit.network import api_model as api
from pluginkit.network.networks import Dims, NetworkProfile

POINTS = ("min", "opt", "max")


SHAPE_LAYERS = (
    api.NetworkInput,
    api.ConstantLayer,
    api.ShapeLayer,
    api.Cast,
    api.IdentityLayer,
    api.Elementwise,
    api.Concat,
    api.Reshape,
    api.ReshapeTo,
    api.Slice,
    api.Gather,
    api.ReduceProduct,
    api.BranchInput,
    api.BranchOutput,
)
"""What can give a shape tensor: "Formal Inference Rules" in "Working with Dynamic Shapes" of NVIDIA's documents."""


def check(network: api.ApiNetwork) -> None:
    """Looks at a network.

    Raises:
        CheckFailed: the first limit of NVIDIA's documents that it breaks.
    """
    _check_conditions(network)
    _check_limits(network)
    graph = _Dependencies(network)
    graph.check_cycles()
    graph.find_scopes()
    graph.check_boundaries()
    graph.check_nesting()
    graph.check_branches()
    graph.check_outputs()
    api_types.check(network)
    for profile in network.profiles:
        for point in range(len(POINTS)):
            _check_lengths(network, profile, point)


def reads(step: api.Step) -> Sequence[str]:
    """The tensors that a step is made of, in order."""
    if isinstance(step, (api.PluginLayer, api.Concat)):
        return step.inputs
    names = ("x", "scale", "left", "right", "then", "otherwise", "length", "start", "size", "stride", "indices")
    return [found for name in names if (found := getattr(step, name, ""))]


def _check_conditions(network: api.ApiNetwork) -> None:
    for name in {step.name for step in network.steps if isinstance(step, api.Conditional)}:
        flags = [s.flag for s in network.steps if isinstance(s, api.Conditional) and s.name == name and s.flag]
        if len(flags) != 1:
            raise CheckFailed(
                f"conditional {name!r} has {len(flags)} conditions",
                hint="Call IIfConditional::setCondition once: a conditional has exactly one IConditionLayer.",
            )
        if not any(isinstance(s, api.BranchOutput) and s.conditional == name for s in network.steps):
            raise CheckFailed(
                f"conditional {name!r} has no output layer",
                hint="Call IIfConditional::addOutput, or leave the conditional out: it does nothing.",
            )


def _check_limits(network: api.ApiNetwork) -> None:
    for loop in (step.name for step in network.steps if isinstance(step, api.LoopStep)):
        kinds = [step.kind for step in network.steps if isinstance(step, api.TripLimit) and step.loop == loop]
        if not kinds or len(set(kinds)) < len(kinds):
            has = " and ".join(f"k{kind}" for kind in kinds) or "none"
            raise CheckFailed(
                f"loop {loop!r} has the trip limits {has}",
                hint="A loop has a kCOUNT, a kWHILE, or one of each.",
            )


class _Dependencies:
    """What depends on what, and the loops and conditionals that each tensor is in."""

    def __init__(self, network: api.ApiNetwork) -> None:
        self._network = network
        self._by_out: dict[str, api.Step] = {}
        self._first: dict[str, str] = {}
        self._next: dict[str, str] = {}
        for step in network.steps:
            for out in step.outs if isinstance(step, api.PluginLayer) else [getattr(step, "out", "")]:
                self._by_out[out] = step
            if isinstance(step, api.Recur):
                (self._next if step.index else self._first)[step.state] = step.x
        self._flags = {step.name: step.flag for step in network.steps if isinstance(step, api.Conditional)}
        self._scopes: dict[str, frozenset[str]] = defaultdict(frozenset)
        self._outer: dict[str, frozenset[str]] = defaultdict(frozenset)

    def _reads(self, name: str) -> Sequence[str]:
        step = self._by_out[name]
        return [self._first.get(name, step.x)] if isinstance(step, api.Recurrence) else reads(step)

    def check_cycles(self) -> None:
        """The only way back is a recurrence's second input."""
        try:
            TopologicalSorter({name: self._reads(name) for name in self._by_out if name}).prepare()
        except CycleError as error:
            raise CheckFailed(
                f"a cycle that no recurrence closes: {' -> '.join(error.args[1])}",
                hint="Only the second input of an IRecurrenceLayer may come from behind it.",
            ) from None

    def find_scopes(self) -> None:
        """Loops and conditionals by tensor, and those around each loop and conditional, until nothing is added."""
        before = -1
        while before != (now := sum(map(len, (*self._scopes.values(), *self._outer.values())))):
            before = now
            for name, step in self._by_out.items():
                if name:
                    self._spread(name, step)

    def _spread(self, name: str, step: api.Step) -> None:
        found = frozenset[str]().union(*(self._scopes[other] for other in self._reads(name)))
        if isinstance(step, api.Recurrence):
            found |= self._scopes[self._next.get(name, "")]
        around = getattr(step, "loop", "") or getattr(step, "conditional", "")
        if around:
            found |= self._outer[around] | self._scopes[self._flags.get(around, "")]
            self._outer[around] |= found - {around}
        if isinstance(step, (api.Recurrence, api.IteratorLayer, api.BranchInput)):
            found |= {around}
        elif around:
            found -= {around}
        self._scopes[name] = found

    def check_boundaries(self) -> None:
        """What must come from outside of a loop, and what may leave it."""
        for step in self._network.steps:
            if isinstance(step, api.Recurrence):
                if step.out not in self._next:
                    raise CheckFailed(f"recurrence {step.out!r} has no second input", hint="Say its next value.")
                self._from_outside(f"the initial value of recurrence {step.out!r}", self._reads(step.out)[0], step.loop)
            elif isinstance(step, api.TripLimit) and step.kind == "COUNT":
                self._from_outside(f"the trip count of loop {step.loop!r}", step.x, step.loop)
            elif isinstance(step, api.TripLimit):
                self._check_condition(step.x, step.loop)
            elif isinstance(step, api.LoopOutput):
                self._check_output(step)

    def _check_condition(self, name: str, loop: str) -> None:
        """Of what a loop holds only its own recurrences may lead to the condition that ends it."""
        step = self._by_out[name]
        if loop not in self._scopes[name] or (isinstance(step, api.Recurrence) and step.loop == loop):
            return
        if isinstance(step, (api.IteratorLayer, api.LoopOutput, api.Recurrence)):
            raise CheckFailed(
                f"the condition of loop {loop!r} comes from {name!r}, of {type(step).__name__} in loop {step.loop!r}",
                hint="Compute it from recurrences of the same loop: no iterator or loop output may lead to a kWHILE.",
            )
        for other in self._reads(name):
            self._check_condition(other, loop)

    def _check_output(self, step: api.LoopOutput) -> None:
        state = self._by_out[step.x]
        if step.kind == "LAST_VALUE":
            if not isinstance(state, api.Recurrence) or state.loop != step.loop:
                raise CheckFailed(
                    f"LAST_VALUE {step.out!r} is of {step.x!r}, which is not a recurrence of loop {step.loop!r}",
                    hint="Make it the state of an IRecurrenceLayer of the same loop, or concatenate it.",
                )
        elif not step.length:
            raise CheckFailed(
                f"{step.kind} {step.out!r} has no length", hint="Say it by ILoopOutputLayer::setInput(1)."
            )
        else:
            self._from_outside(f"the length of {step.kind} {step.out!r}", step.length, step.loop)
            self._check_length(f"the length of {step.kind} {step.out!r}", step.length)

    def _check_length(self, what: str, name: str) -> None:
        """A length is a shape tensor: what computes it must be able to give one."""
        step = self._by_out[name]
        if not isinstance(step, SHAPE_LAYERS) or (isinstance(step, api.NetworkInput) and len(step.dims) > 1):
            raise CheckFailed(
                f"{what} is computed from {name!r}, of {type(step).__name__}, which is not a shape tensor",
                hint="Compute it from constants, shapes and shape inputs: a builder must know it before anything runs.",
            )
        for other in () if isinstance(step, api.ShapeLayer) else self._reads(name):
            self._check_length(what, other)

    def check_nesting(self) -> None:
        """Of two loops or conditionals one is within the other, or neither."""
        for one, around in self._outer.items():
            for other in around:
                if one in self._outer.get(other, ()):
                    raise CheckFailed(
                        f"{one!r} and {other!r} are each within the other",
                        hint="Loops and conditionals lie within each other or side by side.",
                    )

    def _from_outside(self, what: str, x: str, loop: str) -> None:
        if loop in self._scopes[x]:
            raise CheckFailed(f"{what} comes from inside the loop: {x!r}", hint="It is read before the loop starts.")

    def check_branches(self) -> None:
        """A tensor behind an input layer is in one branch."""
        for step in self._network.steps:
            if not isinstance(step, api.BranchOutput):
                continue
            both = set(self._branch(step.then, step.conditional)) & set(self._branch(step.otherwise, step.conditional))
            if both:
                raise CheckFailed(
                    f"{min(both)!r} is in both branches of conditional {step.conditional!r}",
                    hint="Compute it before the conditional's input layers, or in each branch.",
                )

    def _branch(self, name: str, conditional: str) -> Iterator[str]:
        """A tensor and what it is made of, back to the conditional's input layers."""
        step = self._by_out[name]
        if conditional in self._scopes[name] and not (
            isinstance(step, api.BranchInput) and step.conditional == conditional
        ):
            yield name
            for other in self._reads(name):
                yield from self._branch(other, conditional)

    def check_outputs(self) -> None:
        """A network output is outside of all loops and conditionals."""
        for name in self._network.outputs:
            if self._scopes[name]:
                raise CheckFailed(
                    f"network output {name!r} is inside {', '.join(map(repr, sorted(self._scopes[name])))}",
                    hint="A value leaves a loop by ILoopOutputLayer, a conditional by IIfConditionalOutputLayer.",
                )


def _check_lengths(network: api.ApiNetwork, profile: NetworkProfile, point: int) -> None:
    """Trips against concatenations' lengths and iterated axes, where the network or the profile has them."""
    by_out = {getattr(step, "out", ""): step for step in network.steps}
    where = f"profile {profile.name!r} at {POINTS[point]}"
    for limit in network.steps:
        if not isinstance(limit, api.TripLimit) or limit.kind != "COUNT":
            continue
        trips = _value(by_out.get(limit.x), profile, point)
        others = [s for s in network.steps if isinstance(s, api.TripLimit) and s.loop == limit.loop and s is not limit]
        if trips is None or others:
            continue
        for step in network.steps:
            if isinstance(step, api.LoopOutput) and step.loop == limit.loop and step.length:
                length = _value(by_out.get(step.length), profile, point)
                if length is not None and length < trips:
                    raise CheckFailed(
                        f"{where}: the length of {step.kind} {step.out!r} is {length}, and the loop "
                        f"makes {trips} trips",
                        hint="The length of a concatenation must be at least the trip count.",
                    )
            elif isinstance(step, api.IteratorLayer) and step.loop == limit.loop:
                dims = _dims(by_out.get(step.x), profile, point)
                if dims and dims[step.axis] < trips:
                    raise CheckFailed(
                        f"{where}: axis {step.axis} of {step.x!r} ends at {dims[step.axis]}, and the loop that "
                        f"iterates over it makes {trips} trips",
                        hint="An iterator must not go past the end of its axis.",
                    )


def _value(step: api.Step | None, profile: NetworkProfile, point: int) -> int | None:
    """A 0-D integer, if it is a constant or a network input."""
    if isinstance(step, api.ConstantLayer):
        return int(step.values[0])
    if isinstance(step, api.NetworkInput) and step.out in profile.values:
        return profile.values[step.out][point][0]
    return None


def _dims(step: api.Step | None, profile: NetworkProfile, point: int) -> Dims:
    """A constant's or a network input's shape; empty for others."""
    if isinstance(step, api.ConstantLayer):
        return step.dims
    if isinstance(step, api.NetworkInput) and step.out in profile.shapes:
        return profile.shapes[step.out][point]
    return ()
