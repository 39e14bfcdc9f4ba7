"""The figures of docs/kernels.md and of the gallery are those of the record that the pages link."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "kernels.md"
GALLERY = ROOT / "samples" / "gallery" / "README.md"
TYPES = ("float32", "float16", "bfloat16", "int8")
LARGE = 1 << 27
"""Elements of the tables' tensors."""

PROJECTS = {
    "leaky": "pluginkit new", "fast_gelu": "gelu", "bias_gelu": "bias+gelu", "swi_glu": "swiglu",
    "row_softmax": "softmax", "layer_norm": "layer_norm", "rms_norm": "rms_norm", "add_rms_norm": "add+rms_norm",
    "row_max": "row max", "cumsum": "cumsum", "embedding": "embedding", "swap_axes": "transpose",
    "channels_last": "NCHW to NHWC", "rim": "pad reflect", "max_pooling": "max pool 3x3", "places": "nonzero",
    "keep_largest": "top-k mask",
}  # fmt: skip
"""What the record calls the layers of the gallery's projects."""


@pytest.fixture(scope="module")
def written() -> dict[Path, str]:
    """What `benchmarks/patterns_tables.py` writes of the record that docs/kernels.md links."""
    made: dict[str, Any] = runpy.run_path(str(ROOT / "benchmarks" / "patterns_tables.py"))
    links = set(re.findall(r"\(([./\w-]+-patterns)\.json\)", PAGE.read_text(encoding="utf-8")))
    assert len(links) == 1
    record = (PAGE.parent / f"{links.pop()}.json").resolve()
    documents: dict[Path, str] = made["written"](json.loads(record.read_text(encoding="utf-8")), record.stem)
    return documents


@pytest.mark.parametrize("name", ["kernels.md", "README.md", "-patterns.md"])
def test_the_documents_show_the_record(written: dict[Path, str], name: str) -> None:
    (path,) = (path for path in written if path.name.endswith(name))
    assert path.read_text(encoding="utf-8") == written[path], (
        "run `python benchmarks/patterns_tables.py RECORD` with the record that docs/kernels.md links"
    )


def test_the_picture_shows_the_record() -> None:
    links = re.findall(r"\(([./\w-]+-patterns)\.(?:json|svg)\)", PAGE.read_text(encoding="utf-8"))
    assert len(links) == 2
    assert len(set(links)) == 1
    record = (PAGE.parent / links[0]).resolve()
    picture = record.with_suffix(".svg").read_text(encoding="utf-8")
    sizes = record.with_suffix(".md").read_text(encoding="utf-8").partition("by bytes of a tensor")[2]
    cases = set(re.findall(r"^\| ([^|]+) \| float32 ", sizes.partition("replayed")[0], re.MULTILINE))
    assert cases
    assert cases <= set(re.findall(r"<text[^>]*>([^<]+)</text>", picture))
    assert f"({record.name})" in picture, "run `python benchmarks/patterns_plot.py RECORD`"


def shares(page: Path) -> dict[str, list[float]]:
    """Of each case of the record that a page links: those of the types. Read here, not by what writes the documents."""
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
    recorded.pop("cumsum, one row", None)  # beside CUB alone
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
    printed = dict(re.findall(r"^\| \[(\w+)\].*\| ([^|]*) \|$", GALLERY.read_text(encoding="utf-8"), re.MULTILINE))
    assert printed == {
        project: " · ".join(f"{share:.2f}" for share in recorded[layer]) if layer in recorded else "not recorded"
        for project, layer in PROJECTS.items()
    }
    assert set(printed) == {path.parent.name for path in GALLERY.parent.glob("*/pluginkit.toml")}


def test_a_pattern_behind_cub_is_missed() -> None:
    made: dict[str, Any] = runpy.run_path(str(ROOT / "benchmarks" / "patterns_tables.py"))
    place = {"case": "cumsum, one row", "elements": made["ELEMENTS"], "columns": made["ELEMENTS"]}
    times = {"float32": (100.0, 101.0), "float16": (103.0, 100.0)}
    record = {
        "cases": [{**place, "type": kind, "us": ours, "share": 1.0} for kind, (ours, _) in times.items()],
        "cub": [{**place, "type": kind, "us": theirs} for kind, (_, theirs) in times.items()],
        "replayed": [],
    }
    assert made["missed"](record) == ["cumsum, one row, float16: 1.03 times what CUB takes"]
    assert made["beside_cub"](record).rows == [["cumsum, one row", "0.99", "1.03", "", ""]]
