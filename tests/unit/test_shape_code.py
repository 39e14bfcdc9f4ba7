"""Output shapes as generated code: C++ and NumPy compute what `pluginkit.shapes` does."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluginkit import shapes
from pluginkit.build.signature import expressions
from pluginkit.errors import UsageError
from pluginkit.manifest import Manifest
from pluginkit.paths import include_dir
from pluginkit.scaffold.shape_code import numpy_dimensions
from tests.compilers import default_cxx

TOML = """
[plugin]
name = "P"
[[inputs]]
name = "x"
types = ["float32"]
shape = ["n", "m"]
[[outputs]]
name = "y"
types = ["float32"]
shape = ["n"]
[[profiles]]
symbols = { n = [1, 8, 16], m = [1, 8, 16] }
[[fields]]
name = "k"
type = "int32"
default = 2
[[fields]]
name = "l"
type = "int32"
default = 3
[[fields]]
name = "pads"
type = "int64"
length = 3
default = [0, 1, 2]
"""
MANIFEST = Manifest.parse(TOML)
FIELDS = ("k", "l")


def output(*dims: shapes.Expr) -> Manifest:
    """The signature with these dimensions."""
    changed = MANIFEST.outputs[0].model_copy(update={"shape": tuple(map(shapes.render, dims))})
    return MANIFEST.model_copy(update={"outputs": (changed,)})


def over(names: tuple[str, ...]) -> st.SearchStrategy[shapes.Expr]:
    elements = st.one_of(
        st.builds(shapes.Element, st.just("pads"), st.integers(0, 2)), st.builds(shapes.Length, st.just("pads"))
    )
    leaves = st.one_of(st.integers(0, 9).map(shapes.Constant), st.sampled_from(names).map(shapes.Symbol), elements)
    operators = st.sampled_from(sorted([*shapes.OPERATIONS, shapes.BROADCAST]))
    return st.recursive(leaves, lambda inner: st.builds(shapes.Operation, operators, inner, inner), max_leaves=6)


conditions = st.one_of(
    over(FIELDS), st.builds(shapes.Relation, st.sampled_from(shapes.COMPARISONS), over(FIELDS), over(FIELDS))
)
dimensions = st.one_of(
    over(("n", "m", *FIELDS)), st.builds(shapes.Choice, conditions, over(("n", "m", *FIELDS)), over(("n", "k")))
)
environments = st.fixed_dictionaries({"n": st.integers(0, 9), "m": st.integers(0, 9), "k": st.integers(-3, 9)})
lists = st.tuples(*[st.integers(-3, 9)] * 3)


@given(dimensions, environments, st.integers(-3, 9), lists)
def test_the_generated_reference_has_the_shape(
    expr: shapes.Expr, sizes: dict[str, int], last: int, pads: tuple[int, ...]
) -> None:
    env: dict[str, int | tuple[int, ...]] = {**sizes, "l": last, "pads": pads}
    try:
        expected = shapes.evaluate(expr, env)
    except UsageError:
        return
    if any(min(bounds) < 0 for bounds in _operands(expr, env)):
        return  # NumPy broadcasts no negative sizes
    manifest = output(expr)
    (text,) = numpy_dimensions.dimensions(manifest, manifest.outputs[0])
    scope = {"x": np.empty((sizes["n"], sizes["m"])), "np": np, "k": sizes["k"], "l": last, "pads": np.array(pads)}
    assert eval(text, scope) == expected


def _operands(expr: shapes.Expr, env: shapes.Values) -> list[tuple[int, int]]:
    return [(_or_below(one.left, env), _or_below(one.right, env)) for one in shapes.broadcasts(expr)]


def _or_below(expr: shapes.Expr, env: shapes.Values) -> int:
    try:
        return shapes.evaluate(expr, env)
    except UsageError:
        return -1  # in the part that isn't chosen


def test_a_dimension_that_there_is_not_is_none_in_numpy() -> None:
    manifest = output(shapes.parse("n"), shapes.parse("1 if k > 2"))
    text = ", ".join(numpy_dimensions.dimensions(manifest, manifest.outputs[0]))
    for k, expected in ((2, (5,)), (3, (5, 1))):
        assert eval(f"({text})", {"x": np.empty((5, 2)), "np": np, "k": k}) == expected


PROGRAM = """
#include <pluginkit/layer/sizes.h>
#include <cstdio>
struct Fields { int32_t k; int32_t l; std::array<int64_t, 3> pads; };
int main()
{
    int64_t const all[][4] = {%s};
    for (auto const& env : all)
    {
        pluginkit::Shape const x{2, {env[0], env[1]}};
        pluginkit::Sizes<1> const s{&x};
        Fields const f{static_cast<int32_t>(env[2]), static_cast<int32_t>(env[3]),
                       {env[2], env[3], std::numeric_limits<int64_t>::max()}};
        pluginkit::Dimension const found[] = {%s};
        for (pluginkit::Dimension const one : found)
        {
            std::printf("%%lld ", one.isNumber() ? static_cast<long long>(one.value()) : -9LL);
        }
    }
}
"""
NUMBERS = (
    *("k", "min(n, k)", "ceil_div(n, k)", "n // k - k // l", "ceil_div(n - 9, k) + k", "(n - 9) // l * l"),
    *("k * k * k * k", "k * 3 * l - m", "max(k, l) * max(n, 3)", "broadcast(n, m) * k", "n if k else m + 1"),
    *(
        "n // k if k > 0 else n",
        "2 * (m if k == l else 1) + k",
        "1 if k < l",
        "n - m if l >= k + 1",
        "(0 - 7) // k + l",
        "n + pads[0] + pads[1]",
        "pads[1] * 2 - m",
        "pads[2] + 1 - l",
        "len(pads) * n - k",
        "n // len(pads) if len(pads) > k else 2",
        "n // pads[0] if pads[1] > 0 else pads[2]",
    ),
)
SIZES = [(8, 8, 2, 3), (1, 5, 3, 3), (9, 9, 0, -2), (0, 1, 2147483647, 1), (4, 1, -2147483648, -1), (7, 7, -3, 2)]


WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Werror", "-fsanitize=undefined", "-fno-sanitize-recover"]


def ran(source: Path, text: str) -> list[int]:
    """The numbers that a program prints."""
    source.write_text(text)
    program = source.with_suffix("")
    subprocess.run([default_cxx(), "-std=c++17", *WARNINGS, f"-I{include_dir()}", source, "-o", program], check=True)
    return [int(one) for one in subprocess.run([program], check=True, capture_output=True, text=True).stdout.split()]


@pytest.mark.compile
def test_numbers_in_cpp_are_those_of_the_manifest(tmp_path: Path) -> None:
    """Where it is not a number, by an overflow or a division by zero, C++ has none either, in any part of it."""
    texts = [
        *(text for text in NUMBERS if " if " not in text or " else " in text),
        "n + (n // k if l else m)",
        "m if broadcast(k, l) else 0",
    ]
    made = [expressions.size(MANIFEST, text) for text in texts]
    envs = ", ".join(f"{{{', '.join(map(str, env))}}}" for env in SIZES)
    printed = ran(tmp_path / "numbers.cpp", PROGRAM % (envs, ", ".join(made)))
    exprs = [shapes.lowered(shapes.parse(text)) for text in texts]
    assert printed == [_bytes(expr, _named(*env)) for env in SIZES for expr in exprs]


def _named(n: int, m: int, k: int, last: int) -> shapes.Values:
    """The numbers as the program has them."""
    return {"n": n, "m": m, "k": k, "l": last, "pads": (k, last, 2**63 - 1)}


def _bytes(expr: shapes.Expr, env: shapes.Values) -> int:
    try:
        return shapes.evaluate(expr, env)
    except UsageError:
        return -9


def test_what_divides_whatever_the_fields_are_is_checked() -> None:
    dims = ("n // k", "ceil_div(n, l - 1)", "n // (m + k)", "n // l if l else 1", "k // 4", "n // pads[1]")
    manifest = output(*map(shapes.parse, dims))
    assert expressions.divisors(manifest) == [
        ("pluginkit::Dimension{f.k}.value()", "k"),
        ("(pluginkit::Dimension{f.l} - pluginkit::Dimension{1}).value()", "l - 1"),
        ("pluginkit::Dimension{f.pads[1]}.value()", "pads[1]"),
    ]


ANY_RANK = """
[plugin]
name = "P"
[[inputs]]
name = "x"
types = ["float32"]
shape = ["n", "...", "c"]
[[inputs]]
name = "b"
types = ["float32"]
shape = ["...", 1, "m", 1]
[[outputs]]
name = "y"
types = ["float32"]
shape = ["c", "...", "m", "n + 1", "1 if k"]
[[profiles]]
symbols = { n = [1, 8, 16], m = [1, 8, 16], c = [1, 8, 16] }
rest = []
[[fields]]
name = "k"
type = "int32"
default = 2
"""


OF_ANY_RANK = """
#include <pluginkit/layer/sizes.h>
#include <cstdio>
struct Fields { int32_t k; };
template <typename S>
void shapes(S& s, Fields const& f)
{
%s
}
int main()
{
    pluginkit::Shape const all[][2] = {
        {{2, {2, 3}}, {3, {1, 7, 1}}}, {{3, {2, 4, 3}}, {4, {4, 1, 7, 1}}}, {{4, {2, 4, 5, 3}}, {5, {4, 5, 1, 7, 1}}},
        {{7, {2, 1, 1, 1, 1, 1, 3}}, {8, {1, 1, 1, 1, 1, 1, 7, 1}}}};
    for (auto const& inputs : all)
    {
        pluginkit::Sizes<1> s{inputs};
        shapes(s, Fields{1});
        std::printf("%%d ", s.output(0).rank);
        for (int32_t i = 0; i < s.output(0).rank; ++i)
        {
            std::printf("%%d ", static_cast<int>(s.output(0).dims[i]));
        }
    }
}
"""


@pytest.mark.compile
def test_the_dimensions_of_any_rank_are_counted_from_both_ends(tmp_path: Path) -> None:
    """Where there would be more than eight, there is no shape."""
    manifest = Manifest.parse(ANY_RANK)
    assert [expressions.rank(manifest, one) for one in manifest.inputs] == ["{2, true}", "{3, true}"]
    assert expressions.fitting(manifest) == [
        "s.at(1, -3).value() == 1", "s.at(1, -1).value() == 1", "s.sameRest(0, 1, 1, 1, 0)"
    ]  # fmt: skip
    text = ", ".join(numpy_dimensions.dimensions(manifest, manifest.outputs[0]))
    expected: list[int] = []
    for rest in ((), (4,), (4, 5)):
        scope = {"x": np.empty((2, *rest, 3)), "b": np.empty((*rest, 1, 7, 1)), "k": 1}
        shape = eval(f"({text})", scope)
        assert shape == (3, *rest, 7, 3, 1)
        expected += [len(shape), *shape]
    made = "\n".join(expressions.outputs(manifest))
    assert ran(tmp_path / "ranks.cpp", OF_ANY_RANK % made) == [*expected, -1]
