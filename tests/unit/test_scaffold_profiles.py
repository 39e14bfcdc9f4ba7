"""The profiles that `pluginkit new` writes."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluginkit import shapes
from pluginkit.manifest import Manifest
from pluginkit.scaffold import profiles, signature
from pluginkit.scaffold.profiles import with_elements


def written(inputs: list[str], outputs: list[str], fields: list[str] | None = None, base: str = "v3") -> Manifest:
    return Manifest.parse(
        signature.write("P", inputs=inputs, outputs=outputs, fields=fields or [], namespace="", version="1", base=base)
    )


def profile(outputs: list[str], fields: list[str] | None = None) -> Mapping[str, tuple[int, int, int]]:
    return written(["x:float32:n,c,h,w"], outputs, fields).profiles[0].symbols


USUAL = {"n": (1, 2, 4), "c": (1, 5, 16), "h": (1, 9, 16), "w": (1, 7, 16)}


def test_a_window_has_a_place_at_the_least_size() -> None:
    assert profile(["y:float32:n,c,h,w"]) == USUAL
    assert profile(["y:float32:n,c,(h - 2) // 2 + 1,(w - 3) // 2 + 1"]) == {**USUAL, "h": (2, 9, 16), "w": (3, 7, 16)}
    assert profile(["y:float32:n,c,h - k + 1,w"], ["k:int64=5"]) == {**USUAL, "h": (5, 9, 16)}


def test_the_least_size_has_elements_with_each_value_that_a_field_is_declared_to_take() -> None:
    y = "y:float32:n,c,(h + 2 * pad - k) // s + 1,w"
    assert profile([y], ["k:int32:1..5=3", "s:int32:1..2=2", "pad:int32:0..1=1"]) == {**USUAL, "h": (3, 9, 16)}
    assert profile([y], ["k:int32:2,6=2", "s:int32:1..2=2", "pad:int32=1"])["h"] == (4, 9, 16)
    assert profile(["y:float32:n,c,h - k[0] + 1,w - k[1] + 1"], ["k:int32[2]:1..4=1,2"]) == {
        **USUAL, "h": (4, 9, 16), "w": (4, 7, 16)
    }  # fmt: skip


def test_a_window_larger_than_the_usual_sizes_raises_all_of_them() -> None:
    found = profile(["y:float32:n,c,(h - k) // k + 1,(w - k) // k + 1"], ["k:int64=16"])
    assert found == {**USUAL, "h": (16, 17, 24), "w": (16, 19, 28)}
    static = written(["x:float32:n,c,h,w"], ["y:float32:n,c,h - 11,w"], base="ioext").profiles
    assert [one.symbols["h"] for one in static] == [(13, 13, 13), (13, 13, 13)]


@pytest.mark.parametrize("dim", ["h - 2000", "h - missing", "h if h > 3"])
def test_what_no_size_helps_or_is_not_known_stays(dim: str) -> None:
    ranges = {"h": (1, 8, 16)}
    assert with_elements(ranges, [shapes.parse(dim)], [{}]) == ranges


@given(st.integers(0, 9), st.integers(1, 4))
def test_the_least_size_that_has_elements(window: int, stride: int) -> None:
    dim = shapes.parse(f"(h - {window}) // {stride} + 1")
    low, opt, high = with_elements({"h": (1, 8, 16)}, [dim], [{}])["h"]
    assert low <= opt <= high
    assert (opt, high) == (8, 16) or window > 8
    assert shapes.evaluate(dim, {"h": low}) > 0
    assert low == 1 or shapes.evaluate(dim, {"h": low - 1}) <= 0


@pytest.mark.parametrize("base", ["dynamic", "v3", "ioext"])
@pytest.mark.parametrize("shape", ["n,c", "n,c,h,w", "n,a,b,c,d,e", "n,c,2,h"])
@pytest.mark.parametrize("fields", [[], ["each:float32[c]"]])
def test_at_opt_no_size_is_another_or_its_multiple(base: str, shape: str, fields: list[str]) -> None:
    """Dimensions that are exchanged, or a stride of the wrong one, then give other numbers."""
    manifest = written([f"x:float32:{shape}", "b:float32:m,k,c"], [f"y:float32:{shape}"], fields, base)
    assert len(manifest.profiles) == (2 if base == "ioext" else 1)
    for one in manifest.profiles:
        sizes = [opt for _, opt, _ in one.symbols.values()]
        assert not [pair for pair in permutations(sizes, 2) if pair[0] % pair[1] == 0]


def test_of_any_rank_each_dimension_of_the_rest_differs_too() -> None:
    for ranked in written(["x:float32:n,...,c"], ["y:float32:n,...,c"]).ranked():
        for one in ranked.profiles:
            sizes = [opt for _, opt, _ in one.symbols.values()]
            assert not [pair for pair in permutations(sizes, 2) if pair[0] % pair[1] == 0]


def test_sizes_of_whole_vectors_are_tried_too() -> None:
    """Odd sizes leave tails in vectors; max, and one of the static profiles, have none."""
    assert all(high % 4 == 0 for _, _, high in profiles.usual(4, 4))
    counts = {name: [low for low, _, _ in sizes] for name, sizes in profiles.static(4, 4).items()}
    assert {name: (sizes[0] * sizes[1] * sizes[2] * sizes[3]) % 16 for name, sizes in counts.items()} == {
        "default": 0, "odd": 6
    }  # fmt: skip
