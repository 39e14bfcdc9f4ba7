"""`pluginkit check` of a project: what its manifest says is held against the library, and its runs are looked at."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pluginkit.build.sanitizers import GPU_SANITIZERS
from pluginkit.cli import command
from pluginkit.errors import CheckFailed, FarmLost, ToolMissing, UsageError
from pluginkit.evaluators.protocol import Answers, Item
from pluginkit.run import on_gpu, project_checks
from pluginkit.run.executors import LocalExecutor
from pluginkit.run.options import Options
from pluginkit.run.project_checks import ProjectOptions, check_project
from pluginkit.testing.report import Report
from pluginkit.validation import CHECKS, CheckReport, CheckResult, Ending, check_library
from pluginkit.validation.subjects.asking import NO_RUN
from tests.host.conftest import Compile
from tests.validation.test_evidence import CASE

pytestmark = pytest.mark.compile

MANIFEST = """\
[plugin]
name = "Probe"
namespace = "tests"
workspace = "4 * n"

[[inputs]]
name = "x"
types = ["float32"]
shape = ["n", "m"]

[[outputs]]
name = "y"
types = ["float32"]
shape = ["2 * n + 1", "ceil_div(m, 2)"]

[[outputs]]
name = "copy"
types = ["float32"]
shape = ["n", "m"]

[[fields]]
name = "factor"
type = "float32"

[[profiles]]
symbols = { n = [1, 2, 4], m = [2, 2, 4] }
"""
REFERENCE = """\
import numpy as np


def reference(x, *, factor):
    n, m = x.shape
    return np.full((2 * n + 1, -(-m // 2)), x.sum() * factor, x.dtype), x
"""

RUNS = {"T17": "beyond", "K15": "throw_enqueue"}
"""A fault of the library that a run shows, by the check."""
MANIFESTS = {
    "I3": ('name = "Probe"', 'name = "Probe"\nversion = "2"'),
    "I11": ("workspace =", 'base = "v3"\nworkspace ='),
}
"""What is replaced by what in the manifest, so that it isn't the library's."""

Project = Callable[..., Path]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Makes a folder with a manifest and a reference."""

    def make(right: str = "", wrong: str = "", more: str = "") -> Path:
        (tmp_path / "pluginkit.toml").write_text(MANIFEST.replace(right, wrong) + more if right else MANIFEST + more)
        (tmp_path / "reference.py").write_text(REFERENCE)
        return tmp_path

    return make


def ask(project: Path, library: Path, *names: str) -> CheckReport:
    chosen = [CHECKS[name] for name in names] if names else list(CHECKS.values())
    return check_project(ProjectOptions(project, library), chosen)


def result(report: CheckReport, name: str) -> CheckResult:
    return next(one for one in report.results if one.check == name)


@pytest.mark.parametrize("check", RUNS)
def test_a_fault_that_a_run_shows(project: Project, compile_plugin: Compile, check: str) -> None:
    report = ask(project(), compile_plugin(RUNS[check]), check)
    assert result(report, check).ending is (Ending.CRASHED if check == "K15" else Ending.FAILED), report.results
    assert report.exit_code == (6 if check == "K15" else 1)


@pytest.mark.parametrize("check", MANIFESTS)
def test_a_manifest_that_is_not_the_librarys(project: Project, compile_plugin: Compile, check: str) -> None:
    report = ask(project(*MANIFESTS[check]), compile_plugin("none"), check)
    usual = Ending.WARNING if CHECKS[check].kind == "robustness" else Ending.FAILED
    assert result(report, check).ending is usual, report.results


@pytest.mark.parametrize(("error", "ends"), [(FarmLost, True), (ToolMissing, False)])
def test_a_farm_that_is_lost_is_no_absent_tool(
    project: Project, compile_plugin: Compile, error: type[ToolMissing], ends: bool
) -> None:
    """The checks that runs show would be skipped, and all be well."""

    class Lost(LocalExecutor):
        def execute(self, *_: object) -> dict[Item, Answers]:
            raise error("No worker is left for host; 3 of 9 items are done.")

    asked = ProjectOptions(project(), compile_plugin("none"))
    executor = Lost(Options(project=asked.project))
    with pytest.raises(FarmLost, match="No worker is left") if ends else nullcontext():
        report = check_project(asked, [CHECKS["K15"]], executor=executor)
        assert result(report, "K15").ending is Ending.SKIPPED


def test_why_sanitizers_and_runs_are_skipped(project: Project, compile_plugin: Compile, tmp_path: Path) -> None:
    """Checks are compiled into what pluginkit builds alone; and a run needs a manifest."""
    library = compile_plugin("none")
    report = ask(project(), library, "K2", "K15")
    assert result(report, "K15").ending is Ending.PASSED
    assert result(report, "K2").message.endswith("the library is taken as it is: leave out --library")
    made = project(more=f'\n[library]\npath = "{library}"\n')
    report = check_project(ProjectOptions(made), [CHECKS["K2"], CHECKS["K15"]])
    assert result(report, "K15").ending is Ending.PASSED
    assert result(report, "K2").message.endswith("[library] in pluginkit.toml has another build")
    alone = check_library(library, [CHECKS["K2"], CHECKS["K15"]])
    assert {(one.ending, one.message) for one in alone.results} == {(Ending.SKIPPED, NO_RUN)}
    assert "pluginkit adopt drafts one" in NO_RUN


def test_a_strict_manifest(project: Project, compile_plugin: Compile) -> None:
    """As for `pluginkit test`: what nobody promises is a failure."""
    assert ask(project(), compile_plugin("fields_grow"), "F14").exit_code == 0
    strict = ask(project(more="\n[test]\nstrict = true\n"), compile_plugin("fields_grow"), "F14")
    assert strict.exit_code == 1, strict.results


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, ["check", *map(str, arguments)], standalone_mode=False)


def test_a_check_is_switched_off_with_its_reason(project: Project, compile_plugin: Compile) -> None:
    """All reports show the reason, of the check that would find something and of the file's."""
    reason = "the engines are signed"
    folder = project(more=f'\n[checks]\nclone-equal = "{reason}"\nB19 = "one library a process"\n')
    files = {kind: folder / f"out.{kind}" for kind in ("json", "junit")}
    asked = ("--include", "L1", "--include", "B19", "--include", "S1")
    out = (part for kind, file in files.items() for part in (f"--{kind}", file))
    found = run(folder, "--library", compile_plugin("clone_other"), *asked, *out)
    assert found.return_value == 0, found.output
    assert f"skipped L1: switched off in pluginkit.toml: {reason}" in found.output
    assert "skipped B19: switched off in pluginkit.toml: one library a process" in found.output
    assert "made of pluginkit.toml's values" in found.output
    plain = {one["check"]: one for one in json.loads(files["json"].read_text())["results"]}
    assert {name: one["ending"] for name, one in plain.items()} == {"L1": "skipped", "B19": "skipped", "S1": "passed"}
    assert reason in plain["L1"]["message"]
    skipped = [str(part.get("message")) for part in ET.parse(files["junit"]).getroot().iter("skipped")]
    assert any(reason in text for text in skipped)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('S55 = "why"', "unknown check 'S55'; did you mean 'S5'?"),
        ('L1 = ""', "checks.L1: must be a text that says why"),
        ("L1 = true", "checks.L1: must be a text that says why"),
    ],
)
def test_a_switch_that_makes_no_sense(project: Project, compile_plugin: Compile, line: str, says: str) -> None:
    folder = project(more=f"\n[checks]\n{line}\n")
    with pytest.raises(UsageError, match=says.replace("?", r"\?")):
        ask(folder, compile_plugin("none"), "L1")


