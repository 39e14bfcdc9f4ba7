"""Our calibrators give the scales that TensorRT 8.5.3's wrote into their caches, and the cache's form is TensorRT's."""

from __future__ import annotations

import numpy as np
import pytest

from pluginkit.errors import CheckFailed
from pluginkit.runtimes.tensorrt import calibration_cache
from tests.fidelity.tensorrt8.calibrators import Scale, scales

VANISHING = 1e-6
"""Of a later batch's largest value: 8.5.3 begins another histogram behind a first batch that is so small."""


def vanishing(one: Scale) -> bool:
    first, *others = (float(np.abs(values).max()) for values in one.values)
    return 0 < first < VANISHING * max(others)


@pytest.mark.parametrize("method", ["max", "entropy"])
def test_scales_are_those_of_tensorrt(method: str) -> None:
    found = [one for one in scales() if one.method == method]
    assert len({one.network for one in found}) >= 10
    apart = [f"{one.network} {one.tensor}: {one.trt:g}, ours {one.ours:g}" for one in found if not one.alike]
    expected = [one for one in found if method == "entropy" and vanishing(one)]
    assert len(apart) == len(expected), "\n".join(apart)
    assert all(not one.alike for one in expected)


def test_a_cache_is_written_in_tensorrts_form() -> None:
    scales_of = {"x": 0.5, "t02_out: a": 0.0392466}
    text = calibration_cache.write("TRT-8503-EntropyCalibration2", scales_of)
    assert text.startswith(b"TRT-8503-EntropyCalibration2\nx: 3f000000\n")
    assert calibration_cache.read(text) == pytest.approx(scales_of)


def test_another_cache_is_refused() -> None:
    with pytest.raises(CheckFailed, match="not with TRT-"):
        calibration_cache.read(b"x: 3f000000\n")
