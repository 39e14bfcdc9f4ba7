"""What tools/setup_venv.py says on a machine that lacks something; nothing is downloaded."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

FILE = Path(__file__).resolve().parents[2] / "tools" / "setup_venv.py"


@pytest.fixture
def setup_venv() -> ModuleType:
    spec = importlib.util.spec_from_file_location("setup_venv", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_this_machine_has_everything(setup_venv: ModuleType) -> None:
    setup_venv.check_machine()


def test_all_that_is_missing_is_said_at_once(
    setup_venv: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(setup_venv.sysconfig, "get_path", lambda _: str(tmp_path))
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    with pytest.raises(SystemExit) as stop:
        setup_venv.check_machine()
    output = capsys.readouterr().out
    assert "a C++ compiler" in output
    assert "Python.h" in output
    assert "venv module" in output
    assert "sudo apt-get install g++ python3-dev python3-venv" in str(stop.value)


def test_an_old_python_is_refused(setup_venv: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 0))
    with pytest.raises(SystemExit, match="python3"):
        setup_venv.check_machine()


def test_what_is_installed_beside_is_not_installed_twice(
    setup_venv: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ran: list[tuple[str, ...]] = []
    monkeypatch.setattr(setup_venv, "pip", lambda _, *args: ran.append(args) or (tmp_path / "x").mkdir(exist_ok=True))
    for requirement in ("a==1", "a==1", "a==2"):
        setup_venv.install_into(Path("python"), tmp_path / "x", requirement)
    assert [args[-1] for args in ran] == ["a==1", "a==2"]


def test_a_failing_pip_ends_with_its_words(setup_venv: ModuleType) -> None:
    with pytest.raises(SystemExit, match="pip no-such-command failed"):
        setup_venv.pip(Path(sys.executable), "no-such-command")


@pytest.mark.parametrize("never", [False, True])
def test_bytecode_is_left_to_the_first_import_where_it_is_kept_then(
    setup_venv: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, never: bool
) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho "$@" > {tmp_path / "words"}\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "dont_write_bytecode", never)
    setup_venv.pip(python, "install", "x")
    assert ("--no-compile" in (tmp_path / "words").read_text().split()) is not never


def fake_pip(folder: Path, message: str) -> Path:
    """A Python whose pip fails with these words."""
    script = folder / "python"
    script.write_text(f"#!/bin/sh\necho {message!r} >&2\nexit 1\n")
    script.chmod(0o755)
    return script


def test_what_has_no_wheel_for_this_python_is_skipped_with_a_sentence(
    setup_venv: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    python = fake_pip(tmp_path, "ERROR: No matching distribution found for tensorrt-lean-cu12==10.16.1.11")
    with setup_venv.skipped_without_wheel("tensorrt-lean 10"):
        setup_venv.install_into(python, tmp_path / "lean10", "tensorrt-lean-cu12==10.16.1.11")
    output = capsys.readouterr().out
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert f"skipped: tensorrt-lean 10 has no wheel for Python {version} on " in output
    assert not (tmp_path / "lean10" / ".requirement").exists()  # another set-up tries again
    with pytest.raises(setup_venv.NoWheel):  # main makes an error of it where it isn't NVIDIA's
        setup_venv.pip(python, "install", "x")


def test_another_failure_of_pip_is_no_reason_to_skip(setup_venv: ModuleType, tmp_path: Path) -> None:
    python = fake_pip(tmp_path, "ERROR: No space left on device")
    with pytest.raises(SystemExit, match="failed"), setup_venv.skipped_without_wheel("x"):
        setup_venv.pip(python, "install", "x")
