from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

PROJECT = Path(__file__).resolve().parents[1]
SHAPES = [[2, 5], [5], [5]]


def load_reference():
    spec = importlib.util.spec_from_file_location("reference", PROJECT / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.reference


def test_the_reference_on_numbers_worked_out_by_hand() -> None:
    reference = load_reference()
    x = np.array(
        [[1.0, 3.0], [-2.0, 2.0]]
    )  # means 2 and 0, standard deviations 1 and 2
    weight, bias = np.array([2.0, 3.0]), np.array([0.0, 1.0])
    output = reference(x, weight, bias, epsilon=0.0)
    np.testing.assert_allclose(output, [[-2.0, 4.0], [-2.0, 4.0]])
    # Of equal numbers epsilon is the divisor, and the distance 0.
    output = reference(np.ones((1, 2)), weight, bias, epsilon=1e-5)
    np.testing.assert_allclose(output, [bias])


def test_in_networks(pluginkit_case) -> None:
    """Each case of `pluginkit test`, NVIDIA's verdicts too: `pytest -k cond`, `pytest --lf`, `pytest -n auto`."""
    pluginkit_case.check()


def test_in_python(monkeypatch) -> None:
    """The Python module on NumPy's arrays, against the reference."""
    monkeypatch.syspath_prepend(PROJECT / "build" / "cpu")
    reason = "`pluginkit build` makes the module"
    module = pytest.importorskip("layer_norm", reason=reason)
    kinds = [np.float32, np.float32, np.float32]
    values = np.arange(-3, 4)
    inputs = [np.resize(values, s).astype(k) for s, k in zip(SHAPES, kinds)]
    layer = module.LayerNorm(epsilon=1e-05)
    outputs = layer(*inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    wide = [x.astype(np.float64) for x in inputs]
    expected = load_reference()(*wide, epsilon=1e-05)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for y, z in zip(outputs, expected):
        np.testing.assert_allclose(y, z, rtol=1e-5, atol=1e-5)
