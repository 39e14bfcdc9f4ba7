"""`pluginkit import` without the extra `model`: what needs no onnxruntime is done, and the rest says what to type."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import helper

from pluginkit.runtimes.rtx import session as tensorrt_rtx

from .models import model, scale

pytestmark = [
    pytest.mark.compile,
    pytest.mark.rtx,
    pytest.mark.xdist_group("projects"),
    pytest.mark.skipif(not tensorrt_rtx.probe().found, reason="TensorRT-RTX isn't here"),
]

RELU = helper.make_node("Relu", ["x"], ["t"], "relu")
TYPE = "type pip install 'pluginkit[model]'"


def imported(tmp_path: Path, proto: onnx.ModelProto, *options: str | Path) -> tuple[int, dict[str, Any]]:
    """The exit code and the JSON of a process that finds no onnxruntime."""
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    lines = 'raise ModuleNotFoundError("No module named \'onnxruntime\'", name="onnxruntime")\n'
    (hidden / "onnxruntime.py").write_text(lines)
    path = tmp_path / "model.onnx"
    onnx.save(proto, path)
    command = [sys.executable, "-m", "pluginkit", "import", str(path), "--json", *map(str, options)]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(hidden)}, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr
    return done.returncode, json.loads(done.stdout)


def test_a_model_without_plugins_is_built_and_not_run(tmp_path: Path) -> None:
    code, output = imported(tmp_path, model([helper.make_node("Relu", ["x"], ["y"], "relu")]))
    assert code == 4
    assert (output["build"]["status"], output["run"]["status"]) == ("built", "not run")
    assert "onnxruntime, which runs what is no plugin, is not installed" in output["run"]["message"]
    assert output["run"]["fix"] == TYPE
    assert f"to run it, {TYPE}" in output["summary"]


def test_plugins_are_run_and_not_compared(scale_project: Path, tmp_path: Path) -> None:
    code, output = imported(tmp_path, model([RELU, scale(["t"])]), "--plugins", scale_project)
    assert code == 4
    assert output["run"]["status"] == "ran"
    assert output["run"]["message"].startswith("1 output, not compared, because onnxruntime")
    assert f"to compare it, {TYPE}" in output["summary"]


def test_what_needs_no_onnxruntime_is_compared(scale_project: Path, tmp_path: Path) -> None:
    code, output = imported(tmp_path, model([scale()]), "--plugins", scale_project)
    assert (code, output["run"]["status"]) == (0, "compared")


def test_what_is_wrong_goes_before_what_is_missing(scale_project: Path, tmp_path: Path) -> None:
    code, output = imported(tmp_path, model([RELU, scale(["t"], factor="two")]), "--plugins", scale_project)
    assert code == 1
    assert [problem["level"] for problem in output["problems"]].count("error") >= 1
