"""samples/gallery: projects are what their commands write, but for what is by hand; in slow runs their matrices too."""

from __future__ import annotations

import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from pluginkit.cli.project import new
from pluginkit.scaffold.kernels import patterns

GALLERY = Path(__file__).resolve().parents[2] / "samples" / "gallery"
PAGE = (GALLERY / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(pluginkit new .+?)^```", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [
    command for block in BLOCKS for command in re.split(r"\n(?=pluginkit )", block.replace("\\\n", " ").strip())
]
BY_HAND = dict(re.findall(r"^\| \[(\w+)\]\(\1\) \| [^|]+ \| ([^|]+) \|", PAGE, re.MULTILINE))
PROJECTS = sorted(path.parent.name for path in GALLERY.glob("*/pluginkit.toml"))
MADE = ("build", "__pycache__", ".pytest_cache")
SECONDS = 3600


def hand_written(name: str) -> set[str]:
    """The files that are not as they were written, of a project whose function is by hand."""
    return {"README.md", "pluginkit.toml", "reference.py", f"src/{name}.cu", f"tests/test_{name}.py"}


def files(project: Path) -> dict[str, str]:
    """The text of all files but those that commands make."""
    found = {path.relative_to(project): path for path in project.rglob("*") if path.is_file()}
    return {
        name.as_posix(): path.read_text(encoding="utf-8")
        for name, path in found.items()
        if not set(MADE) & set(name.parts)
    }


def test_each_pattern_is_in_the_gallery_and_each_project_on_its_page() -> None:
    used = {word for command in COMMANDS for word in re.findall(r"--kernel (\w+) ", command)}
    assert used == set(patterns.PATTERNS) - {patterns.LOOP}
    assert sorted(BY_HAND) == PROJECTS
    assert set(BY_HAND.values()) == {"nothing", "the function"}
    assert len(COMMANDS) == len(PROJECTS)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.split()[2])
def test_a_project_is_what_its_command_writes(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program, name, *arguments = shlex.split(command)
    assert (program, name) == ("pluginkit", "new")
    done = CliRunner().invoke(new.command, arguments)
    assert done.exit_code == 0, done.output
    (written,) = tmp_path.iterdir()
    project = GALLERY / written.name
    made, there = files(written), files(project)
    assert set(made) == set(there)
    changed = {one for one, text in made.items() if there[one] != text}
    assert changed == (set() if BY_HAND[project.name] == "nothing" else hand_written(project.name))


@pytest.mark.parametrize("name", [name for name, what in BY_HAND.items() if what != "nothing"])
def test_a_reference_by_hand_is_right(name: str) -> None:
    (test,) = (GALLERY / name / "tests").glob("test_*.py")
    runpy.run_path(str(test))["test_the_reference_on_numbers_worked_out_by_hand"]()
    assert "what it does" not in (GALLERY / name / "pluginkit.toml").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.compile
@pytest.mark.parametrize("name", PROJECTS)
def test_the_whole_matrix_of_a_project(name: str, tmp_path: Path) -> None:
    project = shutil.copytree(GALLERY / name, tmp_path / name, ignore=shutil.ignore_patterns(*MADE))
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "pluginkit", "test", project],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
