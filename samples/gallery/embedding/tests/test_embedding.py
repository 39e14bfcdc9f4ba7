from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

PROJECT = Path(__file__).resolve().parents[1]
SHAPES = [[2, 5], [9, 7]]


def load_reference():
    spec = importlib.util.spec_from_file_location("reference", PROJECT / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.reference


def test_the_reference_on_numbers_worked_out_by_hand() -> None:
    reference = load_reference()
    table_shape, indices_shape = SHAPES
    rows = table_shape[0]
    table = np.arange(np.prod(table_shape), dtype=np.float32).reshape(table_shape)
    indices = np.resize(np.arange(-rows - 1, rows + 1), indices_shape)
    output = reference(table, indices)
    for place in np.ndindex(*indices_shape):
        index = indices[place]
        row = table[index] if -rows <= index < rows else 0 * table[0]
        np.testing.assert_array_equal(output[place], row)


def test_in_networks(pluginkit_case) -> None:
    """Each case of `pluginkit test`, NVIDIA's verdicts too: `pytest -k cond`, `pytest --lf`, `pytest -n auto`."""
    pluginkit_case.check()


def test_in_python(monkeypatch) -> None:
    """The Python module on NumPy's arrays, against the reference."""
    monkeypatch.syspath_prepend(PROJECT / "build" / "cpu")
    reason = "`pluginkit build` makes the module"
    module = pytest.importorskip("embedding", reason=reason)
    kinds = [np.float32, np.int64]
    values = np.arange(-3, 4)
    inputs = [np.resize(values, s).astype(k) for s, k in zip(SHAPES, kinds)]
    layer = module.Embedding()
    outputs = layer(*inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    wide = [x.astype(np.float64) for x in inputs]
    expected = load_reference()(*wide)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for y, z in zip(outputs, expected):
        np.testing.assert_allclose(y, z, rtol=1e-5, atol=1e-5)
