"""The command line itself: what is said of a command that isn't there, and completion in a shell."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from pluginkit import cli
from pluginkit.cli.testing.test import command
from pluginkit.testing.calibration import METHODS

README = Path(__file__).resolve().parents[2] / "README.md"


def test_a_command_that_is_written_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["bulid"]) == 2
    assert "No such command 'bulid'. Did you mean 'build'?" in capsys.readouterr().err
    assert cli.run(["zzz"]) == 2
    output = capsys.readouterr().err
    assert "No such command 'zzz'" in output
    assert "Did you mean" not in output
    # An option in the command's place is click's own to refuse.
    assert cli.run(["--verson"]) == 2
    assert "'--version'" in capsys.readouterr().err


def completed(message: str, at: int) -> list[str]:
    env = {**os.environ, "_PLUGINKIT_COMPLETE": "bash_complete", "COMP_WORDS": message, "COMP_CWORD": str(at)}
    result = subprocess.run([sys.executable, "-m", "pluginkit"], env=env, capture_output=True, text=True, check=True)
    return result.stdout.splitlines()


def test_completion_in_a_shell() -> None:
    assert completed("pluginkit imp", 1) == ["plain,import"]
    assert "plain,--profile" in completed("pluginkit import --pro", 2)
    assert completed("pluginkit import mod", 2) == ["file,mod"]


def test_readme_says_how_completion_is_switched_on(tmp_path: Path) -> None:
    line = next(line for line in README.read_text(encoding="utf-8").splitlines() if "bash_source" in line)
    # As README has it, with the interpreter that runs the tests in the command's place.
    program = tmp_path / "pluginkit"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m pluginkit "$@"\n')
    program.chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    script = f"{line.split('#')[0]}\ncomplete -p pluginkit"
    result = subprocess.run(["bash", "-c", script], env=env, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "complete" in result.stdout
    assert result.stdout.strip().endswith("pluginkit")


def test_a_test_run_imports_nothing_that_it_may_not_need() -> None:
    # Each edit waits for it. The checks of the library come after whole runs alone.
    heavy = [
        "pluginkit.validation",
        "pluginkit.adoption",
        "pluginkit.scaffold",
        "pluginkit.importing.importer",
        "jinja2",
    ]
    code = f"import sys, pluginkit.cli.testing.test_session; print([m for m in {heavy} if m in sys.modules])"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output == "[]\n"


def test_a_test_runs_options_are_read_before_anything_heavy_is_imported() -> None:
    # The compiler is at work meanwhile (pluginkit.process.early_build).
    heavy = ["numpy", "onnx", "pydantic", "rich", "importlib.metadata", "pluginkit.build", "pluginkit.run"]
    code = f"import sys, pluginkit.cli.testing.test; print([m for m in {heavy} if m in sys.modules])"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output == "[]\n"


def test_calibration_methods_of_the_option_are_those_there_are() -> None:
    (option,) = (one for one in command.params if one.name == "calibration")
    assert isinstance(option.type, click.Choice)
    assert tuple(option.type.choices) == METHODS


def test_a_compiler_s_start_reads_no_metadata() -> None:
    # A build starts it for each source; pluginkit's version, which none of them needs, would be a third of its start.
    code = "import sys, pluginkit.cuda_cpu.compile; print('importlib.metadata' in sys.modules)"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output == "False\n"


def test_a_folder_that_was_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    here.rmdir()
    assert cli.run(["test"]) == 2
    assert "error: The current folder was deleted." in capsys.readouterr().err


def every_command(one: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, one
    if isinstance(one, click.Group):
        context = click.Context(one)
        for name in one.list_commands(context):
            found = one.get_command(context, name)
            assert found is not None
            yield from every_command(found, (*path, name))


def test_every_command_and_option_has_a_help_without_private_words() -> None:
    """tools/words.py has the other words."""
    private = re.compile(r"\b(judges?|demands?|spare)\b|\bis no\b|\bfor one in\b|\b[Aa]s of pluginkit\b")
    count = 0
    for path, one in every_command(cli.command):
        texts = {"": one.help, **{p.opts[0]: p.help for p in one.params if isinstance(p, click.Option)}}
        for name, text in texts.items():
            count += 1
            assert text, (path, name)
            assert text.rstrip().endswith((".", "]")) or not path, (path, name, text)
            assert not private.search(text), (path, name, private.search(text))
        # Shown in a group's list, where click cuts what is longer.
        assert len(path) < 2 or not one.get_short_help_str(62).endswith("..."), path
    assert count > 200


def test_the_help_lists_each_command_once_in_a_group(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--help"]) == 0
    _, *groups = re.split(r"^(?=\w[\w ]*:\n)", capsys.readouterr().out, flags=re.MULTILINE)
    shown = {group.partition(":")[0]: re.findall(r"^  (\w+) ", group, re.MULTILINE) for group in groups[1:]}
    assert list(shown) == ["Start", "From a model", "Build and test", "Existing libraries", "GPU", "Ship", "Maintain"]
    assert shown["Start"] == ["new", "add", "demo", "info"]
    assert sorted(name for names in shown.values() for name in names) == sorted(
        cli.command.list_commands(click.Context(cli.command))
    )