def test_a_library_next_to_its_manifest(project: Project, compile_plugin: Compile) -> None:
    folder = project()
    library = folder / "none-11.so"
    library.write_bytes(compile_plugin("none").read_bytes())
    found = run(library, "--include", "I*", "--include", "L1")
    assert found.return_value == 0
    assert "made of pluginkit.toml's values" in found.output


def test_a_folder_without_a_manifest(tmp_path: Path) -> None:
    for arguments in ((tmp_path,), (tmp_path / "lib.so", "--library", tmp_path / "lib.so")):
        assert isinstance(run(*arguments).exception, UsageError)
    assert "there is no pluginkit.toml in" in str(run(tmp_path).exception)


def test_a_reference_that_raises_is_no_pass(project: Project, compile_plugin: Compile) -> None:
    """No check of the library tells it, so the command fails; where one fails, that is what is wrong."""
    folder = project()
    (folder / "reference.py").write_text("def reference(x, *, factor):\n    raise ValueError('not yet')\n")
    with pytest.raises(CheckFailed, match="not yet"):
        ask(folder, compile_plugin("none"), "L1", "E1")
    report = ask(folder, compile_plugin("clone_other"), "L1", "E1")
    assert result(report, "L1").ending is Ending.FAILED
    assert result(report, "E1").message.startswith("not reached: ")
    (folder / "reference.py").unlink()
    assert result(ask(folder, compile_plugin("none"), "L1", "E1"), "E1").ending is Ending.SKIPPED


def test_a_gpu_without_compute_sanitizer(
    project: Project, compile_plugin: Compile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it alone would see is skipped, and what the run without it has seen is not; nor does it stand for a run on
    target cpu."""
    asked = []

    def run_(options: Options, *_: object) -> Report:
        asked.append(options.sanitize)
        if options.sanitize:
            raise ToolMissing("no compute-sanitizer")
        return Report("Probe", str(options.library), "", 0, (replace(CASE, target=options.target),), ())

    monkeypatch.setattr(on_gpu, "obstacle", lambda: "")
    monkeypatch.setattr(project_checks.runner, "run", run_)
    report = ask(project(), compile_plugin("none"), "G1", "G2", "E4")
    assert result(report, "G1").ending is Ending.PASSED
    assert result(report, "E4").ending is result(report, "G2").ending is Ending.SKIPPED
    assert result(report, "G2").message == "no compute-sanitizer"
    assert asked == [(), (), tuple(GPU_SANITIZERS)]
    ask(project(), compile_plugin("none"), "G1", "E4")
    assert asked[3:] == [(), ()], "no check asks for it"
