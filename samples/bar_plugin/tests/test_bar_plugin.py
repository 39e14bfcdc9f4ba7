from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PROJECT = Path(__file__).resolve().parents[1]


def pluginkit(*args: str) -> None:
    """Run a pluginkit command in the project; its output is shown where it fails."""
    subprocess.run([sys.executable, "-m", "pluginkit", *args], cwd=PROJECT, check=True)


def load_reference():
    spec = importlib.util.spec_from_file_location("reference", PROJECT / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.reference


def test_the_reference_on_numbers_worked_out_by_hand() -> None:
    copy, joined = load_reference()(np.zeros((1, 1, 1, 2)), np.array([[[[1.0, 2.0]]], [[[3.0, 4.0]]]]))
    np.testing.assert_array_equal(copy.ravel(), [1, 2, 3, 4])
    assert joined.shape == (3, 1, 1, 2)
    np.testing.assert_array_equal(joined.ravel(), [0, 0, 1, 2, 3, 4])


def test_in_networks(pluginkit_case) -> None:
    """Each case of `pluginkit test`, NVIDIA's verdicts too: `pytest -k cond`, `pytest --lf`, `pytest -n auto`."""
    pluginkit_case.check()


def test_in_python(monkeypatch) -> None:
    """The Python module on NumPy's arrays, against the reference."""
    monkeypatch.syspath_prepend(PROJECT / "build" / "cpu")
    reason = "`pluginkit build` makes the module"
    module = pytest.importorskip("bar_plugin", reason=reason)
    a = np.arange(24, dtype=np.float16).reshape(1, 2, 3, 4)
    b = -np.arange(48, dtype=np.float16).reshape(2, 2, 3, 4)
    for output, expected in zip(module.BarPlugin()(a, b), load_reference()(a, b), strict=True):
        np.testing.assert_array_equal(output, expected)


def test_the_plugin_on_a_photograph(tmp_path: Path) -> None:
    photo = np.load(PROJECT / "data" / "photo.npy").astype(np.float32).transpose(2, 0, 1)
    np.savez(tmp_path / "photo.npz", a=photo[None, :, :64, :64], b=photo[None, :, -64:, -64:])
    pluginkit("test", "--network", "plain", "--data", str(tmp_path / "photo.npz"))
