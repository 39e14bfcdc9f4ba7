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
from pluginkit.network.networks import Array, Tolerance
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
    """Where the manifest says no tolerance of its own; at values in other ranges always."""

    def moved(signature: Manifest, kind: DType) -> bool:
        made = plan(signature, Reference(signature, plus), precisions=[kind], families=["plain", "cond-both"])
        return any(case.tolerance.moved for case in made.cases if not case.point.startswith("values-"))

    both = manifest('"float32", "float16"')
    assert moved(both, DType.FLOAT32)
    assert not moved(manifest(more="[tolerances]\nfloat32 = { rtol = 1e-6, atol = 1e-6 }\n"), DType.FLOAT32)
    declared = "[tolerances]\nfloat16 = { rtol = 0.01, atol = 0.01 }\n"
    assert moved(both, DType.FLOAT16)
    assert not moved(manifest('"float32", "float16"', declared), DType.FLOAT16)


def product(a: Array, b: Array, c: Array) -> Array:
    return (a + b) * c


@pytest.mark.parametrize(
    ("layer", "order"), [(plus, (0, 1, 2)), (plus, (1, 2, 0)), (plus, (2, 0, 1)), (product, (0, 1, 2))]
)
def test_a_plugin_may_compute_in_fp16(layer: Layer, order: tuple[int, int, int]) -> None:
    """Each operation of the layer, rounded to FP16: at the usual points, and in other ranges."""
    signature = manifest('"float16"')
    made = plan(signature, Reference(signature, layer), precisions=[DType.FLOAT16], families=["plain"])
    seen = set()
    for case in made.cases:
        if not all(np.isfinite(value).all() for value in case.feeds.values()):
            continue
        given = [case.feeds[name].astype(np.float16) for name in "abc"]
        (name,) = case.expected
        got = layer(*(given[i] for i in order)).astype(np.float32)
        result = compare({name: got}, case.expected, case.tolerance)
        assert result.ok, (case.id, result.message)
        seen.add(case.point)
        if case.point == "opt":
            assert not compare({name: got + np.float32(0.25)}, case.expected, case.tolerance).ok
    assert {"min", "opt", "values-constant"} <= seen


def test_a_mean_that_adds_in_fp16_is_wrong() -> None:
    """NumPy adds the FP16 terms of a mean in FP32."""
    signature = manifest('"float16"')
    setting = Setting(signature, DType.FLOAT16, {})
    reference = Reference(signature, lambda a, b, c: a - a.mean() + 0 * b + 0 * c)
    terms = np.full(40, 301, np.float16)
    feeds = {"a": terms.astype(np.float32), "b": np.ones(40, np.float32), "c": np.ones(40, np.float32)}
    usual = precision.tolerance(signature, DType.FLOAT16, {}, chain=1, ratios=[])
    network = FAMILIES["plain"]
    answer = network.oracle(Applier(setting, reference), feeds)
    allowed = replace(usual, moved=conditioning.in_half(network, setting, reference, feeds, answer, usual))
    exact = answer.outputs["y"]
    mean = np.float16(terms.astype(np.float32).mean())
    assert compare({"y": (terms - mean).astype(np.float32)}, {"y": exact}, allowed).ok
    total = np.float16(0)
    for term in terms:
        total = np.float16(total + term)
    off = (terms - np.float16(total / np.float16(40))).astype(np.float32)
    assert not compare({"y": off}, {"y": exact}, allowed).ok
