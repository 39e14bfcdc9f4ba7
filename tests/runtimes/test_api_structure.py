"""The host refuses what NVIDIA's documents forbid of loops and conditionals, and takes all of the families."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed
from pluginkit.evaluators.rtx import structure_controls as structures
from pluginkit.interpreter import api_structure, api_walker
from pluginkit.network import api_model as api
from pluginkit.testing.families.api import forms

from . import faulty

WORDS = {
    "no-condition": "has 0 conditions",
    "nested-output": "network output 'zi2_out' is inside 'zi'",
    "edge-between-branches": "'zi_then' is in both branches of conditional 'zi'",
    "branch-tensor-outside": "network output 'zi_used' is inside 'zi'",
    "no-trip-limit": "has the trip limits none",
    "two-trip-counts": "has the trip limits kCOUNT and kCOUNT",
    "two-trip-conditions": "has the trip limits kWHILE and kWHILE",
    "count-from-inside": "the trip count of loop 'zl' comes from inside",
    "initial-from-inside": "the initial value of recurrence 'zl_both' comes from inside",
    "no-second-input": "recurrence 'zl_state' has no second input",
    "condition-from-iterator": "the condition of loop 'zl' comes from 'zl_item', of IteratorLayer in loop 'zl'",
    "length-from-inside": "the length of CONCATENATE 'zl_all' comes from inside the loop: 'zl_count'",
    "cycle": "a cycle that no recurrence closes: zl_state -> zl_twice -> zl_state",
    "last-value-of-no-state": "'zl_twice', which is not a recurrence of loop 'zl'",
    "loops-within-each-other": "'zl' and 'zl2' are each within the other",
    "count-of-floats": "the kCOUNT of loop 'zl' is 'zl_limit', of type float32",
    "count-of-rank-1": "the kCOUNT of loop 'zl' is 'zl_limit', which has 1 dimension",
    "while-of-integers": "the kWHILE of loop 'zl' is 'zl_limit', of type int32",
    "length-of-rank-1": "the length of CONCATENATE 'zl_out' is 'zl_length', which has 1 dimension",
    "recurrence-of-two-types": "recurrence 'zl_second' is float32 by 'zl_number' and float16 by 'zl_narrow'",
    "iterator-beyond-rank": "goes over axis 5, and 'zl_row' has 2 dimensions",
    "condition-of-integers": "the condition of 'zi' is",
    "condition-of-rank-1": "which has 1 dimension",
    "branches-of-two-types": "is float32 by 'zi_wide_in' and float16 by 'zi_narrow_in'",
    "iterator-past-end": "axis 0 of 'zl_row' ends at 2, and the loop that iterates over it makes 5 trips",
}


def made(form: str = "api-shape-out", precision: DType = DType.FLOAT32) -> api.ApiNetwork:
    network = forms.make(faulty.setting(faulty.manifest(), precision), form)
    assert network is not None
    return network


def behind(network: api.ApiNetwork, *steps: api.Step) -> api.ApiNetwork:
    return replace(network, steps=(*network.steps, *steps))


def test_every_broken_structure_is_refused_in_the_limits_words() -> None:
    broken = dict(structures.networks(made()))
    assert set(broken) == set(WORDS) == set(structures.WRONG)
    for name, network in broken.items():
        with pytest.raises(CheckFailed, match=re.escape(WORDS[name])) as refused:
            api_structure.check(network)
        assert refused.value.hint


@pytest.mark.parametrize("precision", [DType.FLOAT32, DType.FLOAT16, DType.INT8])
def test_the_families_networks_break_none(precision: DType) -> None:
    for form in forms.FORMS:
        api_structure.check(made(form, precision))


def test_loops_and_conditionals_within_each_other_and_side_by_side() -> None:
    """What no family has: so that the rule of nesting isn't red where it shouldn't be."""
    network = made()
    x = network.outputs[-1]
    inner = structures.loop("inner", "outer_state")
    flag = structures.FLAG
    nested: tuple[api.Step, ...] = (
        *(step for step in structures.loop("outer", x) if not isinstance(step, api.Recur)),
        *inner,
        api.LoopOutput("inner", "LAST_VALUE", "inner_state", "inner_out"),
        api.Recur("outer_state", "inner_out"),
        *structures.last("outer"),
    )
    side_by_side = (*structures.loop("one", x), *structures.last("one"), *structures.loop("two", "one_out"))
    loop_in_branch: tuple[api.Step, ...] = (
        flag,
        *structures.branches("if", x, flag.out),
        *structures.loop("in", "if_in"),
        api.LoopOutput("in", "LAST_VALUE", "in_state", "in_out"),
        api.BranchOutput("if", "in_out", "if_else", "if_out"),
        api.NetworkOutput("if_out"),
    )
    # The branch reads the loop's state directly; nothing that enters the conditional says that it is in the loop.
    branch_in_loop: tuple[api.Step, ...] = (
        *(step for step in structures.loop("around", x) if not isinstance(step, api.Recur)),
        flag,
        *structures.branches("if", x, flag.out),
        api.Elementwise("SUM", "if_then", "around_state", "if_sum"),
        api.BranchOutput("if", "if_sum", "if_else", "if_out"),
        api.Recur("around_state", "if_out"),
        *structures.last("around"),
    )
    one_entrance_for_both: tuple[api.Step, ...] = (
        flag,
        *(step for step in structures.branches("if", x, flag.out) if getattr(step, "out", "") != "if_else"),
        api.Elementwise("PROD", "if_in", "if_in", "if_else"),
        *structures.either("if"),
    )
    for steps in (
        nested,
        (*side_by_side, *structures.last("two")),
        loop_in_branch,
        branch_in_loop,
        one_entrance_for_both,
    ):
        api_structure.check(behind(network, *steps))


def test_a_loops_value_leaves_it_by_its_outputs_alone() -> None:
    network = made()
    steps = (*structures.loop("zl", network.outputs[-1]), api.NetworkOutput("zl_twice"))
    with pytest.raises(CheckFailed, match="network output 'zl_twice' is inside 'zl'"):
        api_structure.check(behind(network, *steps))


@pytest.mark.parametrize(
    ("length", "message"),
    [("", "CONCATENATE 'zl_all' has no length"), ("zl_state", "the length of CONCATENATE 'zl_all' comes from inside")],
)
def test_a_length_is_there_and_from_outside(length: str, message: str) -> None:
    network = made()
    output = api.LoopOutput("zl", "CONCATENATE", "zl_twice", "zl_all", 0, length)
    steps = (*structures.loop("zl", network.outputs[-1]), output, api.NetworkOutput("zl_all"))
    with pytest.raises(CheckFailed, match=message):
        api_structure.check(behind(network, *steps))


def test_a_length_is_a_shape_tensor() -> None:
    """The plugin's output's first dimension is one; what the plugin computes is none."""
    network = made()
    x = network.outputs[-1]
    output = api.LoopOutput("zl", "CONCATENATE", "zl_twice", "zl_all", 0, "z_length")
    loop = (*structures.loop("zl", x), output, api.NetworkOutput("zl_all"))
    dimension = (
        api.ShapeLayer(x, "z_shape"),
        api.ConstantLayer("z_first", "int64", (0,)),
        api.Gather("z_shape", "z_first", "z_length"),
    )
    api_structure.check(behind(network, *dimension, *loop))
    with pytest.raises(
        CheckFailed, match=r"'zl_all' is computed from '\S+', of PluginLayer, which is not a shape tensor"
    ):
        api_structure.check(behind(network, api.Cast(x, "z_length", "int64"), *loop))


@pytest.mark.parametrize("loop", ["zl", "zk"])
def test_a_condition_may_come_from_what_is_outside_of_its_loop(loop: str) -> None:
    """An iterator of the loop around it is outside; one of its own is not."""
    network = made()
    around = tuple(step for step in structures.loop("zk", network.outputs[-1]) if not isinstance(step, api.Recur))
    row = api.ConstantLayer("z_row", "int32", (1, 2), (2,))
    inner = tuple(
        step for step in structures.loop("zl", "zk_state") if not isinstance(step, (api.TripLimit, api.ConstantLayer))
    )
    steps = (
        *around,
        row,
        inner[0],
        api.IteratorLayer(loop, row.out, "z_item"),
        api.Elementwise("LESS", "z_item", "zk_trips", "z_going"),
        api.TripLimit("zl", "WHILE", "z_going"),
        *inner[1:],
        api.LoopOutput("zl", "LAST_VALUE", "zl_state", "zl_out"),
        api.Recur("zk_state", "zl_out"),
        *structures.last("zk"),
    )
    if loop == "zk":
        api_structure.check(behind(network, *steps))
        return
    with pytest.raises(CheckFailed, match="the condition of loop 'zl' comes from 'z_item', of IteratorLayer in loop"):
        api_structure.check(behind(network, *steps))


def test_an_iterator_past_the_end_is_told_in_the_run_too() -> None:
    (past,) = [one for name, one in structures.networks(made()) if name == "iterator-past-end"]
    only = replace(past, steps=tuple(step for step in past.steps if getattr(step, "out", "z").startswith("z")))
    only = replace(only, steps=tuple(s for s in only.steps if not isinstance(s, api.NetworkOutput) or s.x == "zl_out"))
    with pytest.raises(CheckFailed, match="goes past the end: slice 2 of 2 on axis 0"):
        api_walker.run(only, lambda *_: [], {})
