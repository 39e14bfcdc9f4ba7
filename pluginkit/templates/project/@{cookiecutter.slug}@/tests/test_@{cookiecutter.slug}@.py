from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PROJECT = Path(__file__).resolve().parents[1]
@% for line in cookiecutter.py_shapes %@
@{ line }@
@% endfor %@


def pluginkit(*args: str) -> None:
    """Run a pluginkit command in the project; its output is shown where it fails."""
    subprocess.run([sys.executable, "-m", "pluginkit", *args], cwd=PROJECT, check=True)


def load_reference():
    spec = importlib.util.spec_from_file_location("reference", PROJECT / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.reference


def test_the_reference_on_numbers_worked_out_by_hand() -> None:
@% for line in cookiecutter.py_test %@
    @{ line }@
@% endfor %@


@pytest.fixture(scope="session")
def built() -> None:
    pluginkit("build", "--target", "cpu")


@pytest.mark.parametrize("precision", [@{ cookiecutter.py_precisions }@])
def test_the_plugin_agrees_with_the_reference(built: None, precision: str) -> None:
    pluginkit("test", precision)
