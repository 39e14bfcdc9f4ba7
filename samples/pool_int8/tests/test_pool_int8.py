from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PROJECT = Path(__file__).resolve().parents[1]
FIELDS = {
    "kernel_h": 2,
    "kernel_w": 2,
    "stride_h": 2,
    "stride_w": 2,
    "pad_h": 0,
    "pad_w": 0,
    "ceil_mode": 0,
    "count_include_pad": 0,
}


def pluginkit(*args: str) -> None:
    """Run a pluginkit command in the project; its output is shown where it fails."""
    subprocess.run([sys.executable, "-m", "pluginkit", *args], cwd=PROJECT, check=True)


def load_reference():
    spec = importlib.util.spec_from_file_location("reference", PROJECT / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.reference


def test_the_reference_on_numbers_worked_out_by_hand() -> None:
    x = np.arange(15.0).reshape(1, 3, 5)
    reference = load_reference()
    assert reference(x, mode=0, **FIELDS).tolist() == [[[6, 8]]]
    assert reference(x, mode=1, **FIELDS).tolist() == [[[3, 5]]]
    up = FIELDS | {"ceil_mode": 1}
    assert reference(x, mode=1, **up).tolist() == [[[3, 5, 6.5], [10.5, 12.5, 14]]]
    padded = FIELDS | {"pad_h": 1, "pad_w": 1, "count_include_pad": 1}
    assert reference(x, mode=1, **padded).tolist() == [[[0, 0.75, 1.75], [3.75, 9, 11]]]


def test_in_python(monkeypatch) -> None:
    """The Python module on NumPy's arrays, against the reference."""
    monkeypatch.syspath_prepend(PROJECT / "build" / "cpu")
    reason = "`pluginkit build` makes the module"
    module = pytest.importorskip("pool_int8", reason=reason)
    x = np.random.default_rng(0).integers(-50, 50, (2, 3, 9, 7))
    fields = FIELDS | {"kernel_h": 3, "kernel_w": 3, "pad_h": 1, "pad_w": 1}
    for mode in (0, 1):
        layer = module.PoolInt8(mode=mode, **fields)
        expected = load_reference()(x.astype(np.float64), mode=mode, **fields)
        np.testing.assert_allclose(layer(x.astype(np.float32)), expected, rtol=1e-5)
        steps = module.PoolInt8(mode=mode, x_scale=0.5, y_scale=0.25, **fields)(x.astype(np.int8))
        np.testing.assert_allclose(steps, np.clip(2 * expected, -128, 127), atol=1)


@pytest.fixture(scope="session")
def built() -> None:
    pluginkit("build", "--target", "cpu")


@pytest.mark.parametrize("precision", ["--fp32", "--fp16", "--int8"])
def test_the_plugin_agrees_with_the_reference(built: None, precision: str) -> None:
    pluginkit("test", precision)


@pytest.mark.parametrize("name", ["astronaut", "chelsea", "coffee"])
def test_the_plugin_on_a_photograph(built: None, name: str, tmp_path: Path) -> None:
    photo = np.load(PROJECT / "data" / f"{name}.npy").astype(np.float32).transpose(2, 0, 1)
    # Shapes are static: a part that has the default profile's.
    x = np.stack([photo[:, :16, :16], photo[:, -16:, -16:]])
    np.savez(tmp_path / "photo.npz", x=x)
    pluginkit("test", "--network", "plain", "--data", str(tmp_path / "photo.npz"))
