"""The profile that `pluginkit new` writes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluginkit import shapes
from pluginkit.manifest import Manifest
from pluginkit.scaffold import signature
from pluginkit.scaffold.profiles import with_elements


def profile(outputs: list[str], fields: list[str] | None = None, base: str = "v3") -> dict[str, list[int]]:
    text = signature.write(
        "P", inputs=["x:float32:n,c,h,w"], outputs=outputs, fields=fields or [], namespace="", version="1", base=base
    )
    return {name: list(ends) for name, ends in Manifest.parse(text).profiles[0].symbols.items()}


def test_a_window_has_a_place_at_the_least_size() -> None:
    usual = {"n": [1, 2, 4], "c": [1, 8, 16], "h": [1, 8, 16], "w": [1, 8, 16]}
    assert profile(["y:float32:n,c,h,w"]) == usual
    assert profile(["y:float32:n,c,(h - 2) // 2 + 1,(w - 3) // 2 + 1"]) == {
        **usual, "h": [2, 8, 16], "w": [3, 8, 16]
    }  # fmt: skip
    assert profile(["y:float32:n,c,h - k + 1,w"], ["k:int64=5"]) == {**usual, "h": [5, 8, 16]}


@pytest.mark.parametrize("dim", ["h - 100", "h - missing", "h if h > 3"])
def test_what_no_size_helps_or_is_not_known_stays(dim: str) -> None:
    ranges = {"h": (1, 8, 16)}
    assert with_elements(ranges, [shapes.parse(dim)], {}) == ranges


@given(st.integers(0, 9), st.integers(1, 4))
def test_the_least_size_that_has_elements(window: int, stride: int) -> None:
    dim = shapes.parse(f"(h - {window}) // {stride} + 1")
    low, opt, high = with_elements({"h": (1, 8, 16)}, [dim], {})["h"]
    assert (opt, high) == (8, 16)
    if window <= 8:
        assert shapes.evaluate(dim, {"h": low}) > 0
        assert low == 1 or shapes.evaluate(dim, {"h": low - 1}) <= 0
    else:
        assert low == 1
