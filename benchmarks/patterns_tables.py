"""The tables of the record of `patterns.py`, and the documents that show its figures.

`python benchmarks/patterns_tables.py` prints all tables of benchmarks/results/patterns.csv, and writes the figures,
with GPU and date, into docs/kernel-speed.md and the gallery's page, without a GPU. `patterns_plot.py` draws the curves.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import Any

import records

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "benchmarks" / "results" / "patterns.csv"
PAGE = ROOT / "docs" / "kernel-speed.md"
GALLERY = ROOT / "samples" / "gallery" / "README.md"
BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "int8": 1}
TYPES = tuple(BYTES)
ELEMENTS, COLUMNS, MOST_COLUMNS = 2**27, 4096, 131072
LIMITS = {
    # Least shares of the copy rate: FP32, FP16 and BF16, INT8.
    "pluginkit new": (0.97, 0.97, 0.97),
    "leaky": (0.97, 0.97, 0.97),
    "gelu": (0.97, 0.97, 0.88),
    "bias+gelu": (0.97, 0.97, 0.88),
    "swiglu": (0.97, 0.97, 0.88),
    "softmax": (0.97, 0.97, 0.92),
    "layer_norm": (0.97, 0.97, 0.92),
    "rms_norm": (0.97, 0.97, 0.92),
    "add+rms_norm": (0.97, 0.97, 0.92),
    "row max": (0.97, 0.97, 0.92),
    "cumsum": (0.97, 0.96, 0.90),
    "embedding": (0.95, 0.95, 0.95),
    "transpose": (0.94, 0.92, 0.88),
    "NCHW to NHWC": (0.94, 0.92, 0.88),
    "pad constant": (0.97, 0.93, 0.90),
    "pad edge": (0.97, 0.93, 0.90),
    "pad reflect": (0.97, 0.93, 0.90),
    "pad reflect, 256 x 256": (0.97, 0.93, 0.90),
    "max pool 2x2": (0.97, 0.93, 0.90),
    "max pool 3x3": (0.97, 0.93, 0.90),
    "max pool 3x3, 256 x 256": (0.97, 0.93, 0.90),
    "nonzero": (0.70, 0.70, 0.70),
    "top-k mask": (0.70, 0.70, 0.70),  # of reading the input and writing a byte an element
}
# INT8 weights have no limit: a network's are float32. They are measured to see what they cost.
HOLE, INT8_HOLE = 0.80, 0.65  # least share anywhere on a curve
CUB = 1.02  # most times what CUB takes for the same
TINY = 1.2  # most times a kernel of one load and one store, in a replayed graph
PLACE = re.compile(r"(?<=<!-- figures -->\n).*?(?=<!-- end of figures -->)", re.DOTALL)
FIGURES = re.compile(r"^(\| \[(\w+)\].* \| )(?:\d\.\d\d(?: · \d\.\d\d){3}|not recorded) \|$", re.MULTILINE)
RECORDED = re.compile(r"[^()]+, \d{4}-\d\d-\d\d(?=, \[the\s+record\])")
PROJECTS = {
    "fast_gelu": "gelu",
    "bias_gelu": "bias+gelu",
    "swi_glu": "swiglu",
    "layer_norm": "layer_norm",
    "rms_norm": "rms_norm",
    "add_rms_norm": "add+rms_norm",
}
"""The gallery's projects, and what the record calls their layers."""


@dataclass(frozen=True)
class Figures:
    """A table: its title, its columns' names, its rows."""

    title: str
    columns: list[str]
    rows: list[list[str]]

    def markdown(self) -> str:
        """The table's rows in Markdown, without the title."""
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def tables(record: dict[str, Any]) -> list[Figures]:
    """All tables of a record."""
    parts = [large(record), widths(record), sizes(record)]
    parts += [after(record)] if record.get("after") else []
    parts += [replayed(record)] if record.get("replayed") else []
    return [*parts, *([beside_cub(record)] if record.get("cub") else [])]


def shares(record: dict[str, Any]) -> dict[tuple[str, str], float]:
    """By case and type: the share of the copy rate with the large tensor and rows of 4096."""
    return {
        (row["case"], row["type"]): row["share"]
        for row in record["cases"]
        if (row["elements"], row["columns"]) == (ELEMENTS, COLUMNS)
    }


