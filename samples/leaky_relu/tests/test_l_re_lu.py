from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np

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
