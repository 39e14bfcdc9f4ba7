"""All kernel patterns against the rate of copies: `python benchmarks/patterns.py` on a GPU writes the record.

It compiles `patterns.cu` and the kernel that `pluginkit new` writes by nvcc, measures each pattern in each type, with
rows of 4096 and 134 million elements, over widths of rows and over sizes; then, by `--torch`, what torch takes for the
same, eager and compiled. The exit code is 1 where a share is below its limit.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import re
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from pluginkit import scaffold
from pluginkit.build import toolchain
from pluginkit.paths import include_dir

HERE = Path(__file__).resolve().parent
BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "int8": 1}
TYPES = tuple(BYTES)
ELEMENTS, COLUMNS = 2**27, 4096
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
}
# INT8 weights have no limit: a network's are float32. They are measured to see what they cost.
HOLE = 0.85  # least share anywhere on a curve
TINY = 1.2  # most times a kernel of one load and one store, in a replayed graph
SIGNATURE = f"x:{','.join(TYPES)}:n,c,h,w"


def main() -> int:
    """Compile, measure, print, write, check."""
    parser = argparse.ArgumentParser(description="Kernel patterns, as shares of the copy rate.")
    parser.add_argument("--torch", action="store_true", help="measure torch, too")
    parser.add_argument("--out", type=Path, default=HERE / "results", help="the record's folder")
    options = parser.parse_args()
    lines = _measured()
    if not options.torch:
        return _recorded(lines, options.out, [])
    try:
        torch = _torch()
    except subprocess.CalledProcessError as error:
        _recorded(lines, options.out, [])
        raise SystemExit(
            f"the record is without torch: {HERE / 'patterns_torch.py'} ended with {error.returncode}"
        ) from None
    return _recorded(lines, options.out, torch)


def _recorded(lines: list[dict[str, Any]], out: Path, torch: list[dict[str, Any]]) -> int:
    """Write what `patterns.cu` and torch printed as a record, and show it."""
    device, peak = next((line["gpu"], line["peak_gb_per_s"]) for line in lines if "gpu" in line)
    rates: dict[int, list[float]] = {}
    for line in lines:
        if "copy_bytes" in line:
            rates.setdefault(line["copy_bytes"], []).append(line["gb_per_s"])
    copies = {size: statistics.median(several) for size, several in rates.items()}
    rows = [line for line in lines if "case" in line]
    large = copies[max(copies)]
    if large > peak:
        raise SystemExit(
            f"copies of {large:.0f} GB/s are more than the memory's {peak:.0f}: they were not measured right"
        )
    for row in (*rows, *torch):
        # Of what a copy of the same tensor takes: what a kernel's beginning and end cost is in both.
        size = row["elements"] * BYTES[row["type"]]
        nearest = min(copies, key=lambda other: abs(other - size))
        row["share"] = round(row["gb_per_s"] / copies[nearest], 4)
    date = dt.datetime.now(tz=dt.timezone.utc)
    record = {
        "device": device,
        "date": date.isoformat(timespec="seconds"),
        "copies": [{"bytes": size, "gb_per_s": rate} for size, rate in copies.items()],
        "copy_gb_per_s": large,
        "peak_gb_per_s": peak,
        "cases": rows,
        "replayed": [line for line in lines if "replayed" in line],
        "torch": torch,
    }
    out.mkdir(parents=True, exist_ok=True)
    stem = f"{date:%Y-%m-%d}-{re.sub(r'[^a-z0-9]+', '-', device.lower()).strip('-')}-patterns"
    (out / f"{stem}.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    missed = show(record)
    for line in missed:
        Console().print(f"missed: {line}", highlight=False)
    return 1 if missed else 0


def _measured() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        project = scaffold.new("MyPlugin", directory=Path(folder), inputs=[SIGNATURE])
        sources = [HERE / "patterns.cu", project / "src" / "my_plugin_kernel.cu"]
        command = [toolchain.nvcc().best().path, "-std=c++17", "-O3", "-arch=native", f"-I{include_dir()}"]

        def compiled(number: int) -> Path:
            program = Path(folder) / f"patterns{number}"
            options = [f"-I{project / 'src'}", f"-DPATTERNS_TYPE={number}", *sources, "-o", program]
            subprocess.run([*command, *options], check=True)
            return program

        with ThreadPoolExecutor() as pool:
            programs = list(pool.map(compiled, range(len(TYPES))))
        printed = [subprocess.run([one], check=True, stdout=subprocess.PIPE, text=True).stdout for one in programs]
    return [json.loads(line) for text in printed for line in text.splitlines()]


def _torch() -> list[dict[str, Any]]:
    command = [sys.executable, HERE / "patterns_torch.py"]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in printed.splitlines()]


def show(record: dict[str, Any]) -> list[str]:
    """Print the tables of a record; the cases that miss their limits."""
    console = Console(width=140)
    missed = []
    large = {
        (row["case"], row["type"]): row["share"]
        for row in record["cases"]
        if (row["elements"], row["columns"]) == (ELEMENTS, COLUMNS)
    }
    anchors = {(row["case"], row["type"]): row for row in record["torch"]}
    title = f"{record['device']}: 134 million elements, rows of 4096; shares of the rate of copies of the same size"
    table = Table(title=f"{title} (1 GiB: {record['copy_gb_per_s']:.0f} GB/s)")
    for column in ("case", *TYPES, "torch float32", "torch float16"):
        table.add_column(column)
    for case, (single, half, int8) in LIMITS.items():
        cells = []
        for kind in TYPES:
            least = {"float32": single, "int8": int8}.get(kind, half)
            share = large.get((case, kind))
            cells.append("" if share is None else f"{share:.3f}{'' if share >= least else f' < {least}'}")
            if share is not None and share < least:
                missed.append(f"{case}, {kind}: {share:.3f}, at least {least}")
        for kind in ("float32", "float16"):
            both = [anchors.get((f"{case}, {way}", kind)) for way in ("eager", "compiled")]
            cells.append("; ".join(f"{row['share']:.2f}" for row in both if row))
        table.add_row(case, *cells)
    console.print(table)
    _widths(record, console)
    _sizes(record, console)
    return [*missed, *_holes(record), *(_replayed(record, console) if record.get("replayed") else [])]


def _widths(record: dict[str, Any], console: Console) -> None:
    widths = sorted({row["columns"] for row in record["cases"] if row["elements"] > ELEMENTS - 70000})
    table = Table(title="134 million elements, share of the copy rate by width of rows")
    for column in ("case", "type", *map(str, widths)):
        table.add_column(column)
    for case in ("softmax", "rms_norm", "cumsum"):
        for kind in TYPES:
            shares = {
                row["columns"]: row["share"]
                for row in record["cases"]
                if (row["case"], row["type"]) == (case, kind) and row["elements"] > ELEMENTS - 70000
            }
            table.add_row(case, kind, *(f"{shares[width]:.2f}" if width in shares else "" for width in widths))
    console.print(table)


def _sizes(record: dict[str, Any], console: Console) -> None:
    """Shares of the rate of copies of the same size."""
    copies = {row["bytes"]: row["gb_per_s"] for row in record["copies"]}
    found: dict[tuple[str, str], dict[int, float]] = {}
    for row in record["cases"]:
        size = row["elements"] * BYTES[row["type"]]
        if size in copies and row["columns"] in (COLUMNS, row["elements"]):
            found.setdefault((row["case"], row["type"]), {})[size] = row["share"]
    sizes = sorted({size for one in found.values() for size in one if len(one) > 1})
    table = Table(title="share of the rate of copies of the same size, by bytes of a tensor")
    for column in ("case", "type", *(f"{size / 2**20:g} MiB" for size in sizes)):
        table.add_column(column)
    for (case, kind), one in found.items():
        if len(one) > 1:
            table.add_row(case, kind, *(f"{one[size]:.2f}" if size in one else "" for size in sizes))
    console.print(table)


def _holes(record: dict[str, Any]) -> list[str]:
    """Points of the curves below HOLE: by width of rows, and by size."""
    usual = (ELEMENTS, COLUMNS)
    return [
        f"{row['case']}, {row['type']}, {row['elements']} elements, rows of {row['columns']}: {row['share']:.2f}"
        for row in record["cases"]
        if row["share"] < HOLE and (row["elements"], row["columns"]) != usual and row["case"] in (*LIMITS, "leaky")
        and row["case"] != "nonzero"
    ]  # fmt: skip


def _replayed(record: dict[str, Any], console: Console) -> list[str]:
    """Tensors of 4 KiB in a replayed graph, as times a kernel of one load and one store."""
    rows = record["replayed"]
    least = {row["type"]: row["us"] for row in rows if row["replayed"] == "load and store"}
    table = Table(title="4 KiB in a replayed graph: times a kernel of one load and one store")
    for column in ("case", *TYPES):
        table.add_column(column)
    table.add_row("load and store", *(f"{least[kind]:.2f} us" for kind in TYPES))
    missed = []
    for case in dict.fromkeys(row["replayed"] for row in rows if row["replayed"] != "load and store"):
        times = {row["type"]: row["us"] / least[row["type"]] for row in rows if row["replayed"] == case}
        table.add_row(case, *(f"{times[kind]:.2f}" for kind in TYPES))
        missed += [f"{case}, {kind}, 4 KiB replayed: {times[kind]:.2f} times" for kind in TYPES if times[kind] > TINY]
    console.print(table)
    return missed


if __name__ == "__main__":
    sys.exit(main())
