"""Where large terms cancel, an output may be as far off as it moves if inputs are off by some roundings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed
from pluginkit.manifest import Manifest
from pluginkit.network.model import Array, Tolerance
from pluginkit.testing import precision
from pluginkit.testing.comparison import compare
from pluginkit.testing.families import FAMILIES, conditioning
from pluginkit.testing.families.base import Applier, Setting
from pluginkit.testing.plan import plan
from pluginkit.testing.reference import Reference

Layer = Callable[..., Array]


def manifest(types: str = '"float32"', more: str = "") -> Manifest:
    tensors = "".join(f'[[inputs]]\nname = "{name}"\ntypes = [{types}]\nshape = ["n"]\n' for name in "abc")
    profile = '[[profiles]]\nname = "default"\nsymbols = { n = [1, 40, 40] }\n'
    output = f'[[outputs]]\nname = "y"\ntypes = [{types}]\nshape = ["n"]\n'
    return Manifest.parse(f'[plugin]\nname = "Sum"\n{tensors}{output}{profile}{more}')


def tolerance(layer: Layer, values: Sequence[Sequence[float]], family: str = "plain") -> tuple[Tolerance, Array]:
    """The tolerance for these inputs, and what is exact."""
    signature = manifest()
    setting = Setting(signature, DType.FLOAT32, {})
    reference, feeds = Reference(signature, layer), dict(zip("abc", np.array(values, np.float32), strict=True))
    usual = precision.tolerance(signature, DType.FLOAT32, {}, chain=1, ratios=[])
    by = precision.input_error(signature, DType.FLOAT32)
    network = FAMILIES[family]
    answer = network.oracle(Applier(setting, reference), feeds)
    moved = conditioning.moved(network, setting, reference, feeds, answer, usual, by)
    return replace(usual, moved=moved), answer.outputs["y"]


def plus(a: Array, b: Array, c: Array) -> Array:
    return a + b + c


FLOATS = st.floats(-1e3, 1e3, width=32)


@settings(max_examples=30, deadline=None)
@given(FLOATS, FLOATS, FLOATS)
def test_a_sum_in_fp32_is_right_in_each_order(a: float, b: float, c: float) -> None:
    for one, two, three in ((a, b, c), (b, c, a), (c, a, b)):
        allowed, exact = tolerance(plus, [[a], [b], [c]])
        got = (np.float32([one]) + np.float32([two])) + np.float32([three])
        assert compare({"y": got}, {"y": exact}, allowed).ok


@pytest.mark.parametrize("seed", range(20))
def test_a_running_sum_in_fp32_is_right_whatever_its_terms(seed: int) -> None:
    """Where terms cancel one another, terms that are off at random may do so, too."""
    terms = np.random.default_rng(seed).uniform(-60, 60, 40).astype(np.float32)
    allowed, exact = tolerance(lambda a, b, c: np.cumsum(a, dtype=np.float64), [terms.tolist()] * 3)
    assert (allowed.moved["y"] <= 16 * 2.0**-23 * np.cumsum(np.abs(terms)) * 1.1).all()
    assert compare({"y": np.cumsum(terms, dtype=np.float32)}, {"y": exact}, allowed).ok


def test_only_elements_that_cancel_are_allowed_more() -> None:
    allowed, exact = tolerance(plus, [[60.0, 60.0], [-60.0, 2.0], [0.015625, 1.0]])
    (moved,) = allowed.moved.values()
    assert moved[1] == 0
    assert moved[0] == pytest.approx(60 * 16 * 2.0**-23, rel=1e-2)
    assert exact.tolist() == [0.015625, 63.0]
    for off, ok in ((4e-6, True), (1e-3, False)):
        result = compare({"y": np.float32([0.015625 + off, 63.0])}, {"y": exact}, allowed)
        assert result.ok is ok
        assert result.worst.allowed == pytest.approx(float(moved[0]))
    assert not compare({"y": np.float32([0.015625, 63.003])}, {"y": exact}, allowed).ok


def test_a_product_is_allowed_no_more() -> None:
    allowed, _ = tolerance(lambda a, b, c: a * b * c, [[60.0, 1e-3], [-60.0, 2.0], [7.0, 1e4]])
    assert allowed.moved == {}


@pytest.mark.parametrize("jump", [np.floor, np.ceil, lambda a: a >= 3.0, lambda a: 100.0 * (a > 3.0)])
def test_a_jump_allows_nothing(jump: Callable[[Array], Array]) -> None:
    """Whole numbers are a rounding from the next ones: a plugin that is one off there is wrong."""
    allowed, _ = tolerance(lambda a, b, c: jump(a).astype(float) + b * c, [[3.0, -2.0], [0.0, 0.5], [0.0, 0.5]])
    assert allowed.moved == {}


def test_inputs_where_the_layer_is_not_defined_add_nothing() -> None:
    def arccos(a: Array, b: Array, c: Array) -> Array:
        return np.arccos(a) + b - c

    allowed, _ = tolerance(arccos, [[1.0], [60.0], [60.0]])
    (moved,) = allowed.moved.values()
    assert moved[0] == pytest.approx(60 * 16 * 2.0**-23, rel=1e-2)

    def strict(a: Array, b: Array, c: Array) -> Array:
        if (a != 1.0).any():
            raise ValueError("a is not 1")
        return a + b - c

    with pytest.raises(CheckFailed):
        Reference(manifest(), strict)([np.zeros(1)] * 3, {})
    allowed, _ = tolerance(strict, [[1.0], [60.0], [60.0]])
    assert set(allowed.moved) == {"y"}


def test_networks_cases_have_it() -> None:
    """In FP32, and where the manifest says no tolerance of its own."""

    def moved(signature: Manifest, kind: DType) -> bool:
        made = plan(signature, Reference(signature, plus), precisions=[kind], families=["plain", "cond-both"])
        return any(case.tolerance.moved for case in made.cases)

    both = manifest('"float32", "float16"')
    assert moved(both, DType.FLOAT32)
    assert not moved(both, DType.FLOAT16)
    assert not moved(manifest(more="[tolerances]\nfloat32 = { rtol = 1e-6, atol = 1e-6 }\n"), DType.FLOAT32)
