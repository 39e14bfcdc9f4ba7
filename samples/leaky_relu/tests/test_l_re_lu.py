from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

PROJECT = Path(__file__).resolve().parents[1]


def load_reference():
    spec = importlib.util.spec_from_file_location("reference", PROJECT / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.reference


def test_the_reference_on_numbers_worked_out_by_hand() -> None:
    x = np.array([-4.0, -0.5, 0.0, 0.5, 4.0])
    assert load_reference()(x, neg_slope=0.25).tolist() == [-1.0, -0.125, 0.0, 0.5, 4.0]


def test_in_networks(pluginkit_case) -> None:
    """Each case of `pluginkit test`, NVIDIA's verdicts too: `pytest -k cond`, `pytest --lf`, `pytest -n auto`."""
    pluginkit_case.check()


def test_in_python(monkeypatch) -> None:
    """The Python module on NumPy's arrays, against the reference."""
    monkeypatch.syspath_prepend(PROJECT / "build" / "cpu")
    reason = "`pluginkit build` makes the module"
    module = pytest.importorskip("l_re_lu", reason=reason)
    x = np.arange(-12, 12, dtype=np.float32).reshape(1, 2, 3, 4)
    np.testing.assert_allclose(module.LReLU(neg_slope=0.25)(x), load_reference()(x, neg_slope=0.25))
