"""The programs of samples/tensorrt8, run by the Python that has TensorRT 8.5.

PLUGINKIT_TENSORRT8_PYTHON names it, and PLUGINKIT_TENSORRT8 the folder of libnvinfer.so.8 where it isn't installed in
that Python.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = ROOT / "samples"
EXAMPLES = {
    "bar": "joined: right",
    "calibration": "min-max, from the cache: right",
    "conditional": "condition False: right",
    "foo": "(3, 512, 641) is refused",
    "lrelu": "LReLU_TRT: right",
    "lstm": "32 steps, last c: right",
    "output_shape": "6 rows: the value of shape is [12, 4]",
    "pool": "INT8: right",
    "shape_input": "(12, 8) to (8, 12): right",
    "sum_even": "64 rows",
}
"""What each prints last but for decimals, when it is right."""
PLUGINS = {"bar": "bar_plugin", "pool": "pool_int8"}
"""Those that take a plugin's library, and the sample that it is of."""


def python() -> str:
    """The Python of PLUGINKIT_TENSORRT8_PYTHON; without it the test is skipped."""
    found = os.environ.get("PLUGINKIT_TENSORRT8_PYTHON", "")
    if not found:
        pytest.skip("no TensorRT 8: PLUGINKIT_TENSORRT8_PYTHON names no Python that has it")
    return found


def run(example: str, *arguments: str, folder: Path = SAMPLES / "tensorrt8") -> subprocess.CompletedProcess[str]:
    """Runs a program of a folder, with this checkout's pluginkit. Raises TimeoutExpired after ten minutes."""
    interpreter = python()
    command = [interpreter, str(folder / f"{example}.py"), *arguments]
    libraries, packages = [str(Path(interpreter).parents[1] / "lib")], [str(ROOT)]
    if there := os.environ.get("PLUGINKIT_TENSORRT8"):
        libraries.append(there)
        packages.append(str(Path(there).parent))
    # Of this process only what its Python may share with another: PYTHONPATH's packages are of one version of Python.
    libraries += filter(None, [os.environ.get("LD_LIBRARY_PATH")])
    env = {**os.environ, "LD_LIBRARY_PATH": ":".join(libraries), "PYTHONPATH": ":".join(packages)}
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=600)


def copied(example: str, folder: Path) -> Path:
    """The project of an example's plugin, in a folder where it can be built."""
    name = PLUGINS[example]
    return Path(shutil.copytree(SAMPLES / name, folder / name, ignore=shutil.ignore_patterns("build")))


def changed(folder: Path, name: str, old: str, new: str) -> Path:
    """A copy of the programs, in which a text of one is another."""
    copy = Path(shutil.copytree(SAMPLES / "tensorrt8", folder / "tensorrt8"))
    text = (copy / name).read_text(encoding="utf-8")
    assert text.count(old) == 1, (name, old)
    (copy / name).write_text(text.replace(old, new), encoding="utf-8")
    return copy
