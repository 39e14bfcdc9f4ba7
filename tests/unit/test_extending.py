"""The pages on a kernel pattern and an element type: how many files they list, and that they are the ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pluginkit.dtypes import DType
from pluginkit.scaffold.kernels import patterns

ROOT = Path(__file__).resolve().parents[2]
EXTENDING = ROOT / "docs" / "extending"


def listed(page: str, most: int) -> list[str]:
    """The files that a page lists, which are as many as it says, and no more than they may be."""
    text = (EXTENDING / page).read_text(encoding="utf-8")
    found = re.findall(r"^\d+\. `([^`]+)`", text, re.MULTILINE)
    assert [re.search(r"(\d+) files", text)[1]] == [str(len(found))]  # type: ignore[index]
    assert len(set(found)) == len(found) <= most
    return found


def is_new(name: str) -> bool:
    return bool(re.search(r"\b(NAME|TYPE)\b", name))


@pytest.mark.parametrize(("page", "most"), [("pattern.md", 6), ("type.md", 15)])
def test_the_files_that_a_page_lists_are_there(page: str, most: int) -> None:
    there = [name for name in listed(page, most) if not is_new(name)]
    assert [name for name in there if not (ROOT / name).is_file()] == []


def test_each_pattern_stands_in_the_files_of_the_page_and_in_no_other_of_the_package() -> None:
    files = [name for name in listed("pattern.md", 6) if not is_new(name)]
    names = set(patterns.PATTERNS) - {patterns.LOOP, patterns.ELEMENTWISE}
    for file in files:
        text = (ROOT / file).read_text(encoding="utf-8")
        assert [name for name in names if not re.search(rf"\b{name}\b", text)] == [], file
    (folder,) = {Path(name).parent for name in listed("pattern.md", 6) if name.endswith("NAME.cu")}
    assert {file.stem for file in (ROOT / folder).glob("*.cu")} == set(patterns.PATTERNS)
    tables = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "pluginkit").rglob("*.py")
        if all(f'"{name}"' in path.read_text(encoding="utf-8") for name in ("scan", "pool", "nonzero", "topk"))
    }
    assert tables <= set(files)


def test_tables_of_all_types_are_in_the_files_of_the_page() -> None:
    """A table by type that another file has would be one more to touch."""
    files = set(listed("type.md", 15))
    tables = set()
    for path in (ROOT / "pluginkit").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if all(re.search(rf"^    DType\.{kind.name}: ", text, re.MULTILINE) for kind in DType):
            tables.add(path.relative_to(ROOT).as_posix())
    assert tables == {"pluginkit/dtypes.py", "pluginkit/scaffold/cpp.py", "pluginkit/host/memory/guarded_tensors.py"}
    assert tables <= files
