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

from pluginkit import installation
from pluginkit.runtimes.rtx import session as tensorrt_rtx

from .models import model, scale

pytestmark = [
    pytest.mark.compile,
    pytest.mark.rtx,
    pytest.mark.xdist_group("projects"),
    pytest.mark.skipif(not tensorrt_rtx.probe().found, reason="TensorRT-RTX isn't here"),
]

RELU = helper.make_node("Relu", ["x"], ["t"], "relu")
Answers = dict[str, tuple[int, dict[str, Any]]]
TYPE = f"type {installation.extra('model')}"


SCRIPT = """
import json, sys
from pluginkit import cli
for command in json.load(sys.stdin):
    print("\\x1e", cli.run(command), "\\x1e", sep="", flush=True)
"""
"""Several commands in one process; the exit code of each behind its output."""
MODELS = {
    "no plugin": model([helper.make_node("Relu", ["x"], ["y"], "relu")]),
    "both": model([RELU, scale(["t"])]),
    "plugin": model([scale()]),
    "wrong": model([RELU, scale(["t"], factor="two")]),
}


@pytest.fixture(scope="module")
def imported(scale_project: Path, tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """Exit codes and JSON, by model, of a process that finds no onnxruntime."""
    folder = tmp_path_factory.mktemp("without")
    hidden = folder / "hidden"
    hidden.mkdir()
    lines = 'raise ModuleNotFoundError("No module named \'onnxruntime\'", name="onnxruntime")\n'
    (hidden / "onnxruntime.py").write_text(lines)
    commands = []
    for number, (name, proto) in enumerate(MODELS.items()):
        path = folder / f"{number}.onnx"
        onnx.save(proto, path)
        plugins = [] if name == "no plugin" else ["--plugins", str(scale_project)]
        commands.append(["import", str(path), "--json", *plugins])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "PYTHONPATH": str(hidden)},
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    outputs, codes = done.stdout.split("\x1e")[0:-1:2], done.stdout.split("\x1e")[1::2]
    assert len(codes) == len(MODELS), done.stderr
    answers = [(int(code), json.loads(text)) for code, text in zip(codes, outputs, strict=True)]
    return dict(zip(MODELS, answers, strict=True))


def test_a_model_without_plugins_is_built_and_not_run(imported: Answers) -> None:
    code, output = imported["no plugin"]
    assert code == 4
    assert (output["build"]["status"], output["run"]["status"]) == ("built", "not run")
    assert "onnxruntime, which runs what is not a plugin, is not installed" in output["run"]["message"]
    assert output["run"]["fix"] == TYPE
    assert f"to run it, {TYPE}" in output["summary"]


def test_plugins_are_run_and_not_compared(imported: Answers) -> None:
    code, output = imported["both"]
    assert code == 4
    assert output["run"]["status"] == "ran"
    assert output["run"]["message"].startswith("1 output, not compared, because onnxruntime")
    assert f"to compare it, {TYPE}" in output["summary"]


def test_what_needs_no_onnxruntime_is_compared(imported: Answers) -> None:
    code, output = imported["plugin"]
    assert (code, output["run"]["status"]) == (0, "compared")


def test_what_is_wrong_goes_before_what_is_missing(imported: Answers) -> None:
    code, output = imported["wrong"]
    assert code == 1
    assert [problem["level"] for problem in output["problems"]].count("error") >= 1
