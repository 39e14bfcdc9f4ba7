"""The table of behaviours, held against TensorRT 8.5: a version that behaves otherwise is named with its row."""

from __future__ import annotations

import functools
import json
import os
import subprocess
from pathlib import Path

import pytest

from pluginkit.runtimes.tensorrt.behaviours import BEHAVIOURS

pytestmark = [pytest.mark.real_tensorrt, pytest.mark.xdist_group("gpu")]

ROOT = Path(__file__).resolve().parents[2]
WITHOUT_GPU = {name for one in BEHAVIOURS.values() for name in one.controls if name.startswith(("registry_", "null_"))}
"""Controls that ask the registry alone."""
CONTROLS = [
    pytest.param(one.id, name, marks=() if name in WITHOUT_GPU else pytest.mark.gpu)
    for one in BEHAVIOURS.values()
    for name in one.controls
]


@functools.cache
def answers(*names: str) -> dict[str, str]:
    """Of these controls; without names, of all."""
    python = os.environ.get("PLUGINKIT_TENSORRT8_PYTHON", "")
    if not python:
        pytest.skip("no TensorRT 8: PLUGINKIT_TENSORRT8_PYTHON names no Python that has it")
    command = [python, "-m", "tests.gpu.controls8", *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {name: answer for line in done.stdout.splitlines() for name, answer in json.loads(line).items()}


@pytest.mark.parametrize(("row", "control"), CONTROLS)
def test_tensorrt_does_what_the_row_says(row: str, control: str) -> None:
    one = BEHAVIOURS[row]
    seen = answers(*sorted(WITHOUT_GPU)) if control in WITHOUT_GPU else answers()
    says = f"the row {row} of TensorRT 8.5.3 says: {one.refused or one.seen}"
    assert one.shown_by(seen[control]), f"{says}\nTensorRT {seen['TensorRT']}, {control}: {seen[control]}"
