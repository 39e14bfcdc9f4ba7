"""Points at the edges: all element counts modulo 16, and empty tensors."""

from __future__ import annotations

import math
from itertools import product

import pytest

from pluginkit.manifest import Manifest
from pluginkit.testing.edges import counts, is_edge
from pluginkit.testing.points import points

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
