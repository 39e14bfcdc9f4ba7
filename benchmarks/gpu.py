"""The samples' record: `python benchmarks/gpu.py [COMMIT]` on a GPU writes benchmarks/results/samples.csv and .png.

It builds the samples for the GPU here and runs `pluginkit bench` on them, several at once (the reference's work goes on
while another one measures; measurements wait for one another), then what `launches.py` measures, alone. COMMIT is for a
tree that is not a git checkout. Limits that the samples are to keep are checked at the end; the exit code is 1 where
one is missed.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import launches
import records
from rich.console import Console
from rich.table import Table

from pluginkit.build import toolchain

HERE = Path(__file__).resolve().parent
SAMPLES = HERE.parent / "samples"
RUNS = {
    "bar_plugin": ("bar_plugin", ["*"]),
    "pool_int8 FP32": ("pool_int8", ["tiny/float32", "max-?x?/float32", "max-?x?-112/float32", "average-*/float32"]),
    "pool_int8 FP16": ("pool_int8", ["tiny/float16", "max-?x?/float16", "max-?x?-112/float16", "average-*/float16"]),
    "pool_int8 INT8, maximum": ("pool_int8", ["tiny/int8", "max-?x?/int8", "max-?x?-112/int8"]),
    "pool_int8 INT8, with arithmetic": ("pool_int8", ["*-rescaled/int8", "average-*/int8"]),
}
"""What is run beside one another: a sample, and the ids of its cases."""
LIMITS = (
    ("bar_plugin", r"large/(float32|float16|int8)", 0.95),
    ("pool_int8", r"max-2x2(-112)?/.*", 0.90),
    ("pool_int8", r"max-3x3(-112)?/.*", 0.85),
)
"""Shares of the copy rate that the cases must have at least."""
LAUNCH_LIMIT = 1.1
"""Times an empty kernel's launch, for the samples' tiny shapes; the run's own noise is allowed for besides."""


def main() -> None:
    """Build, measure, write, check."""
    commit = sys.argv[1] if len(sys.argv) > 1 else _git()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        measure_launches = launches.prepared(Path(folder))
        with ThreadPoolExecutor() as pool:
            jobs = {name: pool.submit(_bench, name, Path(folder)) for name in RUNS}
            runs = {name: job.result() for name, job in jobs.items()}
        launched = measure_launches()
        launches.show(launched)
        device = runs["bar_plugin"]["device"]
        date = dt.datetime.now(tz=dt.timezone.utc)
        record = {
            "device": device,
            "driver": _driver(),
            "date": date.isoformat(timespec="seconds"),
            "commit": commit,
            "processor": platform.processor() or platform.machine(),
            "python": platform.python_version(),
            "nvcc": _nvcc(),
            "torch": _torch(),
            "seconds": round(time.monotonic() - started, 1),
            "cases": [
                {"run": name, "copy_rate": run["copy_rate"], **result}
                for name, run in runs.items()
                for result in run["results"]
            ],
            **{
                kind: [{"name": name, **times} for name, times in measured.items()]
                for kind, measured in launched.items()
                if isinstance(measured, dict)
            },
            "limits": [*_shares(runs), *_launches(launched)],
        }
        out = Path(os.environ.get("PLUGINKIT_RESULTS", HERE / "results"))
        out.mkdir(parents=True, exist_ok=True)
        records.write(record, out / "samples.csv")
        (out / "samples.png").write_bytes((Path(folder) / "bar_plugin.png").read_bytes())
    sys.exit(_printed(record))


def _bench(name: str, folder: Path) -> Any:
    sample, ids = RUNS[name]
    stem = re.sub(r"[^a-z0-9]+", "-", name.lower())
    library = SAMPLES / sample / "build" / "gpu" / f"lib{sample}.so"
    only = [part for one in ids for part in ("--only", one)]
    files = ["--json", str(folder / f"{stem}.json")]
    if sample == "bar_plugin":
        files += ["--plot", str(folder / f"{sample}.png")]
    command = [sys.executable, "-m", "pluginkit", "bench", str(SAMPLES / sample), "--library", str(library)]
    command += [*only, *files, "--timeout", "120"]
    # Not in the checkout, where the sources would hide an installed pluginkit.
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    text = f"\n{name}: exit code {ended.returncode}\n{ended.stdout}{ended.stderr}"
    Console(width=160).print(text, markup=False, highlight=False)
    return json.loads((folder / f"{stem}.json").read_text())


def _shares(runs: dict[str, Any]) -> list[dict[str, Any]]:
    found = []
    for name, run in runs.items():
        for result in run["results"]:
            for sample, pattern, least in LIMITS:
                if RUNS[name][0] == sample and re.fullmatch(pattern, result["id"]):
                    share = result["share_of_copy"] or 0.0
                    what = f"{sample} {result['id']}: share of the copy rate"
                    found.append({"what": what, "least": least, "found": share, "held": share >= least})
    return found


def _launches(launched: dict[str, Any]) -> list[dict[str, Any]]:
    """A limit is missed where the ratio is above it with 95 %, and by more than an empty kernel is off itself."""
    noise = max(1.0, launched["launches"][launches.AGAIN]["ratio_high"])
    return [
        {
            "what": f"{name}: times an empty kernel's launch",
            "most": LAUNCH_LIMIT,
            "found": times["ratio"],
            "noise": noise - 1,
            "held": times["ratio_low"] <= LAUNCH_LIMIT * noise,
        }
        for name, times in launched["launches"].items()
        if "tiny" in name
    ]


def _printed(record: dict[str, Any]) -> int:
    table = Table("limit", "asked", "found", "")
    for one in record["limits"]:
        asked = f">= {one['least']}" if "least" in one else f"<= {one['most']}"
        table.add_row(one["what"], asked, f"{one['found']:.3f}", "held" if one["held"] else "MISSED")
    console = Console(width=120)
    console.print(table)
    console.print(f"{record['device']}, {record['seconds']} s in all")
    return 0 if all(one["held"] for one in record["limits"]) else 1


def _output(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=HERE).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _git() -> str:
    return _output("git", "describe", "--always", "--dirty", "--abbrev=40") or "not known"


def _driver() -> str:
    return _output("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader").partition("\n")[0]


def _nvcc() -> str:
    return str(toolchain.nvcc().best().version)


def _torch() -> str:
    return _output(sys.executable, "-c", "import torch; print(torch.__version__)") or "not installed"


if __name__ == "__main__":
    main()
