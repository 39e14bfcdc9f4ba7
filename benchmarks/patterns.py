"""All kernel patterns against the rate of copies: `python benchmarks/patterns.py` on a GPU writes the record.

It compiles `patterns.cu` and the kernel that `pluginkit new` writes by nvcc, measures each pattern in each type, with
rows of 4096 and 134 million elements, over widths of rows and over sizes, the smaller ones also after a kernel that
doesn't start the next one early. Half of the widths and sizes are drawn at random, by a seed that is the day's number
and that the record has: a width that nobody chose shows what its neighbours are worth. Then, by `--torch`, it measures
what torch takes for the same, eager and compiled; by `--cub` what CUB's device-wide algorithms take. The exit code is 1
where a share is below its limit, or a pattern takes longer than CUB by more than 2 %. `patterns_tables.py` writes the
record's figures into the documents.
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
from random import Random
from typing import Any

import numpy as np
import records
from patterns_tables import COLUMNS, TYPES, missed, tables
from rich.console import Console
from rich.table import Table

from pluginkit import scaffold
from pluginkit.build import toolchain
from pluginkit.build.signature import file_name, header
from pluginkit.manifest import Manifest
from pluginkit.paths import include_dir

HERE = Path(__file__).resolve().parent
SIGNATURE = f"x:{','.join(TYPES)}:n,c,h,w"
WIDTHS = (32, 64, 128, 512, 1000, 1001, 1024, 8192, 16384, 65536)
SIZES = (2**12, 2**15, 2**21, 2**30)


def main() -> int:
    """Compile, measure, print, write, check."""
    parser = argparse.ArgumentParser(description="Kernel patterns, as shares of the copy rate.")
    parser.add_argument("--torch", action="store_true", help="measure torch, too")
    parser.add_argument("--cub", action="store_true", help="measure CUB, too")
    parser.add_argument("--only", default="", metavar="CASE,CASE", help="measure these alone, and write no record")
    parser.add_argument("--seed", type=int, default=int(f"{dt.datetime.now(tz=dt.timezone.utc):%Y%m%d}"))
    parser.add_argument("--out", type=Path, default=HERE / "results", help="the record's folder")
    options = parser.parse_args()
    lines = _measured(options.only, options.seed)
    if options.only:
        for line in lines:
            sys.stdout.write(f"{json.dumps(line)}\n")
        return 0
    others: dict[str, list[dict[str, Any]]] = {"torch": [], "cub": []}
    try:
        if options.cub:
            others["cub"] = _cub()
        if options.torch:
            others["torch"] = _torch()
    except subprocess.CalledProcessError as error:
        _recorded(lines, options.out, others, options.seed)
        raise SystemExit(f"the record lacks what this should have measured: {error}") from None
    return _recorded(lines, options.out, others, options.seed)


def drawn(seed: int) -> tuple[list[int], list[int]]:
    """The widths of rows and the bytes of tensors that are measured: half of them chosen, half drawn by a seed."""
    random = Random(seed)
    bytes_ = [16384 * round(65536 ** random.random()) for _ in SIZES]
    widths = [round(8 * 16384 ** random.random()) for _ in WIDTHS]
    return sorted({*WIDTHS, *widths} - {COLUMNS}), sorted({*SIZES, *bytes_})


def _recorded(lines: list[dict[str, Any]], out: Path, others: dict[str, list[dict[str, Any]]], seed: int) -> int:
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
        "seed": seed,
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


def _measured(only: str, seed: int) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        project = scaffold.new("MyPlugin", directory=Path(folder), inputs=[SIGNATURE])
        manifest = Manifest.load(project)
        (project / "src" / file_name(manifest)).write_text(header(manifest))
        sources = [HERE / "patterns.cu", project / "src" / "my_plugin.cu"]
        asked: list[str | Path] = [only, *(",".join(map(str, numbers)) for numbers in drawn(seed))]
        return _of_each_type([f"-I{include_dir()}", f"-I{project / 'src'}", *sources], Path(folder), asked)


def _cub() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        return _of_each_type([HERE / "patterns_cub.cu"], Path(folder), [])


def _of_each_type(arguments: list[str | Path], folder: Path, asked: list[str | Path]) -> list[dict[str, Any]]:
    """Compile a program for each type, all at once, and run them, one after another."""
    command: list[str | Path] = [toolchain.nvcc().best().path, "-std=c++17", "-O3", "-arch=native"]

    def compiled(number: int) -> Path:
        program = folder / f"program{number}"
        subprocess.run([*command, f"-DPATTERNS_TYPE={number}", *arguments, "-o", program], check=True)
        return program

    with ThreadPoolExecutor() as pool:
        programs = list(pool.map(compiled, range(len(TYPES))))
    printed = [
        subprocess.run([str(one), *map(str, asked)], check=True, stdout=subprocess.PIPE, text=True).stdout
        for one in programs
    ]
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
