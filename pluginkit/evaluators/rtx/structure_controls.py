"""Negative controls of structure: what NVIDIA's documents forbid of loops and conditionals, each in one network.

The structures stand behind the plugin, on its first output. Where the plugin is doesn't matter to these limits, so they
are made once for a plugin. What NVIDIA's builder takes of the documents' limits is a row of the leniencies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from pluginkit.network import api_model as api

LOOP, OTHER_LOOP, IF, INNER_IF = "zl", "zl2", "zi", "zi2"
NOT_INSIDE = r"Network output \S+ is not allowed to be in a loop"
"""NVIDIA's message for a conditional, too."""
CYCLE = r"Network contains cycle that does not pass through 2nd input of an IRecurrenceLayer"

WRONG: dict[str, tuple[str, str]] = {
    "no-condition": ("a conditional has no condition", r"IIfConditional must have a condition tensor"),
    "nested-output": ("the output of a conditional in a branch is a network output", NOT_INSIDE),
    "edge-between-branches": ("a branch uses a tensor of the other one", r"exists in multiple control-flow scopes"),
    "branch-tensor-outside": ("a tensor of a branch is used outside of the conditional", NOT_INSIDE),
    "no-trip-limit": ("a loop has no trip limit", r"is missing a trip limit"),
    "two-trip-counts": ("a loop has two trip limits kCOUNT", r"has multiple trip limits of type COUNT"),
    "two-trip-conditions": ("a loop has two trip limits kWHILE", r"has multiple trip limits of type WHILE"),
    "count-from-inside": ("a trip count comes from inside its loop", r"kCOUNT must come from outside of the scope"),
    "initial-from-inside": (
        "a recurrence's initial value comes from inside its loop",
        r"First input to IRecurrenceLayer must come from outside of the scope",
    ),
    "no-second-input": ("a recurrence has no second input", r"IRecurrenceLayer expected 2 inputs but received 1"),
    "condition-from-iterator": (
        "the condition of a while-loop comes from an iterator",
        r"loop validation should have rejected network",
    ),
    "length-from-inside": ("the length of a concatenation comes from inside its loop", r"Assertion graph failed"),
    "cycle": ("a cycle that no recurrence's second input closes", CYCLE),
    "last-value-of-no-state": (
        "LAST_VALUE of what is not a recurrence",
        r"kLAST_VALUE must be the output from an IRec",
    ),
    "loops-within-each-other": ("two loops that are each within the other", NOT_INSIDE),
    "count-of-floats": ("a trip count is FLOAT", r"TripLimit\]: input has type Float but must have type Int"),
    "count-of-rank-1": ("a trip count has one dimension", r"ITripLimitLayer .*TripLimit"),
    "while-of-integers": ("the condition of a while-loop is INT32", r"input has type Int32 but must have type Bool"),
    "length-of-rank-1": ("the length of a concatenation has one dimension", r"at index 1 must be 0D shape tensor"),
    "recurrence-of-two-types": (
        "a recurrence changes its type",
        r"IRecurrenceLayer must have inputs with identical",
    ),
    "iterator-beyond-rank": ("an iterator's axis is not one of its tensor's", r"`axis` is 5 but `input` has only 2"),
    "condition-of-integers": ("a condition is INT32", r"IConditionLayer `input` must have type kBOOL"),
    "condition-of-rank-1": ("a condition has one dimension", r"IIfConditionLayer input should be a scalar"),
    "branches-of-two-types": ("the branches have two types", r"IConditionalOutputLayer must have inputs of same type"),
    "iterator-past-end": ("an iterator goes past the end of a constant", r"Error during shape inference"),
}
"""By name: what is wrong, and a regular expression that NVIDIA's message must match."""


def networks(network: api.ApiNetwork) -> Iterator[tuple[str, api.ApiNetwork]]:
    """The network with each of the structures behind it, by the keys of `WRONG`."""
    x = network.outputs[-1]
    for name in WRONG:
        added = _structure(name, x)
        yield name, replace(network, steps=(*network.steps, *added))


def loop(name: str, x: str) -> tuple[api.Step, ...]:
    """A sound loop of 2 trips that doubles its state `{name}_state`, up to its outputs."""
    trips, state, twice = f"{name}_trips", f"{name}_state", f"{name}_twice"
    return (
        api.ConstantLayer(trips, "int32", (2,)),
        api.LoopStep(name),
        api.TripLimit(name, "COUNT", trips),
        api.Recurrence(name, x, state),
        api.Elementwise("SUM", state, state, twice),
        api.Recur(state, twice),
    )


