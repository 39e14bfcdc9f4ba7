"""samples/bar_plugin passes everything, NVIDIA's builder included, also on a photograph."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from pluginkit import cli
from pluginkit.dtypes import DType
from pluginkit.run.options import Options
from pluginkit.run.runner import run
from pluginkit.testing.families import FAMILIES
from pluginkit.testing.report import Outcome, Report
from tests.judged_networks import judged_networks

# shape-values is for plugins with shape inputs.
ONNX = [name for name, family in FAMILIES.items() if not family.BY_API and name != "shape-values"]
pytestmark = [pytest.mark.compile, pytest.mark.rtx, pytest.mark.xdist_group("bar")]

SAMPLE = Path(__file__).resolve().parents[2] / "samples" / "bar_plugin"


@pytest.fixture
def project(own_bar: Path) -> Path:
    return own_bar


def test_every_network_in_every_precision(bar_report: Report) -> None:
    report = bar_report
    assert report.bad == []
    assert report.exit_code == 0
    by_onnx = [case for case in report.cases if not case.family.startswith("api-")]
    assert {(case.family, case.precision.short) for case in by_onnx} == {
        *((family, precision) for family in ONNX for precision in ("FP32", "FP16", "INT8")),
        ("plain", "BF16"),
    }
    variants = {f"plain/{kind}-{form}" for kind in ("float16", "bfloat16") for form in ("chw2", "hwc8")}
    assert variants | {"plain/int8-implicit-max", "plain/int8-implicit-entropy"} <= {c.network for c in report.cases}
    assert variants <= {verdict.network for verdict in report.verdicts}
    assert all(case.error == 0 for case in report.cases), "values are moved, so they must be the same to the last bit"
    assert {verdict.outcome for verdict in report.verdicts + report.controls} == {Outcome.PASSED}
    by_api = [verdict.network for verdict in report.verdicts if verdict.network.startswith("api-")]
    assert len(by_api) == sum(family.BY_API for family in FAMILIES.values())
    assert {verdict.network for verdict in report.verdicts} == judged_networks(report)
    assert len(report.controls) == 66


def test_the_report_is_the_same_however_much_is_done_at_once(project: Path) -> None:
    part = Options(project=project, families=("plain", "cond-both"), precisions=(DType.FLOAT32,))
    one, many = (run(replace(part, jobs=jobs)) for jobs in (1, 3))
    assert [(case.id, case.error, case.outcome) for case in one.cases] == [
        (case.id, case.error, case.outcome) for case in many.cases
    ]
    assert [verdict.network for verdict in one.verdicts] == [verdict.network for verdict in many.verdicts]
    assert [control.network for control in one.controls] == [control.network for control in many.controls]
    assert one.runtimes == many.runtimes


def test_a_photograph(project: Path, tmp_path: Path) -> None:
    photo = np.load(SAMPLE / "data" / "photo.npy").astype(np.float32).transpose(2, 0, 1)[None]
    np.savez(tmp_path / "photo.npz", a=photo[..., :64, :64], b=photo[..., -64:, -64:])
    json_file, junit = tmp_path / "report.json", tmp_path / "report.xml"
    arguments = ["test", str(project), "--network", "plain", "--data", str(tmp_path / "photo.npz")]
    assert cli.run([*arguments, "--json", str(json_file), "--junit", str(junit)]) == 0
    report = json.loads(json_file.read_text())
    mine = [case for case in report["cases"] if case["point"].startswith("data")]
    assert len(mine) == 10
    assert all("h=64 w=64" in case["shape"] for case in mine)
    suites = ET.parse(junit).getroot()
    names = {test.get("name") for test in suites.iter("testcase")}
    assert {case["id"] for case in report["cases"]} <= names


def test_the_photograph_as_int8_would_notice_one_wrong_byte(project: Path, tmp_path: Path) -> None:
    kernel = project / "src" / "bar_plugin.cu"
    right = kernel.read_text()
    wrong = right.replace("joined[i] = word;", "joined[i] = wordsA > 0 ? a[0] : word;")
    assert wrong != right
    kernel.write_text(wrong)
    try:
        report = run(Options(project=project, only=("plain/*/opt",)))
    finally:
        kernel.write_text(right)
    assert report.exit_code == 1
    assert {case.id for case in report.bad} >= {f"plain/{kind}/opt" for kind in ("float32", "float16", "int8")}
    assert all("joined" in case.message and "copy" not in case.message for case in report.bad)
