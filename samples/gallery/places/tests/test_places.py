from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np

PROJECT = Path(__file__).resolve().parents[1]
SHAPES = [[2, 5]]


def load_reference():
    spec = importlib.util.spec_from_file_location("reference", PROJECT / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.reference


def test_the_reference_on_numbers_worked_out_by_hand() -> None:
    reference = load_reference()
    (shape,) = SHAPES
    numbers = np.resize([0.0, 2.0, -1.0, 0.0, 0.0], shape)
    places, found = reference(numbers)
    expected = [place for place in np.ndindex(*shape) if numbers[place] != 0]
    assert [tuple(place) for place in places.T] == expected
    assert found == len(expected)


def test_in_networks(pluginkit_case) -> None:
    """Each case of `pluginkit test`, NVIDIA's verdicts too: `pytest -k cond`, `pytest --lf`, `pytest -n auto`."""
    pluginkit_case.check()