def branches(name: str, x: str, flag: str) -> tuple[api.Step, ...]:
    """A sound conditional, up to its outputs: `{name}_then` is x + x, `{name}_else` is x * x."""
    return (
        api.Conditional(name, flag),
        api.BranchInput(name, x, f"{name}_in"),
        api.Elementwise("SUM", f"{name}_in", f"{name}_in", f"{name}_then"),
        api.BranchInput(name, x, f"{name}_in2"),
        api.Elementwise("PROD", f"{name}_in2", f"{name}_in2", f"{name}_else"),
    )


def last(name: str, x: str = "") -> tuple[api.Step, ...]:
    """The loop's state, or another tensor, as LAST_VALUE and network output."""
    return api.LoopOutput(name, "LAST_VALUE", x or f"{name}_state", f"{name}_out"), api.NetworkOutput(f"{name}_out")


def either(name: str) -> tuple[api.Step, ...]:
    """What the branches give as network output."""
    output = api.BranchOutput(name, f"{name}_then", f"{name}_else", f"{name}_out")
    return output, api.NetworkOutput(f"{name}_out")


FLAG = api.ConstantLayer("z_flag", "bool", (1,))


def _structure(name: str, x: str) -> tuple[api.Step, ...]:
    if name in _CONDITIONALS:
        return _conditional(name, x)
    sound, end = loop(LOOP, x), last(LOOP)
    state, twice = f"{LOOP}_state", f"{LOOP}_twice"
    going = api.Elementwise("LESS", f"{LOOP}_count", f"{LOOP}_trips", f"{LOOP}_going")
    counter = (
        api.ConstantLayer(f"{LOOP}_zero", "int32", (0,)),
        api.ConstantLayer(f"{LOOP}_one", "int32", (1,)),
        api.Recurrence(LOOP, f"{LOOP}_zero", f"{LOOP}_count"),
        api.Elementwise("SUM", f"{LOOP}_count", f"{LOOP}_one", f"{LOOP}_more"),
        api.Recur(f"{LOOP}_count", f"{LOOP}_more"),
        going,
    )
    unlimited = tuple(step for step in sound if not isinstance(step, api.TripLimit))
    other = loop(OTHER_LOOP, x)
    other_state, both = f"{OTHER_LOOP}_state", f"{LOOP}_both"
    past = (
        api.ConstantLayer(f"{LOOP}_row", "float32", (1, 2), (2, 1)),
        api.ConstantLayer(f"{LOOP}_five", "int32", (5,)),
        api.LoopStep(LOOP),
        api.TripLimit(LOOP, "COUNT", f"{LOOP}_five"),
        api.IteratorLayer(LOOP, f"{LOOP}_row", state),
        api.LoopOutput(LOOP, "CONCATENATE", state, f"{LOOP}_out", 0, f"{LOOP}_five"),
        api.NetworkOutput(f"{LOOP}_out"),
    )
    made: dict[str, tuple[api.Step, ...]] = {
        "no-trip-limit": (*unlimited, *end),
        "two-trip-counts": (*sound, api.TripLimit(LOOP, "COUNT", f"{LOOP}_trips"), *end),
        "two-trip-conditions": (*unlimited, *counter, *[api.TripLimit(LOOP, "WHILE", going.out)] * 2, *end),
        "count-from-inside": (*unlimited, *counter, api.TripLimit(LOOP, "COUNT", f"{LOOP}_count"), *end),
        "initial-from-inside": (
            *sound,
            api.Recurrence(LOOP, twice, both),
            api.Recur(both, both),
            *end,
            api.LoopOutput(LOOP, "LAST_VALUE", both, f"{both}_out"),
            api.NetworkOutput(f"{both}_out"),
        ),
        "no-second-input": (*(step for step in sound if not isinstance(step, api.Recur)), *end),
        "condition-from-iterator": (
            *sound,
            api.ConstantLayer(f"{LOOP}_row", "int32", (1, 1), (2,)),
            api.IteratorLayer(LOOP, f"{LOOP}_row", f"{LOOP}_item"),
            api.Elementwise("LESS", f"{LOOP}_item", f"{LOOP}_trips", f"{LOOP}_going"),
            api.TripLimit(LOOP, "WHILE", f"{LOOP}_going"),
            *end,
        ),
        "length-from-inside": (
            *sound,
            *counter,
            api.LoopOutput(LOOP, "CONCATENATE", twice, f"{LOOP}_all", 0, f"{LOOP}_count"),
            api.NetworkOutput(f"{LOOP}_all"),
        ),
        "cycle": (*sound, api.Recur(state, twice, 0), *end),
        "last-value-of-no-state": (*sound, *last(LOOP, twice)),
        "loops-within-each-other": (
            *sound,
            *other,
            api.Elementwise("SUM", state, other_state, both),
            api.Recur(state, both),
            api.Recur(other_state, both),
            *end,
            *last(OTHER_LOOP),
        ),
        "iterator-past-end": past,
        "count-of-floats": (*_limited(sound, "COUNT", "float32"), *end),
        "count-of-rank-1": (*_limited(sound, "COUNT", "int32", (1,)), *end),
        "while-of-integers": (*_limited(sound, "WHILE", "int32"), *end),
        "length-of-rank-1": (
            *sound,
            api.ConstantLayer(f"{LOOP}_length", "int32", (2,), (1,)),
            api.LoopOutput(LOOP, "CONCATENATE", twice, f"{LOOP}_out", 0, f"{LOOP}_length"),
            api.NetworkOutput(f"{LOOP}_out"),
        ),
        "recurrence-of-two-types": (
            *sound,
            api.ConstantLayer(f"{LOOP}_number", "float32", (0,)),
            api.Recurrence(LOOP, f"{LOOP}_number", f"{LOOP}_second"),
            api.Cast(f"{LOOP}_second", f"{LOOP}_narrow", "float16"),
            api.Recur(f"{LOOP}_second", f"{LOOP}_narrow"),
            *end,
            api.LoopOutput(LOOP, "LAST_VALUE", f"{LOOP}_second", f"{LOOP}_second_out"),
            api.NetworkOutput(f"{LOOP}_second_out"),
        ),
        "iterator-beyond-rank": tuple(
            replace(step, axis=5) if isinstance(step, api.IteratorLayer) else step for step in past
        ),
    }
    return made[name]


