"""Shapes of plugins that answer numbers: what `adopt` makes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluginkit import shapes
from pluginkit.adoption import static_shapes
from pluginkit.adoption.expressions import of_numbers
from pluginkit.host.bases.static_plugin import StaticPlugin

N, C, H, W = "d0_0", "d0_1", "d0_2", "d0_3"
Shape = tuple[int, ...]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (lambda s, k, m: (s[0], s[1] * k * k, s[2] // k, s[3] // k), (N, f"{C} * (k * k)", f"{H} // k", f"{W} // k")),
        (lambda s, k, m: (s[0], s[1], s[2] + k + m, s[3] - k), (N, C, f"{H} + (k + m)", f"{W} - k")),
        (lambda s, k, m: (s[0], k, m, k * m), (N, "k", "m", "k * m")),
        (lambda s, k, m: (s[0], s[1] // 2, 4), (N, f"{C} // 2", "4")),
        (lambda s, k, m: (s[0], s[2] * s[2] % 97 + k), None),
    ],
)
def test_numbers_of_fields_and_sizes(
    answer: Callable[[Shape, int, int], Shape], expected: tuple[str, ...] | None
) -> None:
    turns = [dict(zip("km", turn, strict=False)) for turn in static_shapes.FIELD_TURNS]
    asked = [[tuple(static_shapes.WHOLE * size for size in static_shapes.TURNS[at % 3][:4])] for at in range(4)]
    answered = [[answer(one[0], values["k"], values["m"])] for one, values in zip(asked, turns, strict=True)]
    found = static_shapes.of_answers(asked, turns, answered)
    assert (found.dims[0] if found else None) == expected


def test_a_product_of_sizes_and_a_number() -> None:
    """As a layer of boxes answers: some for each place."""
    asked: Sequence[Sequence[Shape]] = [[turn[:4]] for turn in static_shapes.TURNS]
    assert of_numbers(asked, [(2, one[0][2] * one[0][3] * 16, 1) for one in asked]) == ("2", f"({H} * {W}) * 16", "1")


@pytest.mark.parametrize(("base", "batches"), [("v2ext", {3}), ("ioext", {3, 63})])
def test_a_batch_that_the_plugin_does_not_see_is_one_for_all_inputs(base: str, batches: set[int]) -> None:
    plugin = cast("StaticPlugin[Any]", SimpleNamespace(BASE=base))
    first, *_ = static_shapes.sizes(plugin, (2, 3), "apart", ())
    assert {one[0] for one in first} == batches
    assert [one[1:] for one in first] == [(17,), (77, 73)]


def test_sizes_whose_product_no_shape_has() -> None:
    """Many inputs of many dimensions: a product of all of them has more than 64 bits."""
    asked: Sequence[Sequence[Shape]] = [[turn] * 8 for turn in static_shapes.TURNS]
    assert of_numbers(asked, [(one[0][0], 7) for one in asked]) == (N, "7")


@given(st.integers(1, 9), st.integers(1, 9), st.sampled_from(["+", "-", "*", "//"]))
def test_what_is_found_fits(first: int, second: int, op: str) -> None:
    asked: Sequence[Sequence[Shape]] = [[(60 * a, 60 * b)] for a, b in ((3, 17), (5, 19), (2, 37))]
    whole = shapes.Operation(op, shapes.Symbol("d0_1"), shapes.Constant(first * second))
    answers = [(shapes.evaluate(whole, {"d0_1": one[0][1]}),) for one in asked]
    (found,) = of_numbers(asked, answers)
    for one, (answer,) in zip(asked, answers, strict=True):
        assert not found or shapes.evaluate(shapes.parse(found), {"d0_0": one[0][0], "d0_1": one[0][1]}) == answer
