"""What `pluginkit test` prints on a terminal of 120 columns: of a passing run, and of a fault in many cases."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from rich.console import Console

from pluginkit import cli
from pluginkit.cli import terminal

pytestmark = [pytest.mark.compile, pytest.mark.xdist_group("bad-input")]

MOST = 24
SOME = ("--network", "plain", "--network", "loop-count")


@pytest.fixture
def project(my_plugin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy without its build folder; the console as wide as the user's."""
    monkeypatch.setattr(terminal, "console", lambda **_: Console(width=120))
    return Path(shutil.copytree(my_plugin, tmp_path / "my_plugin", ignore=shutil.ignore_patterns("build")))


@pytest.fixture
def run(my_plugin: Path, project: Path) -> list[str]:
    return ["test", str(project), "--int8", "--library", str(my_plugin / "build" / "cpu" / "libmy_plugin.so")]


@pytest.mark.rtx
def test_a_passing_run_is_short(run: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "report.html"
    assert cli.run([*run, "--html", str(page)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= MOST
    assert all(len(line) <= 120 for line in lines)
    text = " ".join(" ".join(lines).split())
    assert re.search(r"host (\d+) passed of \1 cases in \d\d networks \d+\.\d s", text)
    assert re.search(r"tensorrt-rtx (\d+) of \1 networks built \d+\.\d s", text)
    assert len([line for line in lines if "took no part" in line]) == 1
    assert not [line for line in lines if "loop-count" in line]
    assert f"Page: {page}" in text.replace("- ", "-")
    assert page.read_text().startswith("<!DOCTYPE html>")


def test_rows_of_networks_and_of_cases_are_asked_for(run: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    rows = {}
    for flag in ("-v", "-vv"):
        assert cli.run([*run, "--network", "loop-count", flag]) == 0
        text = capsys.readouterr().out
        rows[flag] = [line.split() for line in text.splitlines() if re.search(r" steps? .* passed", line)]
        assert "tensorrt: " in text, "why it took no part, or which version"
    assert [line[:3] for line in rows["-v"]] == [["loop-count", "INT8", "4"]]
    assert rows["-vv"][0][:3] == ["loop-count", "INT8", "min"]
    assert len(rows["-vv"]) == 4


def test_one_fault_is_one_cause_with_a_command_that_repeats_it(
    project: Path, run: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    file = project / "reference.py"
    right = "    return total"
    assert right in file.read_text()
    file.write_text(file.read_text().replace(right, "    return -total if x.size > 5000 else total"))
    assert cli.run([*run, *SOME]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= MOST
    text = " ".join(" ".join(lines).split())
    assert re.search(r"^ *plain/int8/max: failed in \d+ cases, all at max: plain/int8/max, ", text)
    (again,) = re.findall(r"again: (pluginkit .*? --seed 0)", text)
    assert cli.run(shlex.split(again)[1:]) == 1
    assert "1 failed of 1 cases" in capsys.readouterr().out
