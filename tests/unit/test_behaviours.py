"""The table of TensorRT's behaviours: its rows, its pages, and that each row has what shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pluginkit.runtimes.tensorrt.behaviours import BEHAVIOURS, Behaviour, page

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "docs" / name for name in ("behaviours.md", "loops-and-conditionals.md")]
MODULES = sorted((ROOT / "tests" / "gpu" / "controls8").glob("*.py"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_page_is_current(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    command = "python -m pluginkit.runtimes.tensorrt.behaviours docs/behaviours.md docs/loops-and-conditionals.md"
    assert page(text) == text, command


def test_every_row_stands_on_one_page() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in PAGES)
    assert sorted(re.findall(r"^\| `([a-z0-9-]+)` \|", text, re.MULTILINE)) == sorted(BEHAVIOURS)


def test_each_control_shows_one_row() -> None:
    defined = [
        name
        for module in MODULES
        for name in re.findall(r"^@control\ndef (\w+)", module.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    named = [name for one in BEHAVIOURS.values() for name in one.controls]
    assert sorted(named) == sorted(defined)


@pytest.mark.parametrize("one", BEHAVIOURS.values(), ids=lambda one: one.id)
def test_a_row_says_what_shows_it(one: Behaviour) -> None:
    assert one.refused or one.seen or not one.controls
    assert one.controls or not one.seen
    assert bool(one.controls) != bool(one.source)
    assert not (one.refused and one.seen)
    if one.refused:
        assert re.search(one.refused, one.tensorrt8.replace("`", "")), "the text has not the message"
        assert one.instead


@pytest.mark.parametrize(
    ("row", "answer", "shown"),
    [
        ("plugin-in-loop", "refused: ERROR: PLUGIN_V2 operation not supported within this graph.", True),
        ("plugin-in-loop", "refused: another reason", False),
        ("plugin-in-loop", "built", False),
        ("plugin-of-a-shape", "built, right", True),
        ("plugin-of-a-shape", "built, wrong: y is off by 2", False),
        ("size-of-a-plugin", "refused: whatever it says", True),
        ("size-of-a-plugin", "built", False),
        ("null-plugin", "ended by signal 11", True),
        ("null-plugin", "createPlugin gave None", False),
    ],
)
def test_an_answer_is_held_against_its_row(row: str, answer: str, shown: bool) -> None:
    assert BEHAVIOURS[row].shown_by(answer) is shown
