"""Every sentence on NVIDIA's software has a backing that is there."""

from __future__ import annotations

import ast
import functools

from tests.statements import PAGE, ROOT, page, sentences, statements


def test_every_sentence_has_a_row_and_every_row_a_sentence() -> None:
    rows, without = statements(), []
    used = set()
    for where, text in sentences():
        found = [one.id for one in rows if one.says in text]
        used |= set(found)
        if not found:
            without.append((where, text))
    assert not without
    assert not {one.id for one in rows} - used


def test_every_row_has_a_backing_that_is_there() -> None:
    from tests.statements.controls import CONTROLS  # it makes models

    for one in statements():
        assert one.backing, one.id
        assert set(one.backing.get("model", ())) <= set(CONTROLS), one.id
        for name in one.backing.get("test", ()):
            path, _, test = name.partition("::")
            assert test in functions(path), name


@functools.lru_cache
def functions(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_model_shows_something() -> None:
    from tests.statements.controls import CONTROLS

    assert {name for one in statements() for name in one.backing.get("model", ())} >= set(CONTROLS) - {
        # They hold down a rule that must not speak of them.
        "attention-wide", "custom", "if-ranks", "lstm-layout", "onnx-domain", "rotary-23",
    }  # fmt: skip


def test_the_page_has_all() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m tests.statements"
