"""The oracles of a plugin with shape inputs, against what runs the networks in the host."""

from __future__ import annotations

import numpy as np

from pluginkit.dtypes import DType
from pluginkit.manifest import Manifest
from pluginkit.network.networks import Array, Network
from pluginkit.testing.families import FAMILIES
from pluginkit.testing.plan import plan

from .conftest import Example
from .test_networks import wrong

MANIFEST = Manifest.parse("""
plugin = { name = "FillTo", base = "v3" }
inputs = [
  { name = "k", types = ["int32"], shape = [2], values = ["k", 3] },
  { name = "x", types = ["float32", "float16"], shape = ["n", "c"] },
  { name = "size", types = ["int64"], shape = [2], values = ["n", "oh"] },
]
outputs = [
  { name = "y", types = ["float32", "float16"], shape = ["n", "c"] },
  { name = "z", types = ["float32"], shape = ["k + 1", "oh", "n"] },
  { name = "v", types = ["int32"], shape = [2] },
]
profiles = [
  { name = "small", symbols = { n = [1, 2, 4], c = [1, 4, 6], oh = [1, 3, 5], k = [0, 1, 4] } },
  { name = "large", symbols = { n = [5, 6, 7], c = [2, 2, 2], oh = [0, 1, 2], k = [4, 5, 6] } },
]
""")


def fill(k: Array, x: Array, size: Array) -> tuple[Array, ...]:
    w, h = map(int, size)
    return x * 0.5, np.resize(np.append(x, 0.0), (int(k[0]) + 1, h, w)), np.array([int(k[1]), h])


EXAMPLE = Example(MANIFEST, fill, lambda *_: [])


def test_every_network_gives_what_its_oracle_says() -> None:
    made = plan(MANIFEST, EXAMPLE.reference, precisions=[DType.FLOAT32], seed=3)
    assert wrong(EXAMPLE, made) == []
    families = {network.family for network in made.networks}
    by_api = {"api-shape-out", "api-slice", "api-resize", "api-shapes"}
    by_api |= {"api-cond-select", "api-cond-constant", "api-unused"}
    assert families == {name for name in FAMILIES if not name.startswith("api-") or name in by_api}
    # The values differ from case to case, and so do the outputs' shapes.
    shapes = {case.expected["z"].shape for case in made.cases if case.network_id == "plain/float32"}
    assert len(shapes) > 6


def test_computed_values_are_those_of_the_point() -> None:
    made = plan(MANIFEST, EXAMPLE.reference, families=["shape-values"], precisions=[DType.FLOAT32], seed=3)
    (network,) = made.networks
    assert isinstance(network, Network)
    assert network.profiles[0].shapes["as_long_as_oh"] == ((2,), (4,), (6,))
    assert network.profiles[1].shapes["as_long_as_k"] == ((5,), (6,), (7,))
    assert not network.profiles[0].values
    case = next(case for case in made.cases if case.id == "shape-values/float32/large/opt")
    assert case.expected["z"].shape == (6, 1, 6)
    assert case.feeds.keys() == {"x", "as_long_as_k", "as_long_as_oh", "as_long_as_n"}
