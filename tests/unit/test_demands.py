"""docs/demands.md lists what the host asks of a plugin: just that, each with who says so."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pluginkit.demands import DEMANDS, page, take_warnings, warn

ROOT = Path(__file__).parents[2]
CODE = [
    *(ROOT / "pluginkit" / "host").rglob("*.py"),
    ROOT / "pluginkit" / "runtimes" / "host" / "expected_shapes.py",
    ROOT / "pluginkit" / "runtimes" / "host" / "expected_workspace.py",
    ROOT / "pluginkit" / "runtimes" / "host" / "listed_fields.py",
    ROOT / "pluginkit" / "evaluators" / "host" / "cases.py",
    ROOT / "pluginkit" / "evaluators" / "host" / "field_causes.py",
    ROOT / "pluginkit" / "evaluators" / "host" / "large.py",
    ROOT / "pluginkit" / "evaluators" / "host" / "leaks.py",
    ROOT / "pluginkit" / "bench" / "values.py",
]
ID = re.compile(r"\b[BCEFILSTV]\d{1,2}\b")


def raised() -> Iterator[tuple[str, str, str]]:
    """What the code raises: the function, the demand's id, and where."""
    for file in CODE:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                ids = [key.value for key in node.keywords if key.arg == "rule"]
                ids += node.args[:1] if name in {"warn", "DemandWarning"} else []
                for one in ids:
                    if isinstance(one, ast.Constant):
                        yield name, str(one.value), f"{file.name}:{node.lineno}"


def test_the_page_has_every_demand() -> None:
    text = (ROOT / "docs" / "demands.md").read_text()
    assert page(text) == text, "python -m pluginkit.demands docs/demands.md"
    assert {line.split("|")[1].strip() for line in text.splitlines() if line.count("|") > 4} >= set(DEMANDS)


def test_every_demand_has_what_is_asked_of_whom_and_who_says_so() -> None:
    for name, one in DEMANDS.items():
        assert ID.fullmatch(name)
        assert one.of
        assert one.asked
        assert one.source
        if one.kind == "contract":
            assert re.search(r"NvInfer\w+\.h|NVIDIA's (registry|parser)", one.source), name


def test_a_finding_breaks_what_somebody_says_and_a_warning_what_nobody_does() -> None:
    for name, rule, where in raised():
        kind = DEMANDS[rule].kind
        assert (kind == "robustness") == (name in {"warn", "DemandWarning"}), (where, rule)


def test_every_demand_is_made() -> None:
    """By a check, or by what the host does, which its comments name the demand at."""
    checked = {rule for _, rule, _ in raised()}
    text = "\n".join(file.read_text() for file in CODE)
    assert set(DEMANDS) - checked <= set(ID.findall(text)), set(DEMANDS) - checked - set(ID.findall(text))
    robust = {rule for rule, one in DEMANDS.items() if one.kind == "robustness"}
    # Findings of CUDA's calls come from other processes: by their kinds.
    assert robust <= checked | {"E3", "E4"}


def test_comments_name_no_demand_that_there_is_not() -> None:
    for file in CODE:
        text = re.sub(r"0x\w+|[su]\d+", "", file.read_text())
        assert set(ID.findall(text)) <= set(DEMANDS), file


def test_a_warning_is_told_once() -> None:
    take_warnings()
    for _ in range(2):
        warn("S2", "IPluginV2::serialize", "other bytes")
    (one,) = take_warnings()
    assert one.text == "[S2] IPluginV2::serialize: other bytes"
    assert take_warnings() == ()


@pytest.mark.parametrize("name", ["README.md", "docs/testing.md"])
def test_documents_lead_to_the_page(name: str) -> None:
    assert "demands.md" in (ROOT / name).read_text()