def limit(case: str, kind: str) -> float | None:
    """The least share that is asked of a case with the large tensor; None where none is."""
    single, half, int8 = LIMITS.get(case, (None, None, None))
    return {"float32": single, "int8": int8}.get(kind, half)


def large(record: dict[str, Any]) -> Figures:
    """Each case with the large tensor, in the types, and what others take for it."""
    found = shares(record)
    others: dict[tuple[str, str], list[str]] = {}
    for row in record.get("torch", []):
        # torch's ways are in the order of `patterns_torch.py`: eager, compiled.
        others.setdefault((row["case"].rpartition(", ")[0], row["type"]), []).append(f"{row['share']:.2f}")

    def cell(case: str, kind: str) -> str:
        if (case, kind) not in found:
            return ""
        share, least = found[case, kind], limit(case, kind)
        return f"{share:.3f}" if least is None or share >= least else f"**{share:.3f}** ({least})"

    rows = [
        [case, *(cell(case, kind) for kind in TYPES), *(", ".join(others.get((case, kind), [])) for kind in TYPES[:2])]
        for case in ordered(found)
    ]
    return Figures(
        f"{record['device']}: 134 million elements, rows of 4096; shares of the rate of copies of as many bytes "
        f"(1 GiB: {record['copy_gb_per_s']:.0f} GB/s)",
        ["pattern", *TYPES, "torch, FP32: eager, compiled", "torch, FP16"],
        rows,
    )


def widths(record: dict[str, Any]) -> Figures:
    """The cases that have rows, over the rows' width, with tensors of about the large one's size."""
    return _curves("134 million elements: shares of the copy rate by width of rows", by_width(record), str)


def by_width(record: dict[str, Any]) -> dict[tuple[str, str], dict[int, float]]:
    """By case and type: the shares by elements of a row, where several were measured."""
    found: dict[tuple[str, str], dict[int, float]] = {}
    for row in record["cases"]:
        if ELEMENTS - MOST_COLUMNS < row["elements"] <= ELEMENTS:
            found.setdefault((row["case"], row["type"]), {})[row["columns"]] = row["share"]
    return {name: one for name, one in found.items() if len(one) > 1}


def sizes(record: dict[str, Any]) -> Figures:
    """A case of each pattern over tensors from the smallest to the largest."""
    return _curves(
        "Shares of the rate of copies of as many bytes, by bytes of a tensor",
        by_size(record),
        _size,
    )


def by_size(record: dict[str, Any]) -> dict[tuple[str, str], dict[int, float]]:
    """By case and type: the shares by bytes of a tensor, where several were measured."""
    found: dict[tuple[str, str], dict[int, float]] = {}
    for row in record["cases"]:
        size = row["elements"] * BYTES[row["type"]]
        if row["columns"] in (COLUMNS, row["elements"]):
            found.setdefault((row["case"], row["type"]), {})[size] = row["share"]
    return {name: one for name, one in found.items() if len(one) > 1}


def after(record: dict[str, Any]) -> Figures:
    """What the smaller ones add to a plain kernel of one load and one store before them."""
    found: dict[tuple[str, str], dict[int, float]] = {}
    for row in record["after"]:
        found.setdefault((row["after"], row["type"]), {})[row["elements"] * BYTES[row["type"]]] = row["share"]
    return _curves(
        "The same of what is added to the time of a plain load and store of 4 KiB, after which it is launched",
        found,
        _size,
    )


def _size(size: int) -> str:
    return f"{size // 2**20} MiB" if size >= 2**20 else f"{size // 2**10} KiB"


def _curves(title: str, found: dict[tuple[str, str], dict[int, float]], name: Callable[[int], str]) -> Figures:
    points = sorted({point for one in found.values() for point in one})
    rows = [
        [case, kind, *(f"{found[case, kind].get(point, nan):.2f}".replace("nan", "") for point in points)]
        for case in ordered(found)
        for kind in TYPES
        if (case, kind) in found
    ]
    return Figures(title, ["case", "type", *map(name, points)], rows)


