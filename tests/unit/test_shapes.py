from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluginkit import shapes
from pluginkit.errors import UsageError

leaves = st.one_of(
    st.integers(-5, 1000).map(shapes.Constant), st.sampled_from(["n", "m", "c2", "_h"]).map(shapes.Symbol)
)
expressions = st.recursive(
    leaves,
    lambda inner: st.builds(shapes.Operation, st.sampled_from(sorted(shapes.OPERATIONS)), inner, inner),
    max_leaves=12,
)
ENV = {"n": 2, "m": 7, "c2": 3, "_h": 1}


@given(expressions)
def test_rendering_and_parsing_keep_the_value(expr: shapes.Expr) -> None:
    again = shapes.parse(shapes.render(expr))
    assert set(shapes.symbols(again)) == set(shapes.symbols(expr))
    try:
        value = shapes.evaluate(expr, ENV)
    except UsageError:
        with pytest.raises(UsageError):
            shapes.evaluate(again, ENV)
    else:
        assert shapes.evaluate(again, ENV) == value


@given(expressions)
def test_evaluation_agrees_with_python(expr: shapes.Expr) -> None:
    scope = {**ENV, "ceil_div": lambda a, b: -(-a // b), "min": min, "max": max}
    try:
        expected = eval(shapes.render(expr), scope)
    except ZeroDivisionError:
        with pytest.raises(UsageError, match="divides by zero"):
            shapes.evaluate(expr, ENV)
    else:
        assert shapes.evaluate(expr, ENV) == expected


@given(expressions, st.data())
def test_bounds_hold_every_value(expr: shapes.Expr, data: st.DataObject) -> None:
    ends = {name: sorted(data.draw(st.tuples(st.integers(0, 20), st.integers(0, 20)))) for name in ENV}
    within = shapes.bounds(expr, {name: (low, high) for name, (low, high) in ends.items()})
    try:
        value = shapes.evaluate(expr, {name: data.draw(st.integers(*between)) for name, between in ends.items()})
    except UsageError:
        assert within is None
    else:
        assert within is None or within[0] <= value <= within[1]


def test_bounds_are_no_ends() -> None:
    assert shapes.bounds(shapes.parse("9 - n"), {"n": (1, 4)}) == (5, 8)
    assert shapes.bounds(shapes.parse("n - m"), {"n": (1, 4), "m": (1, 4)}) == (-3, 3)
    assert shapes.bounds(shapes.parse("8 // (n - 2)"), {"n": (1, 4)}) is None


@given(st.text(max_size=30))
def test_any_text_is_an_expression_or_a_usage_error(text: str) -> None:
    try:
        expr = shapes.parse(text)
    except UsageError as error:
        assert "dimension" in error.message
    else:
        shapes.render(expr)


@pytest.mark.parametrize(
    "text",
    ["", "n +", "n / 2", "n ** 2", "n.m", "f(n, 2)", "1.5", "True", "'n'", "n < m", "min(n, m, 2)", "min(n)", "[n]"],
)
def test_what_no_expression_builder_can_do_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        shapes.parse(text)


def test_precedence_and_functions() -> None:
    assert shapes.evaluate(shapes.parse("n + m * 2 - ceil_div(m, n) + max(n, m) // 3"), ENV) == 2 + 14 - 4 + 2


def test_an_unknown_symbol_is_named() -> None:
    with pytest.raises(UsageError, match="'k' has no value"):
        shapes.evaluate(shapes.parse("n + k"), ENV)
