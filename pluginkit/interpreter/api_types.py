"""Types and ranks where loops and conditionals of a network made by NVIDIA's API ask for some.

Only what follows without running anything is held against the rules: constants, inputs, casts, and what is made of them
alone. What a plugin gives is not known here.

Source: NvInfer.h on ITripLimitLayer, IConditionLayer, IRecurrenceLayer, IIfConditionalOutputLayer, IIteratorLayer and
ILoopOutputLayer; TensorRT-RTX 1.7.1 refuses each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pluginkit.errors import CheckFailed
from pluginkit.network import api_model as api

_WHOLE = ("int32", "int64")
_SAME = (api.IdentityLayer, api.BranchInput, api.Recurrence)


@dataclass(frozen=True)
class _Known:
    """A tensor's type and rank; None where it isn't known."""

    dtype: str | None = None
    rank: int | None = None


def check(network: api.ApiNetwork) -> None:
    """Looks at a network whose structure is sound.

    Raises:
        CheckFailed: the first tensor of a wrong type or rank.
    """
    known = _known(network)
    for problem, hint in _problems(network, known):
        raise CheckFailed(problem, hint=hint)


def _known(network: api.ApiNetwork) -> dict[str, _Known]:
    found: dict[str, _Known] = {}
    steps = [step for step in network.steps if getattr(step, "out", "")]
    for _ in range(len(steps)):  # what a step reads may stand behind it
        before = dict(found)
        for step in steps:
            found[step.out] = _known_output(step, found)  # type: ignore[union-attr]
        if found == before:
            break
    return found


def _known_output(step: api.Step, found: dict[str, _Known]) -> _Known:
    if isinstance(step, (api.NetworkInput, api.ConstantLayer)):
        return _Known(step.dtype, len(step.dims))
    if isinstance(step, api.Cast):
        return _Known(step.dtype, found.get(step.x, _Known()).rank)
    if isinstance(step, api.Elementwise):
        one = found.get(step.left, _Known())
        return _Known("bool", one.rank) if step.op == "LESS" else one
    if isinstance(step, _SAME):
        return found.get(step.x, _Known())
    if isinstance(step, api.IteratorLayer):
        one = found.get(step.x, _Known())
        return _Known(one.dtype, None if not one.rank else one.rank - 1)
    return _Known("int64", 1) if isinstance(step, api.ShapeLayer) else _Known()


def _problems(network: api.ApiNetwork, known: dict[str, _Known]) -> Iterator[tuple[str, str]]:
    states = {step.out: step for step in network.steps if isinstance(step, api.Recurrence)}
    for step in network.steps:
        if isinstance(step, api.TripLimit):
            types = _WHOLE if step.kind == "COUNT" else ("bool",)
            yield from _scalar(f"the k{step.kind} of loop {step.loop!r}", step.x, known, types)
        elif isinstance(step, api.Conditional) and step.flag:
            yield from _scalar(f"the condition of {step.name!r}", step.flag, known, ("bool",))
        elif isinstance(step, api.LoopOutput) and step.length:
            yield from _scalar(f"the length of {step.kind} {step.out!r}", step.length, known, _WHOLE)
        elif isinstance(step, api.IteratorLayer):
            rank = known.get(step.x, _Known()).rank
            if rank is not None and not 0 <= step.axis < rank:
                yield (
                    f"iterator {step.out!r} goes over axis {step.axis}, and {step.x!r} has {rank} dimensions",
                    "Give an axis from 0 to the number of dimensions less 1.",
                )
        elif isinstance(step, api.Recur) and step.state in states:
            yield from _alike(f"recurrence {step.state!r}", states[step.state].x, step.x, known)
        elif isinstance(step, api.BranchOutput):
            yield from _alike(f"the output {step.out!r} of {step.conditional!r}", step.then, step.otherwise, known)


def _scalar(what: str, name: str, known: dict[str, _Known], types: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    one = known.get(name, _Known())
    hint = f"Give it a 0-D tensor of {' or '.join(types)}."
    if one.dtype is not None and one.dtype not in types:
        yield f"{what} is {name!r}, of type {one.dtype}", hint
    if one.rank is not None and one.rank > 0:
        yield f"{what} is {name!r}, which has {one.rank} dimension{'s' * (one.rank > 1)}", hint


def _alike(what: str, one: str, other: str, known: dict[str, _Known]) -> Iterator[tuple[str, str]]:
    types = [known.get(name, _Known()).dtype for name in (one, other)]
    if None not in types and types[0] != types[1]:
        yield f"{what} is {types[0]} by {one!r} and {types[1]} by {other!r}", "Cast one of them to the other's type."
