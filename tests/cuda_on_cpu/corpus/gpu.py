"""The corpus on a GPU: `python gpu.py --nvcc nvcc --arch native`. Needs NumPy, nvcc and this folder, no more.

Compiles every kernel by itself, runs the same cases against the same oracles as the tests of target cpu, prints a
table, and ends with 1 if something differs.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

for module in sorted(HERE.glob("families_*.py")):
    importlib.import_module(f"{HERE.name}.{module.stem}")
CASES = importlib.import_module(f"{HERE.name}.cases").CASES

FLAGS = [
    "-std=c++17",
    "-O2",
    "-shared",
    "-Xcompiler=-fPIC,-fvisibility=hidden",
    "--extended-lambda",
    "-DCORPUS_FILL=0xff",
]


def main() -> int:
    """The command line; the exit code."""
    parser = argparse.ArgumentParser(description="The corpus of kernels on a GPU, against NumPy.")
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--arch", default="native", help="as nvcc's -arch: native, sm_90, ...")
    parser.add_argument("--compile-only", action="store_true", help="stop when every kernel compiles (needs no GPU)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="nvcc's at a time")
    parser.add_argument("-k", default="", metavar="PART", help="only kernels with this in their name")
    parser.add_argument("--list", action="store_true", help="print the names of the cases and stop")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(case.name for case in CASES))
        return 0
    kernels = sorted({case.kernel for case in CASES if arguments.k in case.kernel})
    with tempfile.TemporaryDirectory(prefix="corpus-") as folder, ThreadPoolExecutor(arguments.jobs) as pool:
        command = [arguments.nvcc, f"-arch={arguments.arch}", *FLAGS]
        output = dict(zip(kernels, pool.map(lambda name: _compiled(command, name, Path(folder)), kernels), strict=True))
        for name, message in output.items():
            if message:
                print(f"{name}: {message}")
        broken = sum("error" in message for message in output.values())
        print(f"{len(kernels) - broken} of {len(kernels)} kernels compile")
        if broken or arguments.compile_only:
            return int(broken > 0)
        return _table(kernels, Path(folder))


def _compiled(command: list[str], name: str, folder: Path) -> str:
    files = [str(HERE / f"{name}.cu"), "-o", str(folder / f"lib{name}.so")]
    done = subprocess.run([*command, *files], capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr + ("error" if done.returncode else "")).strip()


def _table(kernels: list[str], folder: Path) -> int:
    wrong = 0
    for case in CASES:
        if case.kernel not in kernels:
            continue
        error, why = case.run(ctypes.CDLL(str(folder / f"lib{case.kernel}.so")))
        wrong += bool(why)
        print(f"{case.name:40} {error:9.3f} of what is allowed  {'WRONG: ' + why if why else 'ok'}", flush=True)
    print(f"{wrong} wrong" if wrong else "all right")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
