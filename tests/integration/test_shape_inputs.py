"""A plugin with shape inputs as `pluginkit new` writes it: built, in networks, with NVIDIA's builder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pluginkit import cli, scaffold
from pluginkit.run.options import Options
from pluginkit.run.runner import run
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from pluginkit.testing.report import Outcome, Report

pytestmark = [pytest.mark.compile, pytest.mark.rtx, pytest.mark.slow]

OWN = "(refusal shape-input-in-flow)"
FREE = {
    "plain", "shape-in", "shape-out", "shape-values", "multi-profile", "loop-invariant", "cond-then", "cond-else",
    "if-in-if", "api-shape-out", "api-slice", "api-resize", "api-shapes",
    "api-cond-select", "api-cond-constant", "api-unused",
}  # fmt: skip
"""The families that NVIDIA's builder takes with values of run time."""


def made(folder: Path) -> Path:
    return scaffold.new(
        "FillTo",
        directory=folder,
        base="v3",
        inputs=["size:int64:2:values=oh,ow", "x:float32,float16:n,c", "k:int32:2:values=k,3"],
        outputs=["y:float32,float16:n,oh,ow", "z:float32:k + 1,ow"],
    )


def evaluate(report: Report, families: set[str]) -> None:
    assert [f"{item}" for item in report.bad] == []
    assert {case.outcome for case in report.cases} == {Outcome.PASSED}
    assert families <= {case.family for case in report.cases}
    if not tensorrt_rtx.probe().found:
        return
    judged = {one.network.partition("/")[0]: one for one in report.verdicts if one.runtime == tensorrt_rtx.NAME}
    assert {name for name, one in judged.items() if one.outcome is Outcome.PASSED} == families & FREE
    for name, one in judged.items():
        if name not in FREE:
            assert one.outcome is Outcome.SKIPPED
            assert OWN in one.message
            assert "With these values as constants it builds the network" in one.message


CALL = """
import sys
sys.path.insert(0, "build/cpu")
import numpy as np, fill_to
fill_to.FillTo(alpha=0.5)(np.array([4, 5]), np.ones((2, 3), np.float32), np.array([2, 3], np.int32))
"""


def test_its_python_module_says_why_it_cannot_be_called(tmp_path: Path) -> None:
    project = made(tmp_path)
    assert cli.run(["build", str(project), "--target", "cpu"]) == 0
    called = subprocess.run([sys.executable, "-c", CALL], cwd=project, capture_output=True, text=True, check=False)
    assert "RuntimeError: FillTo has the shape input size, whose values an eager call doesn't give" in called.stderr


def test_its_whole_matrix_is_green(tmp_path: Path) -> None:
    report = run(Options(project=made(tmp_path), target="cpu"))
    evaluate(report, {case.family for case in report.cases} | {"loop-in-loop", "if-in-if", "multi-profile"})