def _limited(
    sound: tuple[api.Step, ...], kind: Literal["COUNT", "WHILE"], dtype: api.TypeName, dims: tuple[int, ...] = ()
) -> tuple[api.Step, ...]:
    """A sound loop with a trip limit by a constant of another type or rank."""
    return (
        api.ConstantLayer(f"{LOOP}_limit", dtype, (2,), dims),
        *(replace(step, kind=kind, x=f"{LOOP}_limit") if isinstance(step, api.TripLimit) else step for step in sound),
    )


_CONDITIONALS = (
    "no-condition",
    "nested-output",
    "edge-between-branches",
    "branch-tensor-outside",
    "condition-of-integers",
    "condition-of-rank-1",
    "branches-of-two-types",
)


def _conditional(name: str, x: str) -> tuple[api.Step, ...]:
    then, otherwise = f"{IF}_then", f"{IF}_else"
    sound = (FLAG, *branches(IF, x, FLAG.out))
    inner = (*branches(INNER_IF, then, FLAG.out), *either(INNER_IF))
    outer = (api.BranchOutput(IF, f"{INNER_IF}_out", otherwise, f"{IF}_out"), api.NetworkOutput(f"{IF}_out"))
    number = api.ConstantLayer(f"{IF}_number", "float32", (0,))
    narrow = api.Cast(number.out, f"{IF}_narrow", "float16")
    made: dict[str, tuple[api.Step, ...]] = {
        "condition-of-integers": (replace(FLAG, dtype="int32"), *branches(IF, x, FLAG.out), *either(IF)),
        "condition-of-rank-1": (replace(FLAG, dims=(1,)), *branches(IF, x, FLAG.out), *either(IF)),
        "branches-of-two-types": (
            *sound,
            number,
            narrow,
            api.BranchInput(IF, number.out, f"{IF}_wide_in"),
            api.BranchInput(IF, narrow.out, f"{IF}_narrow_in"),
            api.BranchOutput(IF, f"{IF}_wide_in", f"{IF}_narrow_in", f"{IF}_out"),
            api.NetworkOutput(f"{IF}_out"),
        ),
        "no-condition": (*branches(IF, x, ""), *either(IF)),
        "nested-output": (*sound, *inner, *outer),
        "edge-between-branches": (
            *sound,
            api.Elementwise("SUM", then, otherwise, f"{IF}_both"),
            api.BranchOutput(IF, then, f"{IF}_both", f"{IF}_out"),
            api.NetworkOutput(f"{IF}_out"),
        ),
        "branch-tensor-outside": (
            *sound,
            *either(IF),
            api.Elementwise("SUM", then, x, f"{IF}_used"),
            api.NetworkOutput(f"{IF}_used"),
        ),
    }
    return made[name]
