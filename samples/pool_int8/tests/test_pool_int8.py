from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PROJECT = Path(__file__).resolve().parents[1]
SHAPES = [[2, 8, 8, 8]]


def pluginkit(*args: str) -> None:
    """Run a pluginkit command in the project; its output is shown where it fails."""
    subprocess.run([sys.executable, "-m", "pluginkit", *args], cwd=PROJECT, check=True)


def load_reference():
    spec = importlib.util.spec_from_file_location("reference", PROJECT / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.reference


def test_the_reference_on_numbers_worked_out_by_hand() -> None:
    reference = load_reference()
    inputs = [np.full(shape, 1.0) for shape in SHAPES]
    outputs = reference(
        *inputs,
        mode=0,
        kernel_h=2,
        kernel_w=2,
        stride_h=2,
        stride_w=2,
        pad_h=0,
        pad_w=0,
        ceil_mode=0,
        count_include_pad=0,
    )
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    expected = np.full((2, 8, 4, 4), 9.0)
    np.testing.assert_allclose(outputs[0], expected)
    inputs = [np.full(shape, -3.0) for shape in SHAPES]
    outputs = reference(
        *inputs,
        mode=0,
        kernel_h=2,
        kernel_w=2,
        stride_h=2,
        stride_w=2,
        pad_h=0,
        pad_w=0,
        ceil_mode=0,
        count_include_pad=0,
    )
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    expected = np.full((2, 8, 4, 4), 5.0)
    np.testing.assert_allclose(outputs[0], expected)


@pytest.fixture(scope="session")
def built() -> None:
    pluginkit("build", "--target", "cpu")


@pytest.mark.parametrize("precision", ["--fp32", "--fp16", "--int8"])
def test_the_plugin_agrees_with_the_reference(built: None, precision: str) -> None:
    pluginkit("test", precision)
