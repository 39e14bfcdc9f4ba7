"""A plugin that lacks what no document promises: `pluginkit test` warns and passes; with --strict or `strict = true` it
fails."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from pluginkit import cli, pytest_plugin
from pluginkit.dtypes import DType
from pluginkit.evaluators.host.cases import _with, _without_graph
from pluginkit.manifest import Manifest
from pluginkit.process.findings import Defect
from pluginkit.run import suite as suites
from pluginkit.testing.report import CaseResult, Outcome
from tests.integration import probe

pytestmark = pytest.mark.compile

CASE = "plain/float32/opt"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin that doesn't write the last of its bytes."""
    return probe.library(tmp_path_factory.mktemp("library"), "serialize_short")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return probe.project(tmp_path)


def run(project: Path, library: Path, *more: str) -> int:
    return cli.run(["test", str(project), "--library", str(library), "--only", CASE, *more])


def test_a_warning_is_shown_everywhere_and_nothing_fails(
    project: Path, library: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {kind: tmp_path / f"report.{kind}" for kind in ("json", "html", "junit")}
    options = [word for kind, file in files.items() for word in (f"--{kind}", str(file))]
    assert run(project, library, *options) == 0
    output = capsys.readouterr().out
    assert "warning [S2] IPluginV2DynamicExt::serialize: byte 4 of 5 was not written" in output
    assert "1 passed of 1 cases" in output
    report = json.loads(files["json"].read_text())
    (one,) = [warning for warning in report["warnings"] if warning["rule"] == "S2"]
    # The plugin refuses neither cut bytes (S5) nor fields without data (F7), and takes types that no row has (C18).
    assert sorted({warning["rule"] for warning in report["warnings"]}) == ["C18", "F7", "S2", "S5"]
    assert "; 4 warnings; " in output
    assert (one["rule"], one["method"], one["cases"]) == ("S2", "IPluginV2DynamicExt::serialize", [CASE])
    assert (report["exit_code"], "S2" in [each["rule"] for each in report["cases"][0]["warnings"]]) == (0, True)
    for kind in ("html", "junit"):
        assert "[S2] IPluginV2DynamicExt::serialize: byte 4 of 5" in files[kind].read_text()


def test_strict_makes_it_a_failure(project: Path, library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(project, library, "--strict") == 1
    output = " ".join(capsys.readouterr().out.split())
    assert f"{CASE}: failed a warning is a failure here" in output
    assert output.count("[S2] IPluginV2DynamicExt::serialize: byte 4 of 5 was not written") == 1
    assert "--strict --only plain/float32/opt" in output


def test_a_project_may_be_strict_by_itself(project: Path, library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert not Manifest.load(project).test.strict
    (project / "pluginkit.toml").write_text(f"{probe.MANIFEST}test = {{ strict = true }}\n")
    assert run(project, library) == 1
    assert "a warning is a failure here" in capsys.readouterr().out


def test_pytests_items_warn_too(project: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suites.Suite, "_library", lambda *_: library)
    for strict in (False, True):
        (project / "pluginkit.toml").write_text(f"{probe.MANIFEST}test = {{ strict = {str(strict).lower()} }}\n")
        suite = suites.Suite(project, None)
        try:
            case = pytest_plugin.PluginkitCase(CASE, suite)
            if strict:
                with pytest.raises(pytest.fail.Exception, match="a warning is a failure here"):
                    case.check()
            else:
                with warnings.catch_warnings(record=True) as text:
                    warnings.simplefilter("always")
                    case.check()
                assert {one.category for one in text} == {pytest_plugin.PluginkitWarning}
                assert any("[S2] IPluginV2DynamicExt::serialize" in str(one.message) for one in text)
        finally:
            suite.close()


def test_what_enqueue_had_better_not_do_is_a_warning_and_the_rest_fails() -> None:
    passed = CaseResult("a/b", "a", "a", DType.FLOAT32, "b", "", Outcome.PASSED)
    costs, wrong = (Defect(kind, "cudaX in enqueue()") for kind in ("allocation-in-enqueue", "wrong-stream"))
    found = _with(passed, [costs], "")
    assert (found.outcome, [one.rule for one in found.warnings], found.defects) == (Outcome.PASSED, ["E4"], (costs,))
    found = _with(passed, [costs, wrong], "")
    assert (found.outcome, [one.rule for one in found.warnings]) == (Outcome.FAILED, ["E4"])
    assert "work on another stream" in found.message
    assert "an allocation" not in found.message
    # A capture takes memory of the stream's order, which costs time all the same.
    ordered = Defect("allocation-in-enqueue", "cudaMallocAsync in enqueue()")
    assert [one.rule for one in _with(passed, [ordered], "").warnings] == ["E3"]


def test_what_goes_wrong_in_a_cuda_graph_alone_is_a_warning() -> None:
    failed = CaseResult("a/b", "a", "a", DType.FLOAT32, "b", "", Outcome.FAILED, message="output 'y' is 1")
    found = _without_graph(failed)
    assert (found.outcome, found.message) == (Outcome.PASSED, "")
    assert [one.text for one in found.warnings] == ["[E4] enqueue: output 'y' is 1"]
    crashed = replace(failed, outcome=Outcome.CRASHED)
    assert _without_graph(crashed) == crashed
