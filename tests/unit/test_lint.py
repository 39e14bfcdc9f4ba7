"""Which sources tools/lint.py gives to clang-tidy: those that changed since it last found nothing."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"
FILES = {
    "native/a.cpp": '#include "a.h"\n',
    "native/b.cpp": "int b;\n",
    "native/a.h": "int a();\n",
    "pluginkit/include/pluginkit/c.cuh": "\n",
    ".clang-tidy": "Checks: '*'\n",
}
Lint = Callable[[], "tuple[int, list[str]]"]


@pytest.fixture
def lint(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    monkeypatch.syspath_prepend(str(TOOLS))
    module = importlib.import_module("lint")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "CONTENT", tmp_path / "build" / "lint")
    monkeypatch.setattr(module, "tracked", lambda: [tmp_path / name for name in FILES])
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return module


@pytest.fixture
def run(lint: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Lint:
    """The exit status, and what clang-tidy was given; it finds something in a source with the word `wrong`."""

    def once() -> tuple[int, list[str]]:
        given = []

        def findings(command: list[str]) -> str | None:
            if command[0] != "clang-tidy":
                return None
            name = next(word for word in command if word.endswith(".cpp"))
            given.append(name)
            return "wrong" if "wrong" in (tmp_path / name).read_text() else None

        monkeypatch.setattr(lint, "findings", findings)
        return lint.main(), sorted(given)

    return once


BOTH = ["native/a.cpp", "native/b.cpp"]


def test_a_source_is_looked_at_again_when_it_has_changed(run: Lint, tmp_path: Path) -> None:
    assert run() == (0, BOTH)
    assert run() == (0, [])
    (tmp_path / "native/b.cpp").write_text("int c;\n")
    assert run() == (0, ["native/b.cpp"])
    assert run() == (0, [])


@pytest.mark.parametrize("name", ["native/a.h", "pluginkit/include/pluginkit/c.cuh", ".clang-tidy"])
def test_all_are_looked_at_again_when_what_they_read_has_changed(run: Lint, tmp_path: Path, name: str) -> None:
    run()
    (tmp_path / name).write_text("// other\n")
    assert run() == (0, BOTH)
    assert run() == (0, [])


def test_all_are_looked_at_again_by_another_release_or_with_other_flags(
    run: Lint, lint: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    run()
    monkeypatch.setattr(lint.metadata, "version", lambda name: "99" if name == "clang-tidy" else "1")
    assert run() == (0, BOTH)
    monkeypatch.setattr(lint, "tidy_flags", lambda: ["-std=c++20"])
    assert run() == (0, BOTH)
    assert run() == (0, [])


def test_a_finding_is_said_again_until_it_is_gone(run: Lint, tmp_path: Path) -> None:
    run()
    (tmp_path / "native/a.cpp").write_text("wrong\n")
    assert run() == (1, ["native/a.cpp"])
    assert run() == (1, ["native/a.cpp"])
    (tmp_path / "native/a.cpp").write_text(FILES["native/a.cpp"])
    assert run() == (0, []), "as it was when nothing was found"
