"""The expression builder against Python's whole numbers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluginkit import _native
from pluginkit.host import Finding, HostBug, ShapeProgram
from pluginkit.host.expressions import OPERATIONS

MEANING: dict[str, Callable[[int, int], int]] = {
    "kSUM": lambda a, b: a + b,
    "kPROD": lambda a, b: a * b,
    "kMAX": max,
    "kMIN": min,
    "kSUB": lambda a, b: a - b,
    "kEQUAL": lambda a, b: int(a == b),
    "kLESS": lambda a, b: int(a < b),
    "kFLOOR_DIV": lambda a, b: a // b,
    "kCEIL_DIV": lambda a, b: -(-a // b),
}
NB_SYMBOLS = 3
int64 = st.integers(-(2**63), 2**63 - 1)
steps = st.lists(
    st.one_of(st.integers(-5, 9), st.tuples(st.integers(0, 8), st.integers(0, 40), st.integers(0, 40))), max_size=12
)


def truth(op: int, a: int | None, b: int | None) -> int | None:
    if a is None or b is None or (op >= 7 and b == 0):
        return None
    result = MEANING[OPERATIONS[op]](a, b)
    return result if -(2**63) <= result < 2**63 else None


def grow(plan: list[int | tuple[int, int, int]], symbols: list[int]) -> tuple[_native.ExprBuilder, list[int | None]]:
    """Builds the plan's expressions with the builder, and their values in Python."""
    builder, values = _native.ExprBuilder(), list[int | None](symbols)
    for _ in symbols:
        builder.symbol()
    for step in plan:
        if isinstance(step, int):
            builder.constant(step)
            values.append(step)
        else:
            op, left, right = step[0], step[1] % len(values), step[2] % len(values)
            builder.operation(op, left, right)
            values.append(truth(op, values[left], values[right]))
    return builder, values


@given(st.integers(0, 8), int64, int64)
def test_one_operation(op: int, a: int, b: int) -> None:
    expected = truth(op, a, b)
    folded = _native.ExprBuilder()
    result = folded.operation(op, folded.constant(a), folded.constant(b))
    assert _native.evaluate(folded.nodes, [])[result] == expected
    assert bool(folded.faults) == (expected is None)
    assert folded.is_constant(result) == (expected is not None)
    later = _native.ExprBuilder()
    result = later.operation(op, later.symbol(), later.symbol())
    assert _native.evaluate(later.nodes, [a, b])[result] == expected
    assert not later.faults


@given(st.lists(st.integers(0, 50), min_size=NB_SYMBOLS, max_size=NB_SYMBOLS), steps)
def test_trees(symbols: list[int], plan: list[int | tuple[int, int, int]]) -> None:
    builder, values = grow(plan, symbols)
    assert _native.evaluate(builder.nodes, symbols) == values


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9), st.integers(0, 9)), min_size=3, max_size=3), steps)
def test_bounds_hold_every_value(ranges: list[tuple[int, int, int]], plan: list[int | tuple[int, int, int]]) -> None:
    symbols = [low + min(inside, width) for low, width, inside in ranges]
    builder, values = grow(plan, symbols)
    intervals = [(low, low + width) for low, width, _ in ranges]
    for value, bound in zip(values, _native.bounds(builder.nodes, intervals), strict=True):
        assert bound is None or value is None or bound[0] <= value <= bound[1]


@given(st.lists(st.integers(1, 50), min_size=3, max_size=3), steps)
def test_bounds_of_one_point_are_its_value(symbols: list[int], plan: list[int | tuple[int, int, int]]) -> None:
    builder, values = grow(plan, symbols)
    expected = [None if v is None else (v, v) for v in values]
    assert _native.bounds(builder.nodes, [(s, s) for s in symbols]) == expected


def test_faults_are_recorded() -> None:
    builder = _native.ExprBuilder()
    symbol, zero = builder.symbol(), builder.constant(0)
    assert builder.constant_value(zero) == 0
    assert builder.faults == []
    assert builder.constant_value(symbol) == -(2**63)
    assert builder.faults == []
    assert "not constant" in builder.warnings[-1]
    for op in (7, 8):
        builder.operation(op, symbol, zero)
        assert "divide by the constant 0" in builder.faults[-1]
    assert builder.operation(9, symbol, zero) is None
    assert len(builder.faults) == 2


@pytest.mark.parametrize("node", [(0, 1, 0, 0, 0), (2, 0, 0, 0, 0), (2, 0, -1, 0, 0), (4, 0, 0, 0, 0)])
def test_nodes_that_are_none(node: _native.Node) -> None:
    with pytest.raises(ValueError, match="node 0 is not a node"):
        _native.evaluate([node], [3])


def test_a_shape_program() -> None:
    program = ShapeProgram(((0, 0, 0, 0, 0), (1, 0, 0, 0, 3), (2, 4, 0, 1, 0)), (2, 1))
    assert program.dims == (-1, 3)
    assert program.at([(-1, 2)], [(5, 2)]) == (2, 3)
    assert program.bounds([(-1, 2)], [(4, 2)], [(9, 2)]) == [(1, 6), (3, 3)]
    assert program.range([(-1, 2)], [(2, 2)], [(5, 2)], [(9, 2)]) == ((-1, 3), (2, 3), (6, 3)), "min is a bound only"
    falling = ShapeProgram(((0, 0, 0, 0, 0), (1, 0, 0, 0, 9), (2, 4, 1, 0, 0), (2, 7, 1, 2, 0)), (2, 3))
    assert falling.range([(-1,)], [(1,)], [(6,)], [(9,)]) == ((0, 3), (3, 3), (8, 3)), "9 // 0 has no bound"
    huge = ShapeProgram(((0, 0, 0, 0, 0), (2, 1, 0, 0, 0)), (1, 1))
    with pytest.raises(Finding, match="has 10000000000000000 elements"):
        huge.at([(-1,)], [(10**4,)])
    with pytest.raises(Finding, match=r"d\[0\] = kSUB\(s0, 3\) is -1 for inputs of the shapes \[\(2, 2\)\]"):
        program.at([(-1, 2)], [(2, 2)])
    for wrong in [(5,)], [(5, 3)], []:
        with pytest.raises(HostBug):
            program.at([(-1, 2)], wrong)
