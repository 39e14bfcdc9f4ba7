"""`pluginkit demo`: its last lines are commands that work as they stand, from the folder that it was started in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from pluginkit.cli.testing import demo


def last_commands(output: str) -> list[str]:
    """What the last three lines print, without their comments."""
    lines = output.rstrip().splitlines()[-4:]
    assert lines[0].startswith("Next, from this folder")
    return [line.partition("  #")[0].strip() for line in lines[1:]]


def typed(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A command, as the user types it who has not activated the environment."""
    env = {**os.environ, "PATH": "/usr/bin:/bin"}
    return subprocess.run(["bash", "-c", command], cwd=folder, env=env, capture_output=True, text=True, check=False)


def test_the_last_lines_without_a_folder_that_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "STEPS", ())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    done = CliRunner().invoke(demo.command, [])
    for command in last_commands(done.output):
        assert typed(command, tmp_path).returncode == 0, command
    assert (tmp_path / "my_plugin/pluginkit.toml").is_file()


@pytest.mark.slow
@pytest.mark.compile
def test_the_last_lines_where_the_folder_is_kept(tmp_path: Path) -> None:
    program = str(Path(sys.executable).with_name("pluginkit"))
    done = typed(f"{program} demo --keep build/demo", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    new, doctor, inspect = (typed(command, tmp_path) for command in last_commands(done.stdout))
    assert new.returncode == 0, new.stderr
    assert doctor.returncode == 1, "the model has an operator that TensorRT lacks"
    assert "pluginkit::MyPlugin" in doctor.stdout
    assert inspect.returncode == 0, inspect.stderr
    assert "libmy_plugin.so" in inspect.stdout
