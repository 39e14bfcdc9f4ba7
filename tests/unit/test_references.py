"""Links between documents lead to what is there, and each decision that a text names by its number exists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DECISIONS = (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")
FOLDERS = ("benchmarks", "docs", "native", "pluginkit", "samples", "tests", "tools")
SUFFIXES = (".py", ".md", ".toml", ".h", ".cuh", ".cpp", ".cu")
MADE = {"build", "templates"}
"""Folders of what is built, and of what cookiecutter fills in."""
BLOCK = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s]*)\)")
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
DATED = re.compile(r"^(\d+)\. \*\*[^*]+\*\* \(\d{4}-\d\d-\d\d(?:, \d{4}-\d\d-\d\d)*\)", re.MULTILINE)
NAMED = re.compile(r"decisions\.md\)?,\s+(\d+)|\bdecisions?\s(\d+)\b")
MOST = 30


def texts() -> Iterator[Path]:
    for path in [*ROOT.glob("*.md"), *(path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*")))]:
        if path.suffix in SUFFIXES and not MADE & set(path.relative_to(ROOT).parts):
            yield path


def anchors(document: Path) -> set[str]:
    """What GitHub makes of a document's headings."""
    headings = HEADING.findall(BLOCK.sub("", document.read_text(encoding="utf-8")))
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("document", [path for path in texts() if path.suffix == ".md"], ids=lambda path: path.name)
def test_a_documents_links_lead_somewhere(document: Path) -> None:
    text = re.sub(r"`[^`\n]*`", "", BLOCK.sub("", document.read_text(encoding="utf-8")))
    for link in LINK.findall(text):
        name, _, anchor = link.partition("#")
        target = document.parent / name if name else document
        assert target.exists(), f"({link}): there is no {name}"
        assert not anchor or anchor in anchors(target), f"({link}): no heading of {target.name} has this anchor"


def test_decisions_are_few_dated_and_in_order() -> None:
    listed = re.findall(r"^(\d+)\. ", DECISIONS, re.MULTILINE)
    assert listed == [str(number) for number in range(1, len(listed) + 1)]
    assert DATED.findall(DECISIONS) == listed
    assert len(listed) <= MOST


def test_a_decision_that_a_text_names_exists() -> None:
    found = [
        (path.name, one or other)
        for path in texts()
        for one, other in NAMED.findall(path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert len({name for name, _ in found}) > 3
    assert [(name, number) for name, number in found if number not in DATED.findall(DECISIONS)] == []
