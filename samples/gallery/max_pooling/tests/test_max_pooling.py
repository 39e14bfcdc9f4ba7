from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

PROJECT = Path(__file__).resolve().parents[1]
SHAPES = [[2, 5, 9, 7]]


def load_reference():
    spec = importlib.util.spec_from_file_location("reference", PROJECT / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.reference


def test_the_reference_on_numbers_worked_out_by_hand() -> None:
    reference = load_reference()
    (shape,) = SHAPES
    numbers = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    output = reference(numbers, kernel=3, stride=2, pad=1)
    for place in np.ndindex(*output.shape):
        top, left = 2 * place[-2] - 1, 2 * place[-1] - 1
        image = numbers[place[:-2]]
        window = image[max(top, 0) : top + 3, max(left, 0) : left + 3]
        assert output[place] == window.max()


def test_in_networks(pluginkit_case) -> None:
    """Each case of `pluginkit test`, NVIDIA's verdicts too: `pytest -k cond`, `pytest --lf`, `pytest -n auto`."""
    pluginkit_case.check()


def test_in_python(monkeypatch) -> None:
    """The Python module on NumPy's arrays, against the reference."""
    monkeypatch.syspath_prepend(PROJECT / "build" / "cpu")
    reason = "`pluginkit build` makes the module"
    module = pytest.importorskip("max_pooling", reason=reason)
    kinds = [np.float32]
    values = np.arange(-3, 4)
    inputs = [np.resize(values, s).astype(k) for s, k in zip(SHAPES, kinds)]
    layer = module.MaxPooling(kernel=3, stride=2, pad=1)
    outputs = layer(*inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    wide = [x.astype(np.float64) for x in inputs]
    expected = load_reference()(*wide, kernel=3, stride=2, pad=1)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for y, z in zip(outputs, expected):
        np.testing.assert_allclose(y, z, rtol=1e-5, atol=1e-5)
