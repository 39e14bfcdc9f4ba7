"""New projects of other signatures than the default, through the whole path, and a new project's own tests."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from pluginkit import scaffold
from pluginkit.run.options import Options
from pluginkit.run.runner import run
from pluginkit.testing.families import FAMILIES
from pluginkit.testing.report import Outcome
from tests.judged_networks import judged_networks

# shape-values is for plugins with shape inputs.
ONNX = [name for name, family in FAMILIES.items() if not family.BY_API and name != "shape-values"]
pytestmark = [pytest.mark.compile, pytest.mark.rtx, pytest.mark.slow]


def test_three_inputs_one_of_them_int32_and_two_outputs(tmp_path: Path) -> None:
    project = scaffold.new(
        "ThreeTwo",
        directory=tmp_path,
        inputs=["x:float32,float16,int8:n,c", "w:float32,float16:c", "index:int32:n"],
        outputs=["y:float32,float16,int8:n,c", "z:float32,float16:n,2"],
        fields=["alpha:float32=0.1", "bias:float32=-2.5", "shift:int32=3"],
    )
    report = run(Options(project=project))
    assert report.bad == []
    by_onnx = [case for case in report.cases if not case.family.startswith("api-")]
    assert {(case.family, case.precision.short) for case in by_onnx} == {
        (family, precision) for family in ONNX for precision in ("FP32", "FP16", "INT8")
    }
    assert {verdict.outcome for verdict in report.verdicts + report.controls} == {Outcome.PASSED}
    by_api = [verdict.network for verdict in report.verdicts if verdict.network.startswith("api-")]
    assert len(by_api) == sum(family.BY_API for family in FAMILIES.values())
    assert {verdict.network for verdict in report.verdicts} == judged_networks(report)
    assert len(report.controls) == 51


def test_mixed_types_and_formats_from_no_element_on(tmp_path: Path) -> None:
    """INT8 in and FP32 out beside FP32 in and INT8 out; tensors of other formats; a profile that begins at 0."""
    project = scaffold.new(
        "MixedTypes",
        directory=tmp_path,
        inputs=["x:float32,int8:n,3,h,w", "b:float32,float16:3,h,w"],
        outputs=["y:float32:n,3,h,w", "z:float32,int8:n,3,h,w"],
        formats=["chw32", "hwc"],
    )
    file = project / "pluginkit.toml"
    file.write_text(file.read_text().replace("n = [1, 2, 4]", "n = [0, 2, 4]"))
    report = run(Options(project=project))
    assert report.bad == []
    assert {case.network for case in report.cases} >= {"plain/int8-chw32", "plain/int8-hwc", "plain/int8-implicit-max"}
    assert {verdict.outcome for verdict in report.verdicts + report.controls} == {Outcome.PASSED}


def test_a_new_project_passes_its_own_tests_and_reports_agree(tmp_path: Path) -> None:
    project = scaffold.new("MyPlugin", directory=tmp_path)
    own = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(project)],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert own.returncode == 0, own.stdout + own.stderr
    assert int(re.search(r"(\d+) passed", own.stdout)[1]) > 60
    json_file, junit = tmp_path / "report.json", tmp_path / "report.xml"
    command = [sys.executable, "-m", "pluginkit", "test", "--int8", "--json", str(json_file), "--junit", str(junit)]
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    report = json.loads(json_file.read_text())
    assert report["exit_code"] == 0
    asked = {case["id"] for case in report["cases"]} | {
        verdict["network"] for verdict in report["verdicts"] + report["controls"] + report["registries"]
    }
    message = {test.get("name"): [child.tag for child in test] for test in ET.parse(junit).getroot().iter("testcase")}
    assert message == {name: [] for name in asked}
