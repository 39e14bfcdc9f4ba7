"""The figures of docs/kernels.md and of the gallery are those of the record that the pages link."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "kernels.md"
GALLERY = ROOT / "samples" / "gallery" / "README.md"
TYPES = ("float32", "float16", "bfloat16", "int8")
LARGE = 1 << 27
"""Elements of the tables' tensors."""

LAYERS = ("leaky", "softmax", "cumsum", "embedding", "NCHW to NHWC", "pad reflect", "max pool 3x3", "nonzero")
"""Of the gallery's projects, in its order."""


def shares(page: Path) -> dict[str, list[float]]:
    """Of each case of the record that a page links: those of the types."""
    links = set(re.findall(r"\(([./\w-]+-patterns\.json)\)", page.read_text(encoding="utf-8")))
    assert len(links) == 1
    record = json.loads((page.parent / links.pop()).read_text(encoding="utf-8"))
    found: dict[str, dict[str, float]] = {}
    for row in record["cases"]:
        if row["elements"] == LARGE:
            # The widths that follow have the same case.
            found.setdefault(row["case"], {}).setdefault(row["type"], row["share"])
    return {case: [of[one] for one in TYPES] for case, of in found.items() if len(of) == len(TYPES)}


def test_the_table_is_the_records() -> None:
    recorded, seen = shares(PAGE), set()
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [one.strip() for one in line.strip("|").split("|")]
        if cells[0] in recorded and len(cells) == 3 + len(TYPES):
            printed = [cell.split()[0].strip("*") for cell in cells[1:5]]
            assert printed == [f"{share:.3f}" for share in recorded[cells[0]]], cells[0]
            for cell, share in zip(cells[1:5], recorded[cells[0]], strict=True):
                limit = re.search(r"\((0\.\d+)\)", cell)
                assert limit is None or share < float(limit[1]), f"{cells[0]} holds its limit"
            seen.add(cells[0])
    assert seen == set(recorded)


def test_the_gallerys_figures_are_the_records() -> None:
    recorded = shares(GALLERY)
    printed = re.findall(r": (\d\.\d\d(?: · \d\.\d\d){3})$", GALLERY.read_text(encoding="utf-8"), re.MULTILINE)
    assert printed == [" · ".join(f"{share:.2f}" for share in recorded[layer]) for layer in LAYERS]
