"""What pluginkit says of NVIDIA's software, sentence by sentence, with what each follows from.

`statements.toml` has a row for each: an id, words of the sentence, and its backing, which is one of

- `model`: models of `tests.statements.controls` that NVIDIA's code here refuses or builds as the sentence says;
- `test`: tests that ask NVIDIA's code, `path::name`;
- `document`: a document with its version.

`python -m tests.statements` writes docs/statements.md.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomllib

from pluginkit.runtimes.rtx.refusals import REFUSALS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "statements.md"
OURS = ROOT / "pluginkit"
FILES = (
    *sorted(path for path in (OURS / "importing" / "rules").glob("*.py") if path.name != "table.py"),
    *(
        OURS / "importing" / f"{name}.py"
        for name in ("building", "missing_operators", "sizes/other_inputs", "hosting", "running")
    ),
    OURS / "parser_operators.py",
)
"""Modules whose strings are what the user reads of a model. What a rule is on stands in table.py, with its source."""
WORDS = re.compile(r"TensorRT|NVIDIA|\bparser|\bbuilder|\bregistry\b|RTX")
KINDS = ("model", "test", "document")


@dataclass(frozen=True)
class Statement:
    """A row. `says` are words of one sentence of the code, `backing` what it follows from, by kind."""

    id: str
    says: str
    backing: dict[str, tuple[str, ...]]


def statements() -> list[Statement]:
    """All rows; those of refusals are in their own table, with the tests that `statements.toml` names."""
    read = tomllib.loads(Path(__file__).with_name("statements.toml").read_text(encoding="utf-8"))
    return [Statement(name, str(row.pop("says")), {kind: _listed(row[kind]) for kind in KINDS if kind in row})
            for name, row in read.items()]  # fmt: skip


def _listed(given: Any) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def sentences() -> Iterator[tuple[str, str]]:
    """Where the code says something of NVIDIA's software, and what; `{}` stands for what is filled in."""
    for path in FILES:
        for line, text in sorted(_strings(ast.parse(path.read_text(encoding="utf-8")))):
            yield f"{path.relative_to(ROOT)}:{line}", text
    for row in REFUSALS:
        yield f"refusal {row.id}", f"refusal {row.id}: {row.cause}"


def _strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    inner: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            inner.add(id(node.value))
        elif isinstance(node, ast.JoinedStr):
            inner |= {id(part) for part in node.values}
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
            if WORDS.search(text):
                yield node.lineno, text
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            # One word is a key.
            text = node.value if " " in node.value else ""
            if WORDS.search(text):
                yield node.lineno, text


def page() -> str:
    """docs/statements.md."""
    rows = statements()
    counts = {kind: sum(kind in one.backing for one in rows) for kind in KINDS}
    lines = [
        "# What is said of TensorRT, and what it follows from",
        "",
        "Each sentence of `pluginkit import` and `doctor` that says what TensorRT, TensorRT-RTX, their parser, builder",
        "or registry does has a row here. `tests/unit/test_statements.py` fails for a sentence without one.",
        "`python -m tests.statements` writes this page.",
        "",
        f"{len(rows)} statements: {counts['model']} shown by a model that TensorRT-RTX 1.7.1 refuses or builds so",
        f"(`tests/statements/controls.py`), {counts['test']} by a test that asks NVIDIA's code, {counts['document']}",
        "by a document. Some have two of these.",
        "",
        "| id | words of the sentence | shown by |",
        "| --- | --- | --- |",
    ]
    for one in rows:
        backing = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in one.backing.items())
        lines.append(f"| {one.id} | {one.says} | {backing} |".replace("{}", "..."))
    return "\n".join(lines) + "\n"
