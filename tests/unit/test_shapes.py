from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluginkit import shapes
from pluginkit.errors import UsageError

symbols = st.sampled_from(["n", "m", "c2", "_h"]).map(shapes.Symbol)
numbers = st.integers(-5, 1000).map(shapes.Constant)
elements = st.one_of(
    st.builds(shapes.Element, st.just("pads"), st.integers(0, 3)), st.builds(shapes.Length, st.just("pads"))
)
operators = st.sampled_from(sorted([*shapes.OPERATIONS, shapes.BROADCAST]))


def operations(leaves: st.SearchStrategy[shapes.Expr]) -> st.SearchStrategy[shapes.Expr]:
    return st.recursive(leaves, lambda inner: st.builds(shapes.Operation, operators, inner, inner), max_leaves=12)


folded = operations(st.one_of(numbers, symbols))
expressions = operations(st.one_of(numbers, symbols, elements))
relations = st.builds(shapes.Relation, st.sampled_from(shapes.COMPARISONS), expressions, expressions)
choices = st.recursive(
    expressions,
    lambda inner: st.one_of(
        st.builds(shapes.Choice, st.one_of(relations, expressions), inner, inner),
        st.builds(shapes.Operation, operators, inner, inner),
    ),
    max_leaves=6,
)
dimensions = st.one_of(choices, st.builds(shapes.Choice, st.one_of(relations, expressions), choices, st.none()))
SIZES = {"n": 2, "m": 7, "c2": 3, "_h": 1}
ENV: dict[str, int | tuple[int, ...]] = {**SIZES, "pads": (0, 5, -2)}
"""`pads` has no fourth element."""


def value_of(expr: shapes.Expr, env: shapes.Values) -> int | str | None:
    """The value, the kind of error, or None where there is no such dimension."""
    try:
        return shapes.evaluate(expr, env)
    except UsageError as error:
        if error.message.startswith("There is no dimension"):
            return None
        return next(
            kind
            for kind in ("divides by zero", "overflows", "can't be broadcast", "no value", "There is no 'pads[3]'")
            if kind in error.message
        )


@given(dimensions)
def test_rendering_and_parsing_keep_the_value(expr: shapes.Expr) -> None:
    again = shapes.parse(shapes.render(expr))
    assert set(shapes.symbols(again)) == set(shapes.symbols(expr))
    assert value_of(again, ENV) == value_of(expr, ENV)


