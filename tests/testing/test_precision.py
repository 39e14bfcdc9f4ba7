"""Representable values, scales and tolerances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluginkit.dtypes import DType
from pluginkit.manifest import Manifest
from pluginkit.testing import precision
from pluginkit.testing.precision import chained_steps, dequantize, quantize, represent

from .conftest import BAR, LEAKY

FLOATS = st.floats(-1e6, 1e6, width=32)
SCALES = st.floats(2.0**-10, 100.0, width=32)


@given(FLOATS, SCALES)
def test_quantized_values_are_the_nearest_or_saturated(value: float, scale: float) -> None:
    step = float(quantize(np.array(value), scale))
    assert step in range(-128, 128)
    exact = value / scale
    if -128 <= exact <= 127:
        assert abs(step - exact) <= 0.5 + 1e-4
    else:
        assert step == (127 if exact > 0 else -128)


@given(FLOATS, SCALES, st.sampled_from([DType.FLOAT32, DType.FLOAT16, DType.INT8]))
def test_representing_twice_changes_nothing(value: float, scale: float, kind: DType) -> None:
    once = represent(np.array([value]), kind, scale)
    assert np.array_equal(represent(once, kind, scale), once)


@given(st.floats(-60000, 60000))
def test_halves_are_numpys(value: float) -> None:
    assert float(represent(np.array(value), DType.FLOAT16)) == float(np.float16(value))


def test_rounding_is_half_to_even_and_ends_are_uneven() -> None:
    steps = quantize(np.array([0.5, 1.5, 2.5, -0.5, -1.5, 1000.0, -1000.0]), 1.0)
    assert steps.tolist() == [0, 2, 2, 0, -2, 127, -128]
    assert dequantize(steps, 0.5).tolist() == [0, 1, 1, 0, -1, 63.5, -64]


def test_scales_differ_unless_the_plugin_has_none() -> None:
    ranges = {"x": (-8.0, 8.0), "y": (-4.0, 8.0)}
    found = precision.scales(LEAKY, DType.INT8, ranges)
    assert found["x"] == pytest.approx(1.24 * 8 / 127)
    assert found["y"] == pytest.approx(1.0131 * 4 / 127)
    assert precision.scales(LEAKY, DType.FLOAT16, ranges) == {}
    assert precision.scales(LEAKY, DType.INT8, {**ranges, "y": (-0.1, 8.0)})["y"] == pytest.approx(1.0131 * 8 / 127)
    ranges = {"a": (-1.0, 2.0), "b": (-6.0, 3.0), "copy": (-6.0, 3.0), "joined": (-6.0, 3.0)}
    shared = precision.scales(BAR, DType.INT8, ranges)
    assert set(shared) == set(ranges)
    assert set(shared.values()) == {float(np.float32(1.24 * 6 / 127))}


def test_a_constant_zero_still_has_a_usable_scale() -> None:
    found = precision.scales(LEAKY, DType.INT8, {"x": (0.0, 0.0), "y": (0.0, 0.0)})
    assert all(scale > 0 for scale in found.values())


@pytest.mark.parametrize(("size", "count"), [(0, 0), (1, 1), (3, 3), (64, 4)])
def test_spikes_lie_at_both_ends_as_far_as_there_is_room(size: int, count: int) -> None:
    scale = 1.24 * 5 / 127
    out = precision.add_spikes(np.zeros(size, np.float32), scale, np.random.default_rng(0))
    assert np.count_nonzero(out) == count
    if size > 1:
        assert out.max() >= 6 - 1e-5
        assert out.min() <= -6 + 1e-5


@pytest.mark.parametrize(
    ("steps", "chain", "ratios", "total"),
    [(1, 1, [2.5], 1), (1, 4, [], 1), (0, 4, [1.0], 0), (1, 2, [2.5], 4), (1, 3, [1.0], 3), (2, 2, [0.5], 4)],
)
def test_steps_along_a_chain(steps: int, chain: int, ratios: list[float], total: int) -> None:
    assert chained_steps(steps, chain, ratios) == total


def test_tolerances_come_from_the_manifest_or_the_type() -> None:
    default = precision.tolerance(LEAKY, DType.FLOAT16, {}, chain=3, ratios=[])
    assert (default.kind, default.rtol) == ("close", pytest.approx(3 * 4 * 2.0**-10))
    assert precision.tolerance(BAR, DType.INT8, {"copy": 0.5}, chain=3, ratios=[1.0]).steps == 0
    assert precision.tolerance(LEAKY, DType.INT8, {"y": 0.5}, chain=1, ratios=[]).steps == 1
    output = Manifest.model_validate(
        {
            **LEAKY.model_dump(by_alias=True),
            "tolerances": {"float32": {"rtol": 0.25, "atol": 0.5}, "int8": {"steps": 3}},
        }
    )
    assert precision.tolerance(output, DType.FLOAT32, {}, chain=2, ratios=[]).rtol == 0.5
    assert precision.tolerance(output, DType.FLOAT32, {}, chain=2, ratios=[]).atol == 1.0
    assert precision.tolerance(output, DType.INT8, {"y": 0.5}, chain=1, ratios=[]).steps == 3
