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
import subprocess
import sys
import tempfile
from collections.abc import Callable
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
}
SIGNATURE = f"x:{','.join(TYPES)}:n,c,h,w"


def main() -> int:
    """Compile, measure, print, write, check."""
    parser = argparse.ArgumentParser(description="Kernel patterns, as shares of the copy rate.")
    parser.add_argument("--torch", action="store_true", help="measure torch, too")
    parser.add_argument("--out", type=Path, default=HERE / "results", help="the record's folder")
    options = parser.parse_args()
    lines = _measured()
    device, peak = next((line["gpu"], line["peak_gb_per_s"]) for line in lines if "gpu" in line)
    copies = {line["copy_bytes"]: line["gb_per_s"] for line in lines if "copy_bytes" in line}
    rows = [line for line in lines if "case" in line]
    torch = _torch() if options.torch else []
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
        "torch": torch,
    }
    options.out.mkdir(parents=True, exist_ok=True)
    stem = f"{date:%Y-%m-%d}-{re.sub(r'[^a-z0-9]+', '-', device.lower()).strip('-')}-patterns"
    (options.out / f"{stem}.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    missed = show(record)
    for line in missed:
        Console().print(f"missed: {line}", highlight=False)
    return 1 if missed else 0


def _measured() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        project = scaffold.new("MyPlugin", directory=Path(folder), inputs=[SIGNATURE])
        program = Path(folder) / "patterns"
        command: list[str | Path] = [
            toolchain.nvcc().best().path,
            "-std=c++17",
            "-O3",
            "-arch=native",
            f"-I{include_dir()}",
        ]
        command += [f"-I{project / 'src'}", HERE / "patterns.cu", project / "src" / "my_plugin_kernel.cu"]
        subprocess.run([*command, "-o", program], check=True)
        printed = subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout
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
    return missed


def _widths(record: dict[str, Any], console: Console) -> None:
    widths = sorted({row["columns"] for row in record["cases"] if row["elements"] > ELEMENTS - 1000})
    table = Table(title="134 million elements, share of the copy rate by width of rows")
    for column in ("case", "type", *map(str, widths)):
        table.add_column(column)
    for case in ("softmax", "rms_norm", "cumsum"):
        for kind in TYPES:
            shares = {
                row["columns"]: row["share"]
                for row in record["cases"]
                if (row["case"], row["type"]) == (case, kind) and row["elements"] > ELEMENTS - 1000
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


def _torch() -> list[dict[str, Any]]:
    """What torch takes for the same work: rows as those of `patterns.cu`."""
    import torch
    from torch.nn.functional import embedding, gelu, layer_norm, rms_norm, silu

    def seconds(work: Callable[..., Any], given: tuple[Any, ...]) -> float:
        for _ in range(5):
            work(*given)
        events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(25)]
        for begin, end in events:
            begin.record()
            work(*given)
            end.record()
        torch.cuda.synchronize()
        return float(sorted(begin.elapsed_time(end) for begin, end in events)[12] * 1e-3)

    rows: list[dict[str, Any]] = []
    shape = (ELEMENTS // COLUMNS, COLUMNS)
    for kind in ("float32", "float16"):
        x, g = (torch.randn(shape, device="cuda", dtype=getattr(torch, kind)) for _ in range(2))
        w, b = (torch.randn(COLUMNS, device="cuda", dtype=x.dtype) for _ in range(2))
        index = torch.randperm(shape[0], device="cuda")
        # The work, what it is given, and how many tensors it reads or writes.
        cases: dict[str, tuple[Callable[..., Any], tuple[Any, ...], int]] = {
            "gelu": (lambda x: gelu(x, approximate="tanh"), (x,), 2),
            "bias+gelu": (lambda x, b: gelu(x + b, approximate="tanh"), (x, b), 2),
            "swiglu": (lambda x, g: silu(x) * g, (x, g), 3),
            "softmax": (lambda x: torch.softmax(x, -1), (x,), 2),
            "layer_norm": (lambda x, w, b: layer_norm(x, (COLUMNS,), w, b), (x, w, b), 2),
            "rms_norm": (lambda x, w: rms_norm(x, (COLUMNS,), w), (x, w), 2),
            "add+rms_norm": (lambda x, g, w: rms_norm(x + g, (COLUMNS,), w), (x, g, w), 3),
            "row max": (lambda x: x.amax(-1), (x,), 1),
            "cumsum": (lambda x: torch.cumsum(x, -1), (x,), 2),
            "embedding": (embedding, (index, x), 2),
            "transpose": (lambda x: x.t().contiguous(), (x,), 2),
        }
        moved = ELEMENTS * x.element_size()
        for case, (work, given, times) in cases.items():
            for way, made in (("eager", work), ("compiled", torch.compile(work, dynamic=False))):
                time = seconds(made, given)
                rate = times * moved / time / 1e9
                rows.append(
                    {
                        "type": kind,
                        "case": f"{case}, {way}",
                        "elements": ELEMENTS,
                        "columns": COLUMNS,
                        "us": time * 1e6,
                        "gb_per_s": rate,
                    }
                )
    return rows


if __name__ == "__main__":
    sys.exit(main())
