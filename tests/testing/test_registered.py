"""NVIDIA's registries as part of a run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pluginkit.run.options import Options
from pluginkit.run.runner import run
from pluginkit.runtimes.lean import session as lean
from pluginkit.testing.report import Outcome

needs_lean = pytest.mark.skipif(not lean.probe().found, reason=lean.probe().reason)
FORGETS = "void setPluginNamespace([[maybe_unused]] char const* name) noexcept override {}"
pytestmark = [pytest.mark.compile, pytest.mark.lean, needs_lean]


def test_every_registry_that_is_there_judges(bar: Path) -> None:
    asked = [f"registry/{one.version}" for one in lean.installed()]
    report = run(Options(project=bar, only=("registry/*",)))
    assert [verdict.network for verdict in report.registries] == asked
    assert {verdict.outcome for verdict in report.registries} == {Outcome.PASSED}
    assert (report.cases, report.verdicts, report.exit_code) == ((), (), 0)
    assert all(version in report.runtimes[lean.NAME] for version in asked)


def test_a_namespace_that_is_forgotten_turns_the_run_red(scale_project: Path, tmp_path: Path) -> None:
    project = tmp_path / "scale"
    shutil.copytree(scale_project, project, ignore=shutil.ignore_patterns("build"))
    source = project / "src" / "scale.cpp"
    text = source.read_text()
    assert "\n{\n};\n" in text
    text = text.replace("\n{\n};\n", f"\n{{\npublic:\n{FORGETS}\n}};\n", 1)
    source.write_text(text)
    report = run(Options(project=project, only=("registry/*",)))
    assert report.exit_code == 1
    assert all("and was put into 'pluginkit.test'" in verdict.message for verdict in report.registries)
