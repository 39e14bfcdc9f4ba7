"""The operators of tools/mutants.py, and that the list of equivalent mutants is about mutants that there are."""

from __future__ import annotations

import importlib
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = """\
#include "a < b.h"

// if (a < b) stays.
int32_t next(int32_t a, int64_t b) noexcept
{
    if (a < 2 && !flag)
    {
        call(a, "text"); // 1 + 1
        return kFailed;
    }
    float const x = a == 0 ? 0.5F : -b;
    out.y = args.x;
    out.x += args.y;
    return 0;
}
"""
CHANGED = {
    "int32_t next(int32_t a, int64_t b) noexcept": {"int32_t next(int32_t a, int32_t b) noexcept"},
    "if (a < 2 && !flag)": {
        "if (true)",
        "if (false)",
        "if (a <= 2 && !flag)",
        "if (a >= 2 && !flag)",
        "if (a < 3 && !flag)",
        "if (a < 1 && !flag)",
        "if (a < 2 || !flag)",
        "if (a < 2 && flag)",
    },
    'call(a, "text");': {";", 'call("text", a);', 'call(a, "textx");', 'call(a, "");'},
    "return kFailed;": {"return {};"},
    "float const x = a == 0 ? 0.5F : -b;": {
        "float const x = a != 0 ? 0.5F : -b;",
        "float const x = a == 1 ? 0.5F : -b;",
        "float const x = a == 0 ? 1.5F : -b;",
        "float const x = a == 0 ? -0.5F : -b;",
        "float const x = a == 0 ? 0.5F : b;",
        "float const x = a == 0 ? -b : -b;",
        "float const x = a == 0 ? 0.5F : 0.5F;",
    },
    "out.y = args.x;": {";", "out.x = args.x;", "out.y = args.y;"},
    "out.x += args.y;": {";", "out.x -= args.y;", "out.x = args.y;", "out.y += args.y;", "out.x += args.x;"},
    "return 0;": {"return 1;"},
}


@pytest.fixture
def mutants(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("mutation.mutants")


def test_each_line_is_changed_in_each_way_an_author_could_miss(mutants: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "next.cpp").write_text(SOURCE)
    found = list(mutants.mutants(tmp_path, "dynamic"))
    changed: dict[str, set[str]] = {}
    for one in found:
        changed.setdefault(one.before, set()).add(one.after)
    assert changed == CHANGED
    assert {one.function for one in found} == {"next"}
    assert {one.line for one in found} == {4, 6, 8, 9, 11, 12, 13, 14}
    for one in found:
        old, new = SOURCE.splitlines(), one.apply(SOURCE).splitlines()
        assert [line for line, pair in enumerate(zip(old, new, strict=True), 1) if pair[0] != pair[1]] == [one.line]


def test_nothing_in_a_header_is_a_statement(mutants: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "next.h").write_text("struct A\n{\n    A() noexcept;\n    call(a, b);\n    int64_t n{1};\n};\n")
    assert [one.after for one in mutants.mutants(tmp_path, "v3")] == [
        "int32_t n{1};",
        "int64_t n{0};",
        "int64_t n{2};",
    ]


def test_every_entry_of_the_equivalents_is_a_mutant(mutants: ModuleType, tmp_path: Path) -> None:
    equivalents = mutants.Equivalents()
    for base in mutants.BASES:
        found = list(mutants.mutants(importlib.import_module("mutation.trial").generated(tmp_path / base, base), base))
        # A few hundred for three bases at least, each with an id of its own.
        assert len(found) > 400
        assert [one for one, count in Counter(mutant.id for mutant in found).items() if count > 1] == []
        equivalent = [one for one in found if equivalents.reason(one)]
        assert len(equivalent) < len(found) / 3
    assert equivalents.stale == []


def test_an_entry_that_fits_no_mutant_is_stale(mutants: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "equivalents.toml"
    entry = 'file = "src/a.cpp", function = "f", before = "a", after = "b"'
    file.write_text(f'[[equivalent]]\nreason = "none"\nmutants = [{{ bases = ["v3"], {entry} }}]\n')
    equivalents = mutants.Equivalents(file)
    mutant = mutants.Mutant("v3", "src/a.cpp", 3, "f", "operator", "a", "b", 0, 1, "b")
    assert equivalents.stale == ["v3: src/a.cpp: f: a: b: 1"]
    assert equivalents.reason(mutant) == "none"
    assert equivalents.stale == []
