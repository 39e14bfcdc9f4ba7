"""The table of import's rules: the code tells each at its levels, the page shows each."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from pluginkit.importing.rules.table import RULES, table

ROOT = Path(__file__).parents[2]
LEVELS = {"error", "warning"}


def reported_levels() -> Iterator[tuple[str, set[str]]]:
    """What the code tells: the rule of each `Problem`, and the levels that it may have."""
    for file in (ROOT / "pluginkit" / "importing" / "rules").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Problem":
                rules = [*node.args[3:4], *(key.value for key in node.keywords if key.arg == "rule")]
                levels = {one.value for one in ast.walk(node.args[0]) if isinstance(one, ast.Constant)} & LEVELS
                for rule in rules:
                    assert isinstance(rule, ast.Constant), f"{file.name}:{node.lineno}: a rule that is not a literal"
                    yield str(rule.value), levels


def test_the_code_tells_every_rule_at_its_levels_and_no_other() -> None:
    found: dict[str, set[str]] = defaultdict(set)
    for rule, levels in reported_levels():
        found[rule] |= levels
    assert found == {name: set(rule.levels) for name, rule in RULES.items()}


def test_every_rule_has_a_sentence_and_a_source() -> None:
    for name, rule in RULES.items():
        assert all((rule.description, rule.source, rule.levels)), name
        assert "|" not in rule.description + rule.source, name


def test_the_page_has_the_table() -> None:
    page = (ROOT / "docs" / "inspect-and-import.md").read_text(encoding="utf-8")
    assert "\n".join(table()) in page
