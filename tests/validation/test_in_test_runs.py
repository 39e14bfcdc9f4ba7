"""`pluginkit test` asks the checks of the library too, where it runs all: what no case has shown is in its report."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from pluginkit.cli import command
from pluginkit.cli.testing import test_session
from pluginkit.dtypes import DType
from pluginkit.errors import UsageError
from pluginkit.run import messages, project_checks, several_plugins
from pluginkit.run.options import Options
from pluginkit.run.project_checks import with_checks
from pluginkit.testing.report import CaseResult, Outcome, Report
from pluginkit.validation import CHECKS, CheckReport, choose
from pluginkit.validation.checking import CheckLimits
from tests.host.conftest import Compile
from tests.validation.test_project import MANIFEST, REFERENCE

pytestmark = pytest.mark.compile

CASE = CaseResult("plain/float32/opt", "plain/float32", "plain", DType.FLOAT32, "opt", "n=2", Outcome.PASSED, 0.0, 1.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pluginkit.toml").write_text(MANIFEST)
    (tmp_path / "reference.py").write_text(REFERENCE)
    return tmp_path


@pytest.fixture(autouse=True)
def _few_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them take a second of CPU each time."""
    assert {one.need for one in choose()} >= {"file", "loaded", "plugin", "manifest"}
    monkeypatch.setattr(project_checks, "choose", lambda: [CHECKS[name] for name in ("I3", "F14", "L1")])


def report_of(library: Path, *cases: CaseResult, strict: bool = False) -> Report:
    return Report("Probe", str(library), "", 0, (CASE, *cases), (), strict=strict)


def test_what_no_case_has_shown(folder: Path, compile_plugin: Compile, tmp_path: Path) -> None:
    library = compile_plugin("clone_other")
    options = Options(folder, library=library)
    (report,) = with_checks(options, (report_of(library),))
    assert [(one.network, one.outcome) for one in report.bad] == [("check/L1", Outcome.FAILED)]
    assert report.exit_code == 1
    closing = messages.closing(report)
    assert closing.startswith("Probe: FAILED: ")
    assert "checks of the library passed" in closing
    again = messages.again(folder, library, strict=True)
    failure = messages.failure(report.bad[0], report, again)
    assert failure.head == "check/L1 in pluginkit check: failed"
    assert failure.again == f"pluginkit check {folder} --library {library} --include L1"
    assert "the clone serializes to other bytes" in failure.text
    assert "source: NvInferRuntimePlugin.h" in failure.text
    report.write_junit(tmp_path / "out.xml")
    assert 'name="check/L1"' in (tmp_path / "out.xml").read_text()
    # The same finding in a case is enough.
    shown = replace(CASE, id="plain/float32/max", outcome=Outcome.FAILED, message="a clone is another", demand="L1")
    (once,) = with_checks(options, (report_of(library, shown),))
    assert once.bad == [shown]
    # And a run of a part is asked nothing more.
    assert with_checks(replace(options, only=("plain/*",)), (report_of(library),)) == (report_of(library),)


def test_a_warning_is_one(folder: Path, compile_plugin: Compile) -> None:
    """What nobody promises: the list of fields grows; and with strict it is a failure."""
    library = compile_plugin("fields_grow")
    (report,) = with_checks(Options(folder, library=library), (report_of(library),))
    assert "F14" in {one.warning.rule for one in report.warnings}
    assert report.bad == []
    (strict,) = with_checks(Options(folder, library=library), (report_of(library, strict=True),))
    assert "check/F14" in {one.network for one in strict.bad if not isinstance(one, CaseResult)}
    assert strict.check_warnings == ()


def test_the_command_has_them(folder: Path, compile_plugin: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    library = compile_plugin("clone_other")
    found = several_plugins.Runs((report_of(library),))
    monkeypatch.setattr(test_session.several_plugins, "run", lambda *_: found)
    out = folder / "out.json"
    asked = ["test", str(folder), "--library", str(library), "--json", str(out)]
    ended = CliRunner().invoke(command, asked, standalone_mode=False)
    assert ended.return_value == 1, ended.output
    assert "check/L1 in pluginkit check: failed" in ended.output
    checks = {one["network"]: one["outcome"] for one in json.loads(out.read_text())["checks"]}
    assert checks["check/L1"] == "failed"
    assert checks["check/I3"] == "passed"


def test_an_error_of_the_checks_keeps_the_report(
    folder: Path, compile_plugin: Compile, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = compile_plugin("none")
    (folder / "pluginkit.toml").write_text(MANIFEST + '\n[checks]\nL111 = "why"\n')
    monkeypatch.setattr(test_session.several_plugins, "run", lambda *_: several_plugins.Runs((report_of(library),)))
    out = folder / "out.json"
    asked = ["test", str(folder), "--library", str(library), "--json", str(out)]
    ended = CliRunner().invoke(command, asked, standalone_mode=False)
    assert isinstance(ended.exception, UsageError)
    assert "unknown check 'L111'" in str(ended.exception)
    assert [one["id"] for one in json.loads(out.read_text())["cases"]] == [CASE.id]
    assert "1 passed of 1 cases" in ended.output


def test_the_runs_time_is_the_checks(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin that may take a minute in a case may take it in a check."""
    limits = []

    def found(*_: object, **more: object) -> CheckReport:
        limits.append(more["limits"])
        return CheckReport(tmp_path, (), ())

    monkeypatch.setattr(project_checks, "check_library", found)
    library = folder / "reference.py"
    with_checks(Options(folder, library=library, timeout=77.0, jobs=3), (report_of(library),))
    assert limits == [CheckLimits(77.0, jobs=3)]
