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
    said = capsys.readouterr().out
    assert "a C++ compiler" in said
    assert "Python.h" in said
    assert "venv module" in said
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
        setup_venv.install_beside(Path("python"), tmp_path / "x", requirement)
    assert [args[-1] for args in ran] == ["a==1", "a==2"]


def test_a_failing_pip_ends_with_its_words(setup_venv: ModuleType) -> None:
    with pytest.raises(SystemExit, match="pip no-such-command failed"):
        setup_venv.pip(Path(sys.executable), "no-such-command")
