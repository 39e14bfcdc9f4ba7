from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

PROJECT = Path(__file__).resolve().parents[1]
SHAPES = [[2, 5], [2, 5], [5]]


def load_reference():
    spec = importlib.util.spec_from_file_location("reference", PROJECT / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.reference


def test_the_reference_on_numbers_worked_out_by_hand() -> None:
    reference = load_reference()
    x, residual = (
        np.array([[1.0, 2.0], [-5.0, 0.0]]),
        np.array([[0.0, 5.0], [0.0, 5.0]]),
    )
    y, added = reference(x, residual, np.array([1.0, 2.0]), epsilon=0.0)
    np.testing.assert_allclose(added, [[1.0, 7.0], [-5.0, 5.0]])
    np.testing.assert_allclose(
        y, [[0.2, 2.8], [-1.0, 2.0]]
    )  # the root mean squares are 5
    # Of zeros epsilon is the divisor.
    y, _ = reference(x, -x, np.ones(2), epsilon=1e-5)
    assert not y.any()


def test_in_networks(pluginkit_case) -> None:
    """Each case of `pluginkit test`, NVIDIA's verdicts too: `pytest -k cond`, `pytest --lf`, `pytest -n auto`."""
    pluginkit_case.check()


def test_in_python(monkeypatch) -> None:
    """The Python module on NumPy's arrays, against the reference."""
    monkeypatch.syspath_prepend(PROJECT / "build" / "cpu")
    reason = "`pluginkit build` makes the module"
    module = pytest.importorskip("add_rms_norm", reason=reason)
    kinds = [np.float32, np.float32, np.float32]
    values = np.arange(-3, 4)
    inputs = [np.resize(values, s).astype(k) for s, k in zip(SHAPES, kinds)]
    layer = module.AddRmsNorm(epsilon=1e-05)
    outputs = layer(*inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    wide = [x.astype(np.float64) for x in inputs]
    expected = load_reference()(*wide, epsilon=1e-05)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for y, z in zip(outputs, expected):
        np.testing.assert_allclose(y, z, rtol=1e-5, atol=1e-5)
