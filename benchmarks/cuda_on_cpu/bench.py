"""CPU time of CUDA on the CPU: `python benchmarks/cuda_on_cpu/bench.py [--before OTHER_PYTHON] [--numba PYTHON]`.

Beside a plain C++ loop; with `--before`, beside the target cpu of another checkout, whose environment's Python it is
(or kernels.cu as that one has compiled it, a .so); with `--numba`, beside numba's CUDA simulator in that Python's
environment. Times are seconds of CPU of this process, so that other work on the machine matters little: one worker,
rounds of all libraries in turn, the least of them. numba's are too long to repeat; it gets fewer elements. What two
workers gain is of the wall clock, and means something where two cores are free.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
SIZES = (1 << 16, 1 << 18, 1 << 20)
NUMBA_ELEMENTS = 2048
SCALING_ELEMENTS = 1 << 21
ROUNDS = 9
COMPILES = 3
FLAGS = ["-O2", "-g", "-shared", "-fPIC", "-fvisibility=hidden"]
KERNELS = {
    "multiply-add": "runMultiplyAdd",
    "SiLU": "runSilu",
    "exchange, 1 barrier": "runExchange",
    "block sum, 9 barriers": "runBlockSum",
    "warp sum, 5 shuffles": "runWarpSum",
    "launch of one block": "runLaunches",
}
COUNTS = {"launch of one block": 256}
"""Elements for each thing that is counted, where that is not an element."""


def main() -> None:
    """Build, time, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", metavar="PYTHON", help="of an environment with another pluginkit, or its library")
    parser.add_argument("--numba", metavar="PYTHON", help="of an environment that has numba")
    arguments = parser.parse_args()
    os.environ["PLUGINKIT_CPU_WORKERS"] = "1"  # before any launch
    pythons = {"now": sys.executable} | ({"before": arguments.before} if arguments.before else {})
    with tempfile.TemporaryDirectory() as folder:
        made = {name: _emulated(python, Path(folder) / f"{name}.so") for name, python in pythons.items()}
        libraries = {name: library for name, (library, _) in made.items()}
        plain = Path(folder) / "plain.so"
        subprocess.run(["g++", "-std=c++17", *FLAGS, "-o", str(plain), str(HERE / "plain.cpp")], check=True)
        libraries["C++ loop"] = ctypes.CDLL(str(plain))
        seconds = {size: _time(libraries, size) for size in SIZES}
        scaling = _scaling(libraries["now"])
    numba = _numba(arguments.numba) if arguments.numba else {}
    columns = [*(["before"] if arguments.before else []), *(f"now, {size:,}" for size in SIZES), "C++ loop"]
    table = Table("ns of CPU", *columns, *(["numba"] if numba else []))
    for kernel in KERNELS:
        each = {size: _nanoseconds(kernel, times, size) for size, times in seconds.items()}
        middle = each[SIZES[1]]
        row = [*([middle["before"]] if arguments.before else []), *(each[size]["now"] for size in SIZES)]
        row.append(middle.get("C++ loop", float("nan")))
        if numba:
            name = kernel.partition(",")[0]
            row.append(1e9 * numba[name] / NUMBA_ELEMENTS if name in numba else float("nan"))
        table.add_row(kernel, *("" if np.isnan(ns) else f"{ns:,.2f}" if ns < 10 else f"{ns:,.0f}" for ns in row))
    console = Console(width=110)
    console.print(table)
    compiling = "; ".join(f"{name} {spent:.2f}" for name, (_, spent) in made.items() if spent)
    console.print(f"Compiling this file, s of CPU: {compiling}.")
    console.print(f"Two workers, block sum of {SCALING_ELEMENTS:,} elements: {scaling:.2f} times as fast as one.")


def _emulated(python: str, library: Path) -> tuple[ctypes.CDLL, float]:
    """The kernels as compiled by that Python's pluginkit, and the least seconds of CPU of a compile."""
    if python.endswith(".so"):
        return ctypes.CDLL(python), 0
    command = [python, "-m", "pluginkit.cuda_cpu", *FLAGS, "-o", str(library), str(HERE / "kernels.cu")]
    times = [_of_children()]
    for _ in range(COMPILES):  # from the second on with a precompiled prelude, from the third on without making it
        subprocess.run(command, check=True)
        times.append(_of_children())
    return ctypes.CDLL(str(library)), float(np.diff(times).min())


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _scaling(library: ctypes.CDLL) -> float:
    """How many times as fast two workers are as one, by the least times of rounds in turn."""
    x = np.ones(SCALING_ELEMENTS, np.float32)
    y = np.zeros(SCALING_ELEMENTS, np.float32)
    best = {1: float("inf"), 2: float("inf")}
    for _ in range(ROUNDS):
        for workers in (1, 2):
            os.environ["PLUGINKIT_CPU_WORKERS"] = str(workers)  # read at each launch
            started = time.perf_counter()
            error = library.runBlockSum(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data), x.size)
            best[workers] = min(best[workers], time.perf_counter() - started)
            assert error == 0, (workers, error)
    return best[1] / best[2]


def _time(libraries: dict[str, ctypes.CDLL], elements: int) -> dict[tuple[str, str], float]:
    """The least seconds of each kernel of each library; the results are the loop's."""
    x = np.random.default_rng(1).standard_normal(elements + 1).astype(np.float32)
    best: dict[tuple[str, str], float] = {}
    results: dict[str, np.ndarray] = {}
    for _ in range(ROUNDS):
        for kernel, function in KERNELS.items():
            for name, library in reversed(libraries.items()):
                if not hasattr(library, function):
                    continue
                y = np.full(elements, 0, np.float32)  # written, so that the kernel meets no page for the first time
                started = time.process_time()
                error = getattr(library, function)(
                    ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data), elements
                )
                spent = time.process_time() - started
                assert error == 0, (kernel, name, error)
                np.testing.assert_allclose(y, results.setdefault(kernel, y), rtol=1e-4, atol=1e-4)
                best[name, kernel] = min(spent, best.get((name, kernel), spent))
    return best


def _nanoseconds(kernel: str, best: dict[tuple[str, str], float], elements: int) -> dict[str, float]:
    count = elements / COUNTS.get(kernel, 1)
    return {name: 1e9 * seconds / count for (name, each), seconds in best.items() if each == kernel}


def _numba(python: str) -> dict[str, float]:
    command = [python, str(HERE / "numba_kernels.py"), str(NUMBA_ELEMENTS)]
    seconds: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return seconds


if __name__ == "__main__":
    main()
