@% set plugin = signature(cookiecutter) %@
@% set eager = plugin.py_eager and not plugin.added %@
from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
@% if eager %@
import pytest
@% endif %@

PROJECT = Path(__file__).resolve().parents[1]
@% for line in plugin.py_shapes %@
@{ line }@
@% endfor %@


def load_reference():
    spec = importlib.util.spec_from_file_location("reference", PROJECT / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.reference


def test_the_reference_on_numbers_worked_out_by_hand() -> None:
    """For the function that `pluginkit new` writes: change the numbers with it."""
@% for line in plugin.py_test %@
    @{ line }@
@% endfor %@
@% if not plugin.added %@


def test_in_networks(pluginkit_case) -> None:
    """Each case of `pluginkit test`, NVIDIA's verdicts too: `pytest -k cond`, `pytest --lf`, `pytest -n auto`."""
    pluginkit_case.check()
@% endif %@
@% if eager %@


def test_in_python(monkeypatch) -> None:
    """The Python module on NumPy's arrays, against the reference."""
    monkeypatch.syspath_prepend(PROJECT / "build" / "cpu")
    reason = "`pluginkit build` makes the module"
    module = pytest.importorskip("@{ plugin.py_module }@", reason=reason)
@% for line in plugin.py_eager %@
    @{ line }@
@% endfor %@
@% endif %@
