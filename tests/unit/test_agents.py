"""AGENTS.md: every package has a row, and each of the ten questions one file that answers it. docs/extending/."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
AGENTS = (ROOT / "AGENTS.md").read_text(encoding="utf-8")
PACKAGES, QUESTIONS = AGENTS.split("\n## The packages")[1].split("\n## Ten questions")
ANSWERS = [re.findall(r"`([^`]+)`", line) for line in QUESTIONS.splitlines() if "? |" in line]


def test_there_are_ten() -> None:
    assert len(ANSWERS) == 10


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer[0])
def test_one_file_holds_the_answer(answer: list[str]) -> None:
    file, word = answer
    assert word in (ROOT / file).read_text(encoding="utf-8")


def test_every_package_and_top_module_has_a_row() -> None:
    rows = "\n".join(line.split("|")[1] for line in PACKAGES.splitlines() if line.startswith("| `"))
    named = {name.rstrip("/") for name in re.findall(r"`([\w/.]+)`", rows)}
    here = ROOT / "pluginkit"
    there = {folder.parent for folder in here.glob("*/__init__.py")} | {
        folder.parent for folder in here.glob("runtimes/*/__init__.py")
    }
    there |= {file for file in here.glob("*.py") if not file.name.startswith("_")}
    assert {str(path.relative_to(here)) for path in there} == named


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "extending").glob("*.md")), ids=lambda page: page.name)
def test_a_page_on_extending_names_files_that_there_are(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert f"docs/extending/{page.name}" in AGENTS
    made = set(re.findall(r"(?:\| |\d\. )`([^`]+)`(?: \||,) new", text))
    named = set(re.findall(r"`((?:pluginkit|tests|docs)/[\w/.]+\.\w+)`", text)) - made
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []
    assert not any((ROOT / name).exists() for name in made)
