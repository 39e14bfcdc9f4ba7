"""The figures of docs/kernel-speed.md and of the gallery are those of benchmarks/results/patterns.csv."""

from __future__ import annotations

import csv
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"
RECORD = BENCHMARKS / "results" / "patterns.csv"
PAGE = ROOT / "docs" / "kernel-speed.md"
GALLERY = ROOT / "samples" / "gallery" / "README.md"
TYPES = ("float32", "float16", "bfloat16", "int8")
LARGE = 1 << 27
"""Elements of the tables' tensors."""

PROJECTS = {
    "fast_gelu": "gelu", "bias_gelu": "bias+gelu", "swi_glu": "swiglu", "layer_norm": "layer_norm",
    "rms_norm": "rms_norm", "add_rms_norm": "add+rms_norm",
}  # fmt: skip
"""What the record calls the layers of the gallery's projects."""


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What `benchmarks/patterns_tables.py` defines."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return runpy.run_path(str(BENCHMARKS / "patterns_tables.py"))


@pytest.mark.parametrize("page", [PAGE, GALLERY], ids=lambda page: page.name)
def test_the_documents_show_the_record(tables: dict[str, Any], page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == tables["written"](tables["records"].read(RECORD))[page], "run `python benchmarks/patterns_tables.py`"
    assert recorded() in text


def test_a_record_is_read_as_it_was_written(tables: dict[str, Any], tmp_path: Path) -> None:
    record = {"device": "A", "rate": 2.5, "cases": [{"case": "a, b", "us": 1.0, "n": 3}, {"n": 0}], "none": []}
    tables["records"].write(record | {"runs": [{"case": "c", "times": {"low": 1}}]}, tmp_path / "record.csv")
    assert tables["records"].read(tmp_path / "record.csv") == {
        "device": "A",
        "rate": 2.5,
        "cases": [{"case": "a, b", "us": 1.0, "n": 3}, {"n": 0}],
        "runs": [{"case": "c", "times.low": 1}],
    }


def test_the_picture_shows_the_record(tables: dict[str, Any]) -> None:
    picture = RECORD.with_suffix(".svg").read_text(encoding="utf-8")
    cases = {case for case, _ in tables["by_size"](tables["records"].read(RECORD))}
    assert cases
    assert cases <= set(re.findall(r"<text[^>]*>([^<]+)</text>", picture))
    assert f"{recorded()}: shares" in picture, "run `python benchmarks/patterns_plot.py`"


def rows(part: str) -> list[dict[str, str]]:
    """The rows of a part of the record, as texts. Read here, not by what writes the documents."""
    with RECORD.open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["part"] == part]


def recorded() -> str:
    """The GPU and the day of the record."""
    (own,) = rows("record")
    return f"{own['device']}, {own['date'][:10]}"


def shares() -> dict[str, list[float]]:
    """Of each case of the record: those of the types."""
    found: dict[str, dict[str, float]] = {}
    for row in rows("cases"):
        if int(row["elements"]) == LARGE:
            # The widths that follow have the same case.
            found.setdefault(row["case"], {}).setdefault(row["type"], float(row["share"]))
    return {case: [of[one] for one in TYPES] for case, of in found.items() if len(of) == len(TYPES)}


def test_the_table_is_the_records() -> None:
    recorded, seen = shares(), set()
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
    recorded = shares()
    printed = dict(re.findall(r"^\| \[(\w+)\].*\| ([^|]*) \|$", GALLERY.read_text(encoding="utf-8"), re.MULTILINE))
    projects = sorted(path.parent.name for path in GALLERY.parent.glob("*/pluginkit.toml"))
    # What is newer than the record has no figures yet.
    layers = {project: PROJECTS.get(project, "") for project in projects}
    assert printed == {
        project: " · ".join(f"{share:.2f}" for share in recorded[layer]) if layer in recorded else "not recorded"
        for project, layer in layers.items()
    }
    assert set(PROJECTS) <= set(projects)


def test_a_pattern_behind_cub_is_missed(tables: dict[str, Any]) -> None:
    place = {"case": "cumsum, one row", "elements": tables["ELEMENTS"], "columns": tables["ELEMENTS"]}
    times = {"float32": (100.0, 101.0), "float16": (103.0, 100.0)}
    record = {
        "cases": [{**place, "type": kind, "us": ours, "share": 1.0} for kind, (ours, _) in times.items()],
        "cub": [{**place, "type": kind, "us": theirs} for kind, (_, theirs) in times.items()],
        "replayed": [],
    }
    assert tables["missed"](record) == ["cumsum, one row, float16: 1.03 times what CUB takes"]
    assert tables["beside_cub"](record).rows == [["cumsum, one row", "0.99", "1.03", "", ""]]
