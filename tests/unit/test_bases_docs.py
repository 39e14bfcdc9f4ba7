"""docs/bases.md: each cell of its table is a link to a test that there is, or several."""

from __future__ import annotations

import re
from pathlib import Path

from pluginkit.bases import BASES, FOR_NEW

FILE = Path(__file__).resolve().parents[2] / "docs" / "bases.md"
DOCS = FILE.read_text(encoding="utf-8")
TABLE = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in re.findall(r"^\|.*\|$", DOCS.split("\n## ")[0], re.MULTILINE)
]
LINKS = {key: (path, name) for key, path, name in re.findall(r'^\[([\w-]+)\]: (\S+) "(\w+)"$', DOCS, re.MULTILINE)}


def test_every_base_has_a_column() -> None:
    header, rule, *rows = TABLE
    assert header == ["", *(f"`{name}`" for name in FOR_NEW)]
    assert len(rows) > 10
    assert {len(row) for row in (rule, *rows)} == {len(header)}


def test_the_others_have_a_section() -> None:
    section = DOCS.partition("\n## Libraries that exist")[2].partition("\n## ")[0]
    for name, base in BASES.items():
        assert (f"`{name}`, {base.interface} " in section) is not (name in FOR_NEW)


def test_every_cell_names_an_existing_test() -> None:
    used = set()
    for what, *cells in TABLE[2:]:
        for cell in cells:
            link = r"\[[^\]]+\]\[([\w-]+)\]"
            assert re.fullmatch(f"{link}(, {link})*", cell), f"{what}: {cell!r} links no test"
            used.update(re.findall(link, cell))
    assert used == set(LINKS)
    for path, name in LINKS.values():
        source = (FILE.parent / path).read_text(encoding="utf-8")
        assert f"\ndef {name}(" in source, f"{path} has no test {name}"