@given(dimensions)
def test_evaluation_agrees_with_python(expr: shapes.Expr) -> None:
    if any(shapes.broadcasts(expr)):
        return  # NumPy's takes no negative sizes; the next test has those
    text = shapes.render(expr)
    text += " else None" if isinstance(expr, shapes.Choice) and expr.otherwise is None else ""
    scope = {**ENV, "ceil_div": lambda a, b: -(-a // b), "min": min, "max": max}
    found = value_of(expr, ENV)
    if found == "overflows":
        return
    try:
        assert found == eval(text, scope)
    except ZeroDivisionError:
        assert found == "divides by zero"
    except IndexError:
        assert found == "There is no 'pads[3]'"


@given(st.integers(0, 6), st.integers(0, 6))
def test_sizes_are_broadcast_as_by_numpy_and_by_other_operations(a: int, b: int) -> None:
    expr, env = shapes.parse("broadcast(a, b)"), {"a": a, "b": b}
    try:
        (expected,) = np.broadcast_shapes((a,), (b,))
    except ValueError:
        assert value_of(expr, env) == "can't be broadcast"
    else:
        assert shapes.evaluate(expr, env) == expected
        assert shapes.evaluate(shapes.lowered(expr), env) == expected


@given(dimensions, st.sets(st.sampled_from(sorted(ENV))))
def test_folding_first_changes_no_value(expr: shapes.Expr, known: set[str]) -> None:
    """With fields as numbers an output's dimension is what it is with fields as names."""
    expected = value_of(expr, ENV)
    try:
        folded = shapes.fold(expr, {name: ENV[name] for name in known})
    except UsageError:
        assert isinstance(expected, str)
        return
    if folded is None:
        assert expected is None
        return
    # An element that there isn't may stand in a side that isn't chosen.
    missing = {one.name for one in shapes.elements(folded) if one.index == 3}
    assert known.isdisjoint(set(shapes.symbols(folded)) - missing)
    if not isinstance(expected, str):
        assert value_of(folded, ENV) == expected


@given(folded, st.data())
def test_bounds_hold_every_value(expr: shapes.Expr, data: st.DataObject) -> None:
    ends = {name: sorted(data.draw(st.tuples(st.integers(0, 20), st.integers(0, 20)))) for name in SIZES}
    within = shapes.bounds(expr, {name: (low, high) for name, (low, high) in ends.items()})
    try:
        value = shapes.evaluate(expr, {name: data.draw(st.integers(*between)) for name, between in ends.items()})
    except UsageError as error:
        assert within is None or "overflows" in error.message or "broadcast" in error.message
    else:
        assert within is None or within[0] <= value <= within[1]


def test_a_negative_size_can_not_be_broadcast() -> None:
    with pytest.raises(UsageError, match="one is negative"):
        shapes.evaluate(shapes.parse("broadcast(n - 3, n - 3)"), {"n": 2})


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
    [
        "",
        "n +",
        "n / 2",
        "n ** 2",
        "n.m",
        "f(n, 2)",
        "1.5",
        "True",
        "'n'",
        "n < m",
        "(1 if n) + 2",
        "1 if n < m < 3",
        "1 if n else (2, 3)",
        "min(n, m, 2)",
        "min(n)",
        "[n]",
        "pads[-1]",
        "pads[n]",
        "pads[0:2]",
        "pads[True]",
        "pads[0][1]",
        "pads[0, 1]",
    ],
)
def test_what_no_expression_builder_can_do_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        shapes.parse(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("h if keepdims else 1", 5),
        ("1 if keepdims", 1),
        ("1 if not keepdims", None),
        ("2 if k > 3 else h", 5),
        ("ceil_div(h, k) if k != 0", 2),
        ("h * (2 if keepdims == 1 else 1) + 1", 11),
    ],
)
def test_fields_choose(text: str, expected: int | None) -> None:
    assert value_of(shapes.parse(text), {"h": 5, "keepdims": 1, "k": 3}) == expected


def test_a_number_beyond_64_bits_is_no_dimension() -> None:
    assert shapes.evaluate(shapes.parse("k * k * 2"), {"k": 2**31 - 1}) == 2 * (2**31 - 1) ** 2
    with pytest.raises(UsageError, match=r"'k \* k \* 3' overflows 64 bits|'\(k \* k\) \* 3' overflows 64 bits"):
        shapes.evaluate(shapes.parse("k * k * 3"), {"k": 2**31 - 1})


def test_precedence_and_functions() -> None:
    assert shapes.evaluate(shapes.parse("n + m * 2 - ceil_div(m, n) + max(n, m) // 3"), ENV) == 2 + 14 - 4 + 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("h + pads[0] + pads[2]", 5 + 1 + 3),
        ("ceil_div(h, pads[2]) if pads[1] else 1", 2),
        ("1 if pads[1] > 2", None),
        ("broadcast(h, pads[0])", 5),
    ],
)
def test_elements_of_a_list_field(text: str, expected: int | None) -> None:
    assert value_of(shapes.parse(text), {"h": 5, "pads": (1, 2, 3)}) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pads[3]", r"There is no 'pads\[3\]': 'pads' has 3 elements"),
        ("pads + 1", "'pads' is a list"),
        ("h[0]", r"'h\[0\]' is an element, and 'h' is not a list"),
        ("axes[0]", "'axes' has no value"),
        ("h // pads[0]", r"'h // pads\[0\]' divides by zero at h = 5, pads = \[0, 2, 3\]"),
    ],
)
def test_a_list_is_no_number_and_ends_somewhere(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        shapes.evaluate(shapes.parse(text), {"h": 5, "pads": (0, 2, 3)})


def test_an_unknown_symbol_is_named() -> None:
    with pytest.raises(UsageError, match="'k' has no value"):
        shapes.evaluate(shapes.parse("n + k"), ENV)
