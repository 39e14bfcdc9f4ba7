"""How near to a copy's speed kernels on pluginkit's device headers come: `python benchmarks/kernels.py` on a GPU.

It compiles `kernels.cu` by nvcc, prints a table of shares of the copy rate, and ends with exit code 1 if a large tensor
is below its limit. `--save FILE` keeps the rows as JSON.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from pluginkit.build import toolchain
from pluginkit.paths import include_dir

SOURCE = Path(__file__).with_name("kernels.cu")
LARGE = 256 * 2**20
"""Bytes of a tensor from which on the limits hold."""
LIMITS = {"leaky": 0.97, "add": 0.97}
"""The least share of the copy rate, in every type. C's exact tanh is shown, and has none: it is many instructions."""
TYPES = ("float32", "float16", "bfloat16", "int8")


def main() -> int:
    """Compile, measure, print, check."""
    parser = argparse.ArgumentParser(description="Shares of the copy rate of kernels on pluginkit's device headers.")
    parser.add_argument("--save", type=Path, help="a file for the rows, as JSON")
    save: Path | None = parser.parse_args().save
    nvcc = toolchain.nvcc().best().path
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "kernels"
        command = [nvcc, "-std=c++17", "-O3", "-arch=native", f"-I{include_dir()}", SOURCE, "-o", program]
        subprocess.run(command, check=True)
        printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    rows = [json.loads(line) for line in printed.splitlines()]
    if save:
        save.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    missed = []
    for copy in (row for row in rows if "gpu" in row):
        of_size = [row for row in rows if row["bytes"] == copy["bytes"] and "share" in row]
        mine = {(row["function"], row["type"]): row["share"] for row in of_size}
        size = f"{copy['bytes'] / 2**20:g} MiB"
        table = Table(title=f"{copy['gpu']}, tensors of {size}, a copy: {copy['copy_gb_per_s']:.0f} GB/s")
        for column in ("function", *TYPES):
            table.add_column(column)
        for function in dict.fromkeys(function for function, _ in mine):
            table.add_row(function, *(f"{mine[function, kind]:.3f}" for kind in TYPES))
        Console().print(table)
        for key, share in mine.items():
            if copy["bytes"] >= LARGE and share < (least := LIMITS.get(key[0], 0)):
                missed.append(f"{key[0]} {key[1]}, {size}: {share:.3f}, at least {least}")
    for line in missed:
        Console().print(f"missed: {line}", highlight=False)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
