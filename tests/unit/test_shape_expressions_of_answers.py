"""Shape expressions read from what a plugin answers: any expression, told by its tree or by numbers, is found again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pluginkit import shapes
from pluginkit.adoption import naming
from pluginkit.adoption.expressions import OPERATIONS, of_numbers, of_trees, simplified
from pluginkit.errors import UsageError
from pluginkit.host.expressions import ShapeProgram

NAMES = ("d0_0", "d0_1", "d1_0")
RANKS = (2, 1)

leaves = st.builds(shapes.Symbol, st.sampled_from(NAMES)) | st.builds(shapes.Constant, st.integers(0, 9))
trees = st.recursive(
    leaves, lambda inner: st.builds(shapes.Operation, st.sampled_from([*shapes.OPERATIONS]), inner, inner), max_leaves=6
)


def program(expr: shapes.Expr) -> ShapeProgram:
    """As the host records what a plugin builds of it."""
    nodes: list[tuple[int, int, int, int, int]] = [(0, number, 0, 0, 0) for number in range(len(NAMES))]

    def add(one: shapes.Expr) -> int:
        if isinstance(one, shapes.Symbol):
            return NAMES.index(one.name)
        if isinstance(one, shapes.Constant):
            nodes.append((1, 0, 0, 0, one.value))
        else:
            left, right = add(one.left), add(one.right)
            nodes.append((2, OPERATIONS.index(shapes.OPERATIONS[one.op]), left, right, 0))
        return len(nodes) - 1

    root = add(expr)
    return ShapeProgram(tuple(nodes), (root,))


def value(expr: shapes.Expr, env: dict[str, int]) -> int | None:
    try:
        return shapes.evaluate(expr, env)
    except UsageError:
        return None


@given(trees, st.lists(st.integers(1, 50), min_size=3, max_size=3))
def test_a_tree_becomes_the_expression_with_its_values(expr: shapes.Expr, sizes: list[int]) -> None:
    env = dict(zip(NAMES, sizes, strict=True))
    ((written,),) = of_trees([program(expr)], RANKS).dims
    assert value(shapes.parse(written), env) == value(expr, env)


@given(trees, st.lists(st.integers(1, 50), min_size=3, max_size=3))
def test_what_is_simplified_has_the_same_value(expr: shapes.Expr, sizes: list[int]) -> None:
    env = dict(zip(NAMES, sizes, strict=True))
    before = value(expr, env)
    if before is not None:
        assert value(simplified(expr), env) == before


def test_what_only_the_plugin_can_compute_has_no_expression() -> None:
    compared = ShapeProgram(((0, 0, 0, 0, 0), (1, 0, 0, 0, 4), (2, OPERATIONS.index("kEQUAL"), 0, 1, 0)), (2, 0))
    assert of_trees([compared], (1,)).dims == (("", "d0_0"),)
    size_tensor = ShapeProgram(((0, 5, 0, 0, 0),), (0,))
    assert of_trees([size_tensor], (1,)).dims == (("",),)


def test_numbers_are_told_from_dimensions() -> None:
    asked = [[(3, 17), (13,)], [(5, 19), (23,)], [(2, 37), (41,)]]
    for written in ("7", "d0_0", "d0_1 + 2", "d0_1 - 1", "d1_0 * 4", "d0_1 // 2", "ceil_div(d0_1, 8)", "d0_0 + d1_0"):
        expr = shapes.parse(written)
        answers = [[shapes.evaluate(expr, dict(zip(NAMES, (*one, *other), strict=True)))] for one, other in asked]
        (found,) = of_numbers(asked, answers)
        assert shapes.parse(found) == expr
    assert of_numbers(asked, [[1], [100], [9]]) == ("",)
    assert of_numbers(asked, [[1], [1, 2], [1]]) == ()


def test_dimensions_of_inputs_share_a_name_until_an_expression_has_both() -> None:
    names = naming.name((3, 3, 1), (("d0_0", "d0_1 + d1_1", "d1_2"),))
    assert [names[f"d0_{at}"] for at in range(3)] == ["n", "c", "l"]
    assert [names[f"d1_{at}"] for at in range(3)] == ["n", "c2", "l"]
    assert names["d2_0"] == "n3"
    assert naming.renamed("d0_1 + d1_1", names) == "c + c2"
