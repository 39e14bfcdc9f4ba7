"""The whole matrix on the GPU: the samples, and what `pluginkit new` writes for each base and each pattern."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from pluginkit import scaffold
from pluginkit.run.options import Options
from pluginkit.run.runner import run
from pluginkit.testing.report import Outcome
from tests.scaffolds import gallery

pytestmark = [pytest.mark.gpu, pytest.mark.compile, pytest.mark.xdist_group("gpu")]

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
TWO = {
    "inputs": ["x:float32,float16,int8:n,c", "w:float32,float16,int8:n,2"],
    "outputs": ["y:float32,float16,int8:n,c", "z:float32,float16,int8:n,c + 1"],
}
GENERATED = {"dynamic": {"formats": ["hwc8", "chw32"]}, "ioext": TWO, "v3": {}}


@pytest.mark.parametrize(
    "name",
    ["bar_plugin", "pool_int8", "leaky_relu", "pad", "char_lstm", "sum_even", "nonzero", *gallery.COMMANDS, *GENERATED],
)
def test_every_case_passes(tmp_path: Path, name: str) -> None:
    if name in GENERATED:
        project = scaffold.new("MyPlugin", directory=tmp_path, base=name, **GENERATED[name])
    elif name in gallery.COMMANDS:
        project = gallery.project(name, tmp_path)
    else:
        project = Path(shutil.copytree(SAMPLES / name, tmp_path / name, ignore=shutil.ignore_patterns("build")))
    report = run(Options(project=project, target="gpu", jobs=min(8, os.cpu_count() or 1)))
    seconds = sum(case.seconds for case in report.cases)
    print(f"{name}: {len(report.cases)} cases, {seconds:.1f} s in workers, {report.runtimes['host']}")
    assert {case.outcome for case in report.cases} == {Outcome.PASSED}, report.bad[:3]
    assert {case.target for case in report.cases} == {"gpu"}
    assert report.bad == []
    assert "on target gpu (" in report.runtimes["host"]
    assert Path(report.library).parent.name == "gpu"
    if name == "ioext":
        assert {case.runs for case in report.cases} == {6}  # in both conventions, each in three ways


def test_auto_runs_both_targets(tmp_path: Path) -> None:
    project = scaffold.new("MyPlugin", directory=tmp_path)
    report = run(Options(project=project, target="auto", families=("plain",), only=("plain/float32/*",)))
    assert report.bad == []
    assert [case.id for case in report.cases if case.target == "cpu"] == [
        case.id for case in report.cases if case.target == "gpu"
    ]
    assert "on target cpu and on target gpu (" in report.runtimes["host"]
