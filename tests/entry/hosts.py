"""NVIDIA's libraries for tests: where they are, and how to run Python in a process that has one of them.

tensorrt-lean of TensorRT 10 and of 11 can't be installed side by side, so each has a folder made by
`pip install --target`: the one that PLUGINKIT_LEAN10 or PLUGINKIT_LEAN11 names, or `.venv-nvidia/lean10` and `lean11`.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def lean(major: int) -> Path:
    """The folder of tensorrt-lean of TensorRT 10 or 11. Skips the test where there is none."""
    variable = f"PLUGINKIT_LEAN{major}"
    folder = Path(os.environ.get(variable) or ROOT / ".venv-nvidia" / f"lean{major}")
    if not (folder / "tensorrt_lean").is_dir():
        pytest.skip(f"no tensorrt_lean in {folder}: run make setup, or name another folder in {variable}")
    return folder


def rtx_library() -> Path:
    """The file of tensorrt-rtx's library. Skips the test where the package is not installed."""
    if importlib.util.find_spec("tensorrt_rtx") is None:
        pytest.skip("tensorrt_rtx is not installed here: run make setup")
    spec = importlib.util.find_spec("tensorrt_rtx_libs")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    (folder,) = spec.submodule_search_locations
    (library,) = Path(folder).glob("libtensorrt_rtx.so.*")
    return library


def in_lean(major: int, script: Path, *arguments: object, env: dict[str, str] | None = None) -> str:
    """Runs a Python script with tensorrt_lean of that major, in a process of its own."""
    return _python(script, arguments, {"PYTHONPATH": str(lean(major)), **(env or {})})


def in_rtx(folder: Path, script: Path, *arguments: object, env: dict[str, str] | None = None) -> str:
    """Runs a Python script with tensorrt_rtx, in a process of its own.

    The parser opens `libtensorrt_rtx.so` by that name when it adds a plugin, and the wheel has it with a number only:
    `folder` gets a link to the wheel's own file, which the dynamic loader finds from the start of the process.
    """
    link = folder / "libtensorrt_rtx.so"
    if not link.is_symlink():
        link.symlink_to(rtx_library())
    return _python(script, arguments, {"LD_LIBRARY_PATH": str(folder), **(env or {})})


def _python(script: Path, arguments: tuple[object, ...], env: dict[str, str]) -> str:
    command = [sys.executable, str(script), *map(str, arguments)]
    done = subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{' '.join(command)} ended with {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout
