"""samples/gallery: projects are what their commands write, but for what is by hand; in slow runs their matrices too.

And what the page's other commands write, a pattern each at least, of four types.
"""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from pluginkit.scaffold.kernels import patterns
from tests.scaffolds.gallery import COMMANDS, GALLERY, MADE, PAGE, PROJECTS, project, written

SECONDS = 3600


def by_hand(name: str) -> set[str]:
    """The files of a project that are not as they were written."""
    return {"README.md", "pluginkit.toml", "reference.py", f"src/{name}.cu", f"tests/test_{name}.py"}


def files(folder: Path) -> dict[str, str]:
    """The text of all files but those that commands make."""
    found = {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
    return {
        name.as_posix(): path.read_text(encoding="utf-8")
        for name, path in found.items()
        if not set(MADE) & set(name.parts)
    }


def test_each_pattern_has_a_command_and_each_project_a_row() -> None:
    used = {word for command in COMMANDS.values() for word in re.findall(r"--kernel (\w+) ", command)}
    assert used == set(patterns.PATTERNS) - {patterns.LOOP}
    assert sorted(re.findall(r"^\| \[(\w+)\]\(\1\) \|", PAGE, re.MULTILINE)) == PROJECTS
    assert set(PROJECTS) < set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_writes_a_project_and_the_gallerys_differ_in_their_function(name: str, tmp_path: Path) -> None:
    made = files(written(name, tmp_path))
    if name in PROJECTS:
        there = files(GALLERY / name)
        assert set(made) == set(there)
        assert {one for one, text in made.items() if there[one] != text} == by_hand(name)
    else:
        assert by_hand(name) < set(made)


@pytest.mark.parametrize("name", PROJECTS)
def test_a_reference_by_hand_is_right(name: str) -> None:
    (test,) = (GALLERY / name / "tests").glob("test_*.py")
    runpy.run_path(str(test))["test_the_reference_on_numbers_worked_out_by_hand"]()
    assert "what it does" not in (GALLERY / name / "pluginkit.toml").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.compile
@pytest.mark.parametrize("name", COMMANDS)
def test_the_whole_matrix(name: str, tmp_path: Path) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "pluginkit", "test", project(name, tmp_path)],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
