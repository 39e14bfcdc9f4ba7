"""samples/gallery: a command for each kernel pattern; in slow runs each project's whole matrix, too."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from pluginkit.cli.project import new
from pluginkit.scaffold.kernels import patterns

PAGE = Path(__file__).resolve().parents[2] / "samples" / "gallery" / "README.md"
COMMANDS = dict(
    re.findall(r"^## (\w+)\n.*?^```sh\n(.+?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
)
SECONDS = 3600


def shell(command: str, folder: Path) -> str:
    """What it prints, with the commands of this environment before others."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    done = subprocess.run(
        ["/bin/sh", "-ec", command],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_each_pattern_is_in_the_gallery() -> None:
    assert set(COMMANDS) == set(patterns.PATTERNS) - {patterns.LOOP}
    for name, command in COMMANDS.items():
        assert f"--kernel {name} " in command


@pytest.mark.parametrize("name", COMMANDS)
def test_a_project_with_the_kernel_is_written(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program, command, *arguments = shlex.split(COMMANDS[name].replace("\\\n", " "))
    assert (program, command) == ("pluginkit", "new")
    made = CliRunner().invoke(new.command, arguments)
    assert made.exit_code == 0, made.output
    (kernel,) = tmp_path.glob("*/src/*_kernel.cu")
    assert "kernels::launch" in kernel.read_text()


@pytest.mark.slow
@pytest.mark.compile
@pytest.mark.parametrize("name", COMMANDS)
def test_the_whole_matrix_of_a_project(name: str, tmp_path: Path) -> None:
    shell(COMMANDS[name], tmp_path)
    (project,) = tmp_path.iterdir()
    shell("pluginkit build", project)
    shell("pluginkit test --int8", project)