def ordered(found: Iterable[tuple[str, str]]) -> list[str]:
    """The cases: those with limits in their order, then the others."""
    cases = dict.fromkeys(case for case, _ in found)
    return [*(case for case in LIMITS if case in cases), *(case for case in cases if case not in LIMITS)]


def replayed(record: dict[str, Any]) -> Figures:
    """Tensors of 4 KiB in a replayed graph, as times a kernel of one load and one store."""
    times = _times(record)
    rows = [[case, *(f"{times[case, kind]:.2f}" for kind in TYPES)] for case in ordered(times)]
    return Figures("4 KiB in a replayed graph: times a kernel of one load and one store", ["case", *TYPES], rows)


def _times(record: dict[str, Any]) -> dict[tuple[str, str], float]:
    taken = {(row["replayed"], row["type"]): row["us"] for row in record.get("replayed", [])}
    return {
        (case, kind): time / taken["load and store", kind]
        for (case, kind), time in taken.items()
        if case != "load and store"
    }


def beside_cub(record: dict[str, Any]) -> Figures:
    """What CUB's device-wide algorithms do as well, as times what they take."""
    times = _cub_times(record)
    rows = [
        [case, *(f"{times[case, kind]:.2f}" if (case, kind) in times else "" for kind in TYPES)]
        for case in ordered(times)
    ]
    return Figures("134 million elements: times what CUB's device-wide algorithms take", ["case", *TYPES], rows)


def _cub_times(record: dict[str, Any]) -> dict[tuple[str, str], float]:
    """A record of before CUB was measured has none."""
    taken = {(row["case"], row["type"], row["columns"]): row["us"] for row in record.get("cub", [])}
    return {
        (row["case"], row["type"]): row["us"] / taken[row["case"], row["type"], row["columns"]]
        for row in record["cases"]
        if row["elements"] == ELEMENTS and (row["case"], row["type"], row["columns"]) in taken
    }


def missed(record: dict[str, Any]) -> list[str]:
    """What is below its limit, a line each."""
    lines = [
        f"{case}, {kind}: {share:.3f}, at least {least}"
        for (case, kind), share in shares(record).items()
        if (least := limit(case, kind)) is not None and share < least
    ]
    lines += [
        f"{row['case']}, {row['type']}, {row['elements']} elements, rows of {row['columns']}: {row['share']:.2f}"
        for row in record["cases"]
        if row["share"] < (INT8_HOLE if row["type"] == "int8" else HOLE)
        and (row["elements"], row["columns"]) != (ELEMENTS, COLUMNS)
        and (limit(row["case"], row["type"]) or 0) > HOLE
    ]
    lines += [
        f"{case}, {kind}, 4 KiB replayed: {time:.2f} times"
        for (case, kind), time in _times(record).items()
        if time > TINY
    ]
    lines += [
        f"{case}, {kind}: {time:.2f} times what CUB takes"
        for (case, kind), time in _cub_times(record).items()
        if time > CUB
    ]
    return lines


def written(record: dict[str, Any]) -> dict[Path, str]:
    """The documents with the figures of what `patterns.py` recorded: each one's text."""
    found = shares(record)

    def row(match: re.Match[str]) -> str:
        layer = PROJECTS.get(match[2], "")  # a project newer than the record has none
        if (layer, TYPES[0]) not in found:
            return f"{match[1]}not recorded |"
        return f"{match[1]}{' · '.join(f'{found[layer, kind]:.2f}' for kind in TYPES)} |"

    page = PLACE.sub(lambda _: large(record).markdown(), PAGE.read_text(encoding="utf-8"))
    gallery = FIGURES.sub(row, GALLERY.read_text(encoding="utf-8"))
    return {path: RECORDED.sub(recorded(record), text) for path, text in ((PAGE, page), (GALLERY, gallery))}


def recorded(record: dict[str, Any]) -> str:
    """The GPU and the day of a record."""
    return f"{record['device']}, {record['date'][:10]}"


def main() -> int:
    """Print the tables, write the documents."""
    record = records.read(RECORD)
    for table in tables(record):
        sys.stdout.write(f"## {table.title}\n\n{table.markdown()}\n")
    for path, text in written(record).items():
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{os.path.relpath(path)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
