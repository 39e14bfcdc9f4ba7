"""Implicit quantization, as the host models it: no scale fields, the descriptors carry the tensors' real scales."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pluginkit import host
from pluginkit.dtypes import DType

pytestmark = pytest.mark.compile

X_SCALE, Y_SCALE, ALPHA = 0.05, 0.02, 0.25
SHAPE = (2, 3, 4, 5)


@pytest.fixture
def library(my_plugin: Path) -> Path:
    return my_plugin / "build" / "cpu" / "libmy_plugin.so"


def run(library: Path, version: int, x: np.ndarray, scales: tuple[float, float], fields: dict) -> np.ndarray:
    spec = host.TensorSpec(DType.INT8, SHAPE, SHAPE, SHAPE, SHAPE, scales[0])
    with host.Library(library, host_version=version) as loaded:
        creator = loaded.creator("MyPlugin")
        built = host.build(creator, "layer", fields, [[spec]], output_scales=[scales[1]])
        with host.Context(creator, built, [spec]) as context:
            (y,) = context.run([x])
    return y


def expected(x: np.ndarray, x_scale: float, y_scale: float) -> np.ndarray:
    real = x.astype(np.float64) * x_scale
    real = np.where(real >= 0, real, ALPHA * real)
    return np.clip(np.rint(real / y_scale), -128, 127)


@pytest.mark.parametrize("version", [101600, 110100], ids=["layout10", "layout11"])
def test_scales_come_from_the_descriptors_when_no_field_gives_them(library: Path, version: int) -> None:
    x = np.arange(-60, 60, dtype=np.int8).reshape(SHAPE)
    y = run(library, version, x, (X_SCALE, Y_SCALE), {"alpha": (DType.FLOAT32, ALPHA)})
    want = expected(x, X_SCALE, Y_SCALE)
    assert want.max() == 127, "the test must reach saturation"
    np.testing.assert_allclose(y, want, atol=1, rtol=0)
    assert (y != expected(x, Y_SCALE, X_SCALE)).any(), "the scales' order must matter"


def test_a_field_wins_over_the_descriptor(library: Path) -> None:
    x = np.arange(-60, 60, dtype=np.int8).reshape(SHAPE)
    fields = {name: (DType.FLOAT32, value) for name, value in
              {"alpha": ALPHA, "x_scale": X_SCALE, "y_scale": 4 * Y_SCALE}.items()}  # fmt: skip
    y = run(library, 110100, x, (1.0, 1.0), fields)
    np.testing.assert_allclose(y, expected(x, X_SCALE, 4 * Y_SCALE), atol=1, rtol=0)


def test_without_any_scale_enqueue_refuses(library: Path) -> None:
    x = np.zeros(SHAPE, np.int8)
    with pytest.raises(host.Finding, match="enqueue"):
        run(library, 110100, x, (0.0, 0.0), {"alpha": (DType.FLOAT32, ALPHA)})
