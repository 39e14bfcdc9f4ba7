"""What must work, or say what is missing, on a machine that lacks a compiler, git, or the whole of the installation."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pluginkit import installation

ROOT = Path(__file__).resolve().parents[2]


def loaded(path: Path) -> ModuleType:
    """A file's module, apart from the one of that name that pytest has."""
    spec = importlib.util.spec_from_file_location(f"{path.stem}_of_{path.parent.name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_without_clang_the_tests_of_its_name_are_skipped_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    conftest = loaded(ROOT / "tests" / "conftest.py")
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "clang++" else f"/usr/bin/{name}")
    marked: list[int] = []

    def item(number: int, **params: Any) -> Any:
        mark = SimpleNamespace(params=params)
        own = {"callspec": mark} if params else {}
        return SimpleNamespace(
            get_closest_marker=lambda _: None,
            add_marker=lambda mark: marked.append((number, mark.kwargs["reason"])),
            **own,
        )

    x = np.zeros((2, 2), np.float32)  # its == is not a bool
    conftest._skip_what_the_machine_lacks([item(0), item(1, x=x), item(2, x=x, cxx="clang++"), item(3, cxx="g++")])
    assert marked == [(2, "clang++ is not installed")]


def test_without_git_the_same_files_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    if not (ROOT / ".git").exists() or not shutil.which("git"):
        pytest.skip("git is not installed, or this is not a checkout of it")
    lint = loaded(ROOT / "tools" / "lint.py")
    known = {path for path in lint.tracked() if path.suffix in lint.SUFFIXES}
    assert len(known) > 100
    monkeypatch.setenv("PATH", "/nonexistent")
    untracked = {path for path in lint.tracked() if path.suffix in lint.SUFFIXES}
    assert untracked >= known
    assert not [path for path in untracked if {".venv", "build"} & set(path.relative_to(ROOT).parts[:1])]


@pytest.mark.parametrize("arguments", [["info"], ["test", str(ROOT / "samples" / "leaky_relu")]], ids=["info", "test"])
def test_a_source_tree_that_was_never_installed(arguments: list[str]) -> None:
    code = "import sys; sys.modules['pluginkit._native'] = None; from pluginkit.cli import main; main(sys.argv[1:])"
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert "Traceback" not in done.stderr
    assert "The native module of pluginkit in " in done.stderr
    assert f"  fix: {installation.again()}\n" in done.stderr


def test_a_python_without_pluginkits_packages(tmp_path: Path) -> None:
    (tmp_path / "pluginkit").symlink_to(ROOT / "pluginkit")
    done = subprocess.run(
        [sys.executable, "-S", "-m", "pluginkit", "info"],
        cwd=tmp_path,
        env={},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4
    assert "has no click, which pluginkit needs" in done.stderr
    assert "Traceback" not in done.stderr
