"""Points at the edges: all element counts modulo 16, and empty tensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from pluginkit.errors import CheckFailed, UsageError
from pluginkit.manifest import Manifest
from pluginkit.network.networks import Array, Case, Tolerance
from pluginkit.testing.comparison import compare
from pluginkit.testing.edges import counts, is_edge, special_values
from pluginkit.testing.plan import plan
from pluginkit.testing.points import points
from pluginkit.testing.reference import Reference

DEFINED = ("special-nan", "special-infinity")

SIGNATURE = """
plugin = {{ name = "Probe" }}
inputs = [{{ name = "x", types = ["float32"], shape = ["n", "c", "w"] }}]
outputs = [{{ name = "y", types = ["float32"], shape = ["n", "{output}"] }}]
profiles = [{{ symbols = {{ n = {n}, c = {c}, w = {w} }} }}]
"""


def made(
    seed: int = 0, output: str = "c", n: str = "[1, 2, 4]", c: str = "[1, 8, 64]", w: str = "[1, 4, 9]"
) -> Manifest:
    return Manifest.parse(SIGNATURE.format(output=output, n=n, c=c, w=w))


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("output", ["c", "c + 3", "2 * c - 1", "w"])
def test_all_counts_modulo_16_whatever_the_seed(seed: int, output: str) -> None:
    manifest = made(output=output)
    tried = points(manifest, seed)
    more = counts.points(manifest, tried, seed)
    every = [dict(zip("ncw", sizes, strict=True)) for sizes in product(range(1, 5), range(1, 65), range(1, 10))]
    for tensor in (*manifest.inputs, *manifest.outputs):
        found = {math.prod(tensor.dims(point.symbols)) % 16 for point in (*tried, *more)}
        assert found == {math.prod(tensor.dims(env)) % 16 for env in every}
    assert len(more) <= 24
    assert len({point.name for point in more}) == len(more)
    for point in more:
        assert is_edge(point.name)
        assert point.feeds["x"].shape == manifest.inputs[0].dims(point.symbols)
        assert 1 <= point.symbols["n"] <= 4
        assert 1 <= point.symbols["c"] <= 64
        assert point.feeds["x"].size < 2000


def test_only_what_the_profiles_allow() -> None:
    # Multiples of 8 alone, and one shape alone: two residues, and one.
    manifest = made(output="c", n="[1, 1, 3]", c="[8, 8, 8]", w="[1, 1, 1]")
    assert {
        p.feeds["x"].size % 16 for p in (*points(manifest, 0), *counts.points(manifest, points(manifest, 0), 0))
    } == {0, 8}
    fixed = made(output="c", n="[2, 2, 2]", c="[8, 8, 8]", w="[3, 3, 3]")
    assert counts.points(fixed, points(fixed, 0), 0) == []


def test_each_symbol_that_may_be_0_is_so_alone() -> None:
    manifest = made(n="[0, 2, 4]", c="[0, 8, 64]")
    empty = {p.name: p.symbols for p in counts.points(manifest, points(manifest, 0), 0) if p.name.startswith("empty")}
    assert empty == {"empty-n": {"n": 0, "c": 8, "w": 4}, "empty-c": {"n": 2, "c": 0, "w": 4}}
    one = made(n="[0, 2, 4]")
    assert not [p for p in counts.points(one, points(one, 0), 0) if p.name.startswith("empty")], "the min is that"


FEEDS = {"x": np.arange(1.0, 65.0, dtype=np.float32).reshape(8, 8)}
CLOSE = Tolerance("close", rtol=1e-5, atol=1e-5)


def special(function: Callable[[Array], Array]) -> special_values.Special | None:
    return special_values.make(FEEDS, {"x": 1e-40}, 0, lambda feeds: {"y": function(feeds["x"].astype(float))}, CLOSE)


def test_what_depends_on_special_values_means_nothing() -> None:
    each = special(np.negative)
    assert each is not None
    not_finite = ~np.isfinite(each.feeds["x"])
    assert not_finite.sum() == 3
    assert ((each.feeds["x"] != 0) & (np.abs(each.feeds["x"]) < 1e-30)).sum() == 2
    assert (each.arbitrary["y"] == not_finite).all(), "a denormal is as good as 0"
    assert np.isfinite(each.expected["y"]).all()
    rows = special(lambda x: x.max(axis=1))
    assert rows is not None
    assert (rows.arbitrary["y"] == not_finite.any(axis=1)).all(), "a large value elsewhere hides none of them"
    whole = special(lambda x: np.full(3, x.sum()))
    assert whole is not None
    assert whole.arbitrary["y"].all()
    with np.errstate(divide="ignore"):
        inverse = special(np.reciprocal)
    assert inverse is not None
    assert inverse.arbitrary["y"].sum() == 5, "of 1/x a denormal may be taken for 0"


SPECIAL = """
plugin = { name = "Probe" }
inputs = [{ name = "x", types = ["float32", "float16", "int8"], shape = ["n"] }]
outputs = [{ name = "y", types = ["float32", "float16", "int8"], shape = ["n"] }]
profiles = [{ symbols = { n = [1, SIZE, 64] } }]
test = { special = [KINDS] }
"""


def defined(kinds: str, function: Callable[[Array], Array], size: int = 64) -> dict[str, Case]:
    manifest = Manifest.parse(SPECIAL.replace("KINDS", kinds).replace("SIZE", str(size)))
    reference = Reference(manifest, function, "reference.py")
    cases = plan(manifest, reference, families=["plain"]).cases
    return {case.id: case for case in cases if case.point.startswith("special-")}


def test_values_that_the_layer_is_defined_for_are_compared_with_the_reference() -> None:
    cases = defined('"nan", "infinity"', lambda x: np.where(np.isnan(x), 7.0, -x))
    assert list(cases) == [f"plain/{kind}/{name}" for kind in ("float32", "float16") for name in DEFINED]
    for case in cases.values():
        (x,), (y,) = case.feeds.values(), case.expected.values()
        assert not case.advisory
        assert not case.arbitrary
        assert (y[np.isnan(x)] == 7).all()
        assert (y[np.isinf(x)] == -x[np.isinf(x)]).all()
        assert (np.isnan(x).sum(), np.isinf(x).sum()) == ((1, 0) if case.point == "special-nan" else (0, 2))
        zeros = {name: np.where(np.isfinite(want), want, 0) for name, want in case.expected.items()}
        right = {name: want.astype(np.float32) for name, want in case.expected.items()}
        assert compare(case.defined(right), case.expected, case.tolerance).ok
        lost = {name: np.where(y == 7.0, 0, values).astype(np.float32) for name, values in zeros.items()}
        assert not compare(case.defined(lost), case.expected, case.tolerance).ok


def test_without_the_key_there_is_nothing_to_compare() -> None:
    assert defined("", np.negative) == {}
    assert list(defined('"infinity"', np.negative)) == [f"plain/{k}/special-infinity" for k in ("float32", "float16")]


def test_a_tensor_of_one_element_has_room_for_one_value() -> None:
    for case in defined('"infinity"', np.negative, size=1).values():
        (x,) = case.feeds.values()
        assert x.tolist() == [np.inf]


def test_a_reference_that_does_not_know_what_the_manifest_promises() -> None:
    def refuses(x: Array) -> Array:
        if np.isnan(x).any():
            raise ValueError("finite values only")
        return x

    message = r"has special = \['nan'\] in \[test\], .* is not: .*reference\(\) raised ValueError: finite values"
    with pytest.raises(CheckFailed, match=message):
        defined('"nan"', refuses)


def test_integers_have_no_special_values() -> None:
    text = SPECIAL.replace("SIZE", "8").replace('"float32", "float16", "int8"], ', '"int8"], scale = "s", ')
    text += '[[fields]]\nname = "s"\ntype = "float32"\n'
    with pytest.raises(UsageError, match=r"test.special: no input is of a type that has NaN or infinities"):
        Manifest.parse(text.replace("KINDS", '"nan"'))
    Manifest.parse(text.replace("KINDS", ""))


def test_a_reference_that_refuses_them_is_not_asked() -> None:
    def refuses(x: Array) -> Array:
        if not np.isfinite(x).all():
            raise CheckFailed("finite values only")
        return x

    assert special(refuses) is None
