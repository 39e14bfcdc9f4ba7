"""Output shapes as generated code: C++ and NumPy compute what `pluginkit.shapes` does."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluginkit import shapes
from pluginkit.errors import UsageError
from pluginkit.manifest import Manifest
from pluginkit.paths import include_dir
from pluginkit.scaffold.shape_code import cpp_dimensions, cpp_workspace, numpy_dimensions
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
#include <pluginkit/dimension.h>
#include <array>
#include <cstdio>
struct Parameters { int32_t k; int32_t l; std::array<int64_t, 3> pads; };
constexpr int64_t kNoDimension = std::numeric_limits<int64_t>::min();
int main()
{
    int64_t const sizes[][4] = {%s};
    for (auto const& env : sizes)
    {
        auto const at = [&env](int32_t, int32_t dim) { return env[dim]; };
        Parameters const mParameters{static_cast<int32_t>(env[2]), static_cast<int32_t>(env[3]),
            {env[2], env[3], std::numeric_limits<int64_t>::max()}};
        int64_t const found[] = {%s};
        for (int64_t const one : found)
        {
            std::printf("%%lld ", static_cast<long long>(one));
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


@pytest.mark.compile
def test_numbers_in_cpp_are_those_of_the_manifest(tmp_path: Path) -> None:
    """With overflows and divisions by zero, which are no dimension (-1)."""
    exprs = [shapes.parse(text) for text in NUMBERS]
    manifest = output(*exprs)
    made = cpp_dimensions.numbers(manifest, manifest.outputs[0])
    source = tmp_path / "numbers.cpp"
    source.write_text(PROGRAM % (", ".join(f"{{{', '.join(map(str, env))}}}" for env in SIZES), ", ".join(made)))
    program = tmp_path / "numbers"
    warnings = ["-Wall", "-Wextra", "-Wconversion", "-Werror", "-fsanitize=undefined", "-fno-sanitize-recover"]
    subprocess.run([default_cxx(), "-std=c++17", *warnings, f"-I{include_dir()}", source, "-o", program], check=True)
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split()
    expected = [_number(expr, _named(*env)) for env in SIZES for expr in exprs]
    assert [int(one) for one in printed] == expected


def _named(n: int, m: int, k: int, last: int) -> shapes.Values:
    """The numbers as the program has them."""
    return {"n": n, "m": m, "k": k, "l": last, "pads": (k, last, 2**63 - 1)}


def _number(expr: shapes.Expr, env: shapes.Values) -> int:
    try:
        return shapes.evaluate(shapes.lowered(expr), env)
    except UsageError as error:
        return -(2**63) if "There is no dimension" in error.message else -1


WORKSPACE = """
#include <pluginkit/dimension.h>
#include <array>
#include <cstdio>
struct Parameters { int32_t k; int32_t l; std::array<int64_t, 3> pads; };
int main()
{
    int64_t const all[][4] = {%s};
    for (auto const& env : all)
    {
        auto const at = [&env](int32_t, int32_t dim) { return env[dim]; };
        Parameters const parameters{static_cast<int32_t>(env[2]), static_cast<int32_t>(env[3]),
                                    {env[2], env[3], std::numeric_limits<int64_t>::max()}};
        pluginkit::Dimension const found[] = {%s};
        for (pluginkit::Dimension const one : found)
        {
            std::printf("%%lld ", one.isNumber() ? static_cast<long long>(one.value()) : -9LL);
        }
    }
}
"""


@pytest.mark.compile
def test_the_workspace_in_cpp_is_the_manifests(tmp_path: Path) -> None:
    """Where it is no number, C++ has none either, whatever part of it that is."""
    texts = [
        *(text for text in NUMBERS if " if " not in text or " else " in text),
        "n + (n // k if l else m)",
        "m if broadcast(k, l) else 0",
    ]
    exprs = [shapes.lowered(shapes.parse(text)) for text in texts]
    plugins = [MANIFEST.plugin.model_copy(update={"workspace": text}) for text in texts]
    made = [
        cpp_workspace.snippets(MANIFEST.model_copy(update={"plugin": one}))["workspace"]["bytes"] for one in plugins
    ]
    source, program = tmp_path / "workspace.cpp", tmp_path / "workspace"
    source.write_text(WORKSPACE % (", ".join(f"{{{', '.join(map(str, env))}}}" for env in SIZES), ", ".join(made)))
    flags = ["-Wall", "-Wextra", "-Wconversion", "-Werror", "-fsanitize=undefined", "-fno-sanitize-recover"]
    subprocess.run([default_cxx(), "-std=c++17", *flags, f"-I{include_dir()}", source, "-o", program], check=True)
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split()
    expected = [_bytes(expr, _named(*env)) for env in SIZES for expr in exprs]
    assert [int(one) for one in printed] == expected


def _bytes(expr: shapes.Expr, env: shapes.Values) -> int:
    try:
        return shapes.evaluate(expr, env)
    except UsageError:
        return -9


def test_what_divides_whatever_the_fields_are_is_checked() -> None:
    dims = ("n // k", "ceil_div(n, l - 1)", "n // (m + k)", "n // l if l else 1", "k // 4", "n // pads[1]")
    manifest = output(*map(shapes.parse, dims))
    assert cpp_dimensions.checks(manifest) == [
        "parameters.k == 0",
        "(pluginkit::Dimension{parameters.l} - pluginkit::Dimension{1}).value() == 0",
        "parameters.pads[1] == 0",
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


def test_the_dimensions_of_any_rank_are_counted_from_both_ends() -> None:
    manifest = Manifest.parse(ANY_RANK)
    assert cpp_dimensions.rank_checks(manifest) == [
        # The output has two more than x: with all eight dimensions of x it would have ten.
        "inputs[0].nbDims < 2 || inputs[0].nbDims > 6",
        "inputs[1].nbDims != inputs[0].nbDims + 1",
    ]
    assert cpp_dimensions.statements(manifest, manifest.outputs[0]) == [
        "output.nbDims = 0;",
        "output.d[output.nbDims++] = inputs[0].d[inputs[0].nbDims - 1];",
        "for (int32_t i = 1; i < inputs[0].nbDims - 1; ++i)",
        "{",
        "    output.d[output.nbDims++] = inputs[0].d[i];",
        "}",
        "output.d[output.nbDims++] = inputs[1].d[inputs[1].nbDims - 2];",
        "output.d[output.nbDims++] = apply(DimensionOperation::kSUM, inputs[0].d[0], exprBuilder.constant(1));",
        "if (mParameters.k != 0)",
        "{",
        "    output.d[output.nbDims++] = exprBuilder.constant(1);",
        "}",
    ]
    text = ", ".join(numpy_dimensions.dimensions(manifest, manifest.outputs[0]))
    for rest in ((), (4,), (4, 5)):
        scope = {"x": np.empty((2, *rest, 3)), "b": np.empty((*rest, 1, 7, 1)), "k": 1}
        assert eval(f"({text})", scope) == (3, *rest, 7, 3, 1)
