from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

PROJECT = Path(__file__).resolve().parents[1]
SHAPES = [[2, 8, 8, 8]]


def load_reference():
    spec = importlib.util.spec_from_file_location("reference", PROJECT / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.reference


def test_the_reference_on_numbers_worked_out_by_hand() -> None:
    reference = load_reference()
    inputs = [np.full(shape, 1.0) for shape in SHAPES]
    outputs = reference(*inputs, alpha=0.5)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    expected = np.full((2, 8, 8, 8), 1.0)
    np.testing.assert_allclose(outputs[0], expected)
    inputs = [np.full(shape, -3.0) for shape in SHAPES]
    outputs = reference(*inputs, alpha=0.5)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    expected = np.full((2, 8, 8, 8), -1.5)
    np.testing.assert_allclose(outputs[0], expected)


def test_in_networks(pluginkit_case) -> None:
    """Each case of `pluginkit test`, NVIDIA's verdicts too: `pytest -k cond`, `pytest --lf`, `pytest -n auto`."""
    pluginkit_case.check()


def test_in_python(monkeypatch) -> None:
    """The Python module on NumPy's arrays, against the reference."""
    monkeypatch.syspath_prepend(PROJECT / "build" / "cpu")
    reason = "`pluginkit build` makes the module"
    module = pytest.importorskip("my_plugin", reason=reason)
    kinds = [np.float32]
    values = np.arange(-3, 4)
    inputs = [np.resize(values, s).astype(k) for s, k in zip(SHAPES, kinds)]
    layer = module.MyPlugin(alpha=0.5)
    outputs = layer(*inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    wide = [x.astype(np.float64) for x in inputs]
    expected = load_reference()(*wide, alpha=0.5)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for y, z in zip(outputs, expected):
        np.testing.assert_allclose(y, z, rtol=1e-5, atol=1e-5)
