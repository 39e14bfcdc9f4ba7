"""CUDA on the CPU beside numba's CUDA simulator and a plain C++ loop: `python benchmarks/cuda_on_cpu/bench.py`.

Needs numba: in the environment that has pluginkit, or in that of another Python, named as the argument. Times are the
best of several runs, but for numba's, which are too long to repeat; its counts are smaller, and all times are given per
element or per block.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
ELEMENTS, BLOCKS = 1 << 20, 1 << 14
NUMBA_ELEMENTS, NUMBA_BLOCKS = 2048, 4
REPEATS = 7
FLAGS = ["-O2", "-g", "-shared", "-fPIC", "-fvisibility=hidden"]


def main() -> None:
    """Build, time, print the table."""
    with tempfile.TemporaryDirectory() as folder:
        emulated, plain = Path(folder) / "emulated.so", Path(folder) / "plain.so"
        ours = [sys.executable, "-m", "pluginkit.cuda_cpu", *FLAGS, "-o", str(emulated), str(HERE / "kernels.cu")]
        subprocess.run(ours, check=True)
        subprocess.run(["g++", "-std=c++17", *FLAGS, "-o", str(plain), str(HERE / "plain.cpp")], check=True)
        ours_seconds, plain_seconds = _time(ctypes.CDLL(str(emulated))), _time(ctypes.CDLL(str(plain)))
    python = sys.argv[1] if len(sys.argv) > 1 else sys.executable
    command = [python, str(HERE / "numba_kernels.py"), str(NUMBA_ELEMENTS), str(NUMBA_BLOCKS)]
    numba_seconds = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    table = Table("kernel", "per", "C++ loop", "target cpu", "numba", "× C++", "numba ×")
    for name in ours_seconds:
        per, count, numba_count = ("block", BLOCKS, NUMBA_BLOCKS)
        if name != "block sum":
            per, count, numba_count = ("element", ELEMENTS, NUMBA_ELEMENTS)
        each = (plain_seconds[name] / count, ours_seconds[name] / count, numba_seconds[name] / numba_count)
        ratios = (each[1] / each[0], each[2] / each[1])
        table.add_row(name, per, *(f"{1e9 * s:,.2f} ns" for s in each), *(f"{ratio:,.1f}" for ratio in ratios))
    Console(width=110).print(table)


def _time(library: ctypes.CDLL) -> dict[str, float]:
    """The best seconds of each kernel, its result checked."""
    x = np.random.default_rng(1).standard_normal(max(ELEMENTS, 64 * BLOCKS)).astype(np.float32)
    y = np.zeros_like(x)
    at_x, at_y = ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data)
    runs: dict[str, Callable[[], int]] = {
        "axpy": lambda: library.runAxpy(at_x, at_y, ELEMENTS),
        "gelu": lambda: library.runGelu(at_x, at_y, ELEMENTS),
        "block sum": lambda: library.runBlockSum(at_x, at_y, 64 * BLOCKS),
    }
    best = {}
    for name, run in runs.items():
        times = []
        for _ in range(REPEATS):
            started = time.perf_counter()
            assert run() == 0
            times.append(time.perf_counter() - started)
        best[name] = min(times)
    np.testing.assert_allclose(y[:BLOCKS], x[: 64 * BLOCKS].reshape(-1, 64).sum(1), rtol=1e-4, atol=1e-4)
    return best


if __name__ == "__main__":
    main()
