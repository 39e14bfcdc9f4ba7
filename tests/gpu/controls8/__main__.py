"""The command line: see the package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TIMEOUT = 300
"""Seconds of a control: a build takes a few."""


def main(names: Sequence[str]) -> int:
    """All controls, or those of these names, each in a process of its own: version and answers as lines of JSON."""
    from . import batch, flow, int8, registry, shapes  # noqa: F401 (they add their controls)
    from .engine import CONTROLS, trt

    if unknown := [name for name in names if name not in CONTROLS]:
        print(f"error: no control {', '.join(unknown)}; there are {', '.join(CONTROLS)}", file=sys.stderr)
        return 2
    print(json.dumps({"TensorRT": trt.__version__}), flush=True)
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        for name, answer in zip(names or CONTROLS, pool.map(_apart, names or CONTROLS), strict=True):
            print(json.dumps({name: answer}), flush=True)
    return 0


def _apart(name: str) -> str:
    command = [sys.executable, "-m", __package__ or "", "--here", name]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return f"no answer in {TIMEOUT} s"
    if done.returncode:
        print(f"{name}: {done.stderr.strip()[-600:]}", file=sys.stderr, flush=True)
    if done.returncode < 0:
        return f"ended by signal {-done.returncode}"
    if done.returncode:
        return f"failed: {done.stderr.strip().splitlines()[-1]}"
    return str(json.loads(done.stdout.splitlines()[-1]))


def here(name: str) -> str:
    """What a control sees, in this process."""
    from pluginkit.runtimes.nvidia.copying.layout import ERRORS

    from . import batch, flow, int8, registry, shapes  # noqa: F401
    from .engine import CONTROLS, Refused

    try:
        answer = CONTROLS[name]()
    except Refused as refused:
        answer = f"refused: {refused}"
    if ERRORS:
        raise RuntimeError(ERRORS[0])
    return answer


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        print(json.dumps(here(sys.argv[2])), flush=True)
        # Contexts and engines are in no order that TensorRT's destructors like.
        os._exit(0)
    sys.exit(main(sys.argv[1:]))
