"""`pluginkit new --base v3`, end to end: the whole matrix, NVIDIA's builder and registries, from one library."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from pluginkit import cli, scaffold
from pluginkit.host import Library
from pluginkit.run.options import Options
from pluginkit.run.runner import run
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from pluginkit.testing.report import Outcome, Report
from tests.judged_networks import judged_networks

pytestmark = [pytest.mark.compile, pytest.mark.xdist_group("base-v3")]

FAMILIES = ("plain", "multi-profile", "loop-count", "scan", "cond-both", "if-in-loop")
"""One of each kind: `pluginkit test` has all."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return scaffold.new("MyPlugin", directory=tmp_path_factory.mktemp("v3"), base="v3", namespace="acme")


@pytest.fixture(scope="module")
def report(project: Path) -> Report:
    return run(Options(project=project, families=FAMILIES))


def test_every_case_passes(report: Report) -> None:
    assert {case.outcome for case in report.cases} == {Outcome.PASSED}
    assert {case.precision.value for case in report.cases} >= {"float32", "float16", "int8"}
    kinds = {family.partition("-")[0] for family in (case.family for case in report.cases)}
    assert kinds >= {"plain", "loop", "scan", "cond", "if"}


@pytest.mark.skipif(not tensorrt_rtx.probe().found, reason="no TensorRT-RTX")
def test_nvidias_builder_takes_it_as_it_is(report: Report) -> None:
    built = {verdict.network: verdict for verdict in report.verdicts if verdict.runtime == tensorrt_rtx.NAME}
    assert judged_networks(report) <= set(built)
    assert {verdict.outcome for verdict in built.values()} == {Outcome.PASSED}
    assert {verdict.outcome for verdict in report.controls} == {Outcome.PASSED}
    assert "as it is" in report.runtimes[tensorrt_rtx.NAME]


def test_nvidias_registries_make_it_in_both_phases(report: Report) -> None:
    assert {verdict.outcome for verdict in report.registries} <= {Outcome.PASSED}


@pytest.mark.parametrize("version", [100001, 101600, 110100, 10701])
def test_one_library_offers_one_v3_creator_to_each_host(report: Report, version: int) -> None:
    with Library(report.library, version) as library:
        found = [(creator.kind, creator.name, creator.namespace) for creator in library.creators]
    assert found == [("v3", "MyPlugin", "acme")]


@pytest.mark.slow
def test_the_whole_matrix(project: Path) -> None:
    report = run(Options(project=project))
    assert not report.bad
    assert len({case.family for case in report.cases}) > len(FAMILIES)


def test_a_model_with_it_is_imported_and_run(
    report: Report, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3, 4, 4]) for name in ("x", "y")]
    node = helper.make_node("MyPlugin", ["x"], ["y"], "n", domain="acme", plugin_version="1", plugin_namespace="acme")
    graph = helper.make_graph([node], "g", ends[:1], ends[1:])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("acme", 1)]
    model = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), model)
    assert cli.run(["import", str(model), "--plugins", str(report.library), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["run"]["status"] == "compared"
