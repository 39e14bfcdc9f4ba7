"""A generated project with faults in its kernel, as V2, as V3, and as V2 through the V3 adapter."""

from __future__ import annotations

import os
import platform
import re
import shutil
import site
import sysconfig
from pathlib import Path

from pluginkit import scaffold

HERE = Path(__file__).parent
KINDS = ("v2", "v3", "adapted")
REFERENCE = """
import numpy as np

def reference(x, *, alpha, fault):
    return np.where(x >= 0, x, alpha * x)
"""
FAULTS = {
    "none": 0,
    "default stream": 1,
    "allocation": 2,
    "waiting": 3,
    "blocking copy": 4,
    "race": 5,
    "beyond": 6,
    "stale host memory": 7,
    "shared scratch": 8,
    "unwritten": 9,
    "divergent": 10,
    "stream-ordered allocation": 11,
    "kept event": 12,
    "kept host memory": 13,
    "a cache, which is not a fault": 14,
    "kept stream": 15,
    "kept handle": 16,
    "kept device memory": 17,
}
"""The values of the field `fault`."""


def make(kind: str, folder: Path) -> Path:
    """The project, not built."""
    base = "v3" if kind == "v3" else "dynamic"
    fields = ["alpha:float32=0.5", "fault:int32=0"]
    project = scaffold.new("Planted", directory=folder, inputs=["x:float32:n,c"], fields=fields, base=base)
    shutil.copy(HERE / "planted.cu", project / "src")
    (project / "reference.py").write_text(REFERENCE)
    if kind == "adapted":
        shutil.copy(HERE / "adapted.cpp", project / "src/planted.cpp")
        toml = project / "pluginkit.toml"
        toml.write_text(toml.read_text().replace('base = "dynamic"', 'base = "v3"'))
    return project


def plant(project: Path, fault: str) -> None:
    """Chooses a fault. No source changes, so nothing is compiled again."""
    choose(project, FAULTS[fault])


def choose(project: Path, number: int) -> None:
    """Gives the field `fault` of a project that default."""
    toml = project / "pluginkit.toml"
    text, count = re.subn(r'(name = "fault"\ntype = "int32"\ndefault = )\d+', rf"\g<1>{number}", toml.read_text())
    assert count == 1
    toml.write_text(text)


def cublas() -> Path | None:
    """A cuBLAS of this machine: of a toolkit, or of NVIDIA's wheels in this or in the system's Python."""
    named = [Path(os.environ[one]) for one in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(one)]
    toolkits = [*named, Path("/usr/local/cuda")]
    folders = [root / part for root in toolkits for part in ("lib64", f"targets/{platform.machine()}-linux/lib")]
    wheels = [*site.getsitepackages(), sysconfig.get_path("purelib")]
    folders += [Path(one) / "nvidia" / part for one in wheels for part in ("cu13/lib", "cublas/lib")]
    found = [
        path for folder in folders for path in sorted(folder.glob("libcublas.so.*"), key=lambda one: len(one.name))
    ]
    return next(iter(found), None)


def line_of(mark: str) -> int:
    """The line of the kernel's source with that mark behind it."""
    lines = (HERE / "planted.cu").read_text().splitlines()
    (found,) = [number for number, line in enumerate(lines, 1) if re.search(rf"// {mark}\b", line)]
    return found
