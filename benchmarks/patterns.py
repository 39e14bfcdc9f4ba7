"""All kernel patterns against the rate of copies: `python benchmarks/patterns.py` on a GPU writes the record.

It compiles `patterns.cu` and the kernel that `pluginkit new` writes by nvcc, measures each pattern in each type, with
rows of 4096 and 134 million elements, over widths of rows and over sizes, the smaller ones also after a kernel that
doesn't start the next one early; then, by `--torch`, what torch takes for the same, eager and compiled; by `--cub` what
CUB's device-wide algorithms take. The exit code is 1 where a share is below its limit, or a pattern takes longer than
CUB by more than 2 %. `patterns_tables.py` writes the record's figures into the documents.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import records
from patterns_tables import TYPES, missed, tables
from rich.console import Console
from rich.table import Table

from pluginkit import scaffold
from pluginkit.build import toolchain
from pluginkit.build.signature import file_name, header
from pluginkit.manifest import Manifest
from pluginkit.paths import include_dir

HERE = Path(__file__).resolve().parent
SIGNATURE = f"x:{','.join(TYPES)}:n,c,h,w"


def main() -> int:
    """Compile, measure, print, write, check."""
    parser = argparse.ArgumentParser(description="Kernel patterns, as shares of the copy rate.")
    parser.add_argument("--torch", action="store_true", help="measure torch, too")
    parser.add_argument("--cub", action="store_true", help="measure CUB, too")
    parser.add_argument("--out", type=Path, default=HERE / "results", help="the record's folder")
    options = parser.parse_args()
    lines = _measured()
    others: dict[str, list[dict[str, Any]]] = {"torch": [], "cub": []}
    try:
        if options.cub:
            others["cub"] = _cub()
        if options.torch:
            others["torch"] = _torch()
    except subprocess.CalledProcessError as error:
        _recorded(lines, options.out, others)
        raise SystemExit(f"the record lacks what this should have measured: {error}") from None
    return _recorded(lines, options.out, others)


def _recorded(lines: list[dict[str, Any]], out: Path, others: dict[str, list[dict[str, Any]]]) -> int:
    """Write what `patterns.cu`, torch and CUB printed as a record, and show it."""
    device, peak = next((line["gpu"], line["peak_gb_per_s"]) for line in lines if "gpu" in line)
    copied = [line for line in lines if "copy_bytes" in line]
    copies = _copies(copied)
    # Each type has a process of its own, and small copies take up to a tenth more in one process than in another.
    copies_of = {kind: _copies([line for line in copied if line["type"] == kind]) for kind in TYPES}
    rows = [line for line in lines if "case" in line]
    after = [line for line in lines if "after" in line]
    apart = (*others["torch"], *others["cub"])
    large = copies[max(copies)]
    if large > peak:
        raise SystemExit(
            f"copies of {large:.0f} GB/s are more than the memory's {peak:.0f}: they were not measured right"
        )
    for row, beside in (*((row, copies_of[row["type"]]) for row in rows + after), *((row, copies) for row in apart)):
        row["share"] = round(_copied_us(beside, row["us"] * row["gb_per_s"] * 1e3) / row["us"], 4)
    date = dt.datetime.now(tz=dt.timezone.utc)
    record = {
        "device": device,
        "date": date.isoformat(timespec="seconds"),
        "copies": [
            {"type": kind, "bytes": size, "gb_per_s": rate}
            for kind, of_type in copies_of.items()
            for size, rate in of_type.items()
        ],
        "copy_gb_per_s": large,
        "peak_gb_per_s": peak,
        "cases": rows,
        "after": after,
        "replayed": [line for line in lines if "replayed" in line],
        **others,
    }
    out.mkdir(parents=True, exist_ok=True)
    records.write(record, out / "patterns.csv")
    below = show(record)
    for line in below:
        Console().print(f"missed: {line}", highlight=False)
    return 1 if below else 0


def _copies(measured: list[dict[str, Any]]) -> dict[int, float]:
    """The median rates of copies by their bytes."""
    rates: dict[int, list[float]] = {}
    for line in measured:
        rates.setdefault(line["copy_bytes"], []).append(line["gb_per_s"])
    return {size: statistics.median(several) for size, several in rates.items()}


def _copied_us(copies: dict[int, float], moved: float) -> float:
    """What a copy that moves as many bytes takes, in microseconds; linear between the sizes measured.

    So what a launch costs is in both, also where a kernel reads more than it writes.
    """
    sizes = sorted(copies)
    times = [2 * size / copies[size] / 1e3 for size in sizes]
    if moved / 2 > sizes[-1]:
        return moved / copies[sizes[-1]] / 1e3
    return float(np.interp(moved / 2, sizes, times))


def _measured() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        project = scaffold.new("MyPlugin", directory=Path(folder), inputs=[SIGNATURE])
        manifest = Manifest.load(project)
        (project / "src" / file_name(manifest)).write_text(header(manifest))
        sources = [HERE / "patterns.cu", project / "src" / "my_plugin.cu"]
        return _of_each_type([f"-I{include_dir()}", f"-I{project / 'src'}", *sources], Path(folder))


def _cub() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        return _of_each_type([HERE / "patterns_cub.cu"], Path(folder))


def _of_each_type(arguments: list[str | Path], folder: Path) -> list[dict[str, Any]]:
    """Compile a program for each type, all at once, and run them, one after another."""
    command = [toolchain.nvcc().best().path, "-std=c++17", "-O3", "-arch=native"]

    def compiled(number: int) -> Path:
        program = folder / f"program{number}"
        subprocess.run([*command, f"-DPATTERNS_TYPE={number}", *arguments, "-o", program], check=True)
        return program

    with ThreadPoolExecutor() as pool:
        programs = list(pool.map(compiled, range(len(TYPES))))
    printed = [subprocess.run([one], check=True, stdout=subprocess.PIPE, text=True).stdout for one in programs]
    return [
        {"type": kind, **json.loads(line)}
        for kind, text in zip(TYPES, printed, strict=True)
        for line in text.splitlines()
    ]


def _torch() -> list[dict[str, Any]]:
    command = [sys.executable, HERE / "patterns_torch.py"]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in printed.splitlines()]


def show(record: dict[str, Any]) -> list[str]:
    """Print the tables of a record; the cases that miss their limits."""
    console = Console(width=180)
    for figures in tables(record):
        table = Table(title=figures.title)
        for column in figures.columns:
            table.add_column(column)
        for row in figures.rows:
            table.add_row(*(cell.replace("*", "") for cell in row))
        console.print(table)
    return missed(record)


if __name__ == "__main__":
    sys.exit(main())
