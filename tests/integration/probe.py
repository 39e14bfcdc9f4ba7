"""The plugin of tests/host/plugin.cpp as a library with a project: for warnings, and for what reference.py masks."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pluginkit
from tests.compilers import default_cxx

SOURCE = Path(__file__).parents[1] / "host" / "plugin.cpp"
MANIFEST = """
plugin = { name = "Probe", namespace = "tests" }
inputs = [{ name = "x", types = ["float32"], shape = ["n", "c"] }]
outputs = [
    { name = "total", types = ["float32"], shape = ["2 * n + 1", "ceil_div(c, 2)"] },
    { name = "same", types = ["float32"], shape = ["n", "c"] },
]
fields = [{ name = "factor", type = "float32", default = 0.1 }]
profiles = [{ symbols = { n = [1, 2, 4], c = [3, 5, 8] } }]
tolerances = { float32 = { rtol = 1e-4, atol = 1e-3 } }
"""
REFERENCE = """
import numpy as np

def reference(x, *, factor):
    n, c = x.shape
    same = np.ma.array(x)
    MASK
    return np.full((2 * n + 1, -(-c // 2)), x.sum() * factor), same
"""


def library(folder: Path, fault: str) -> Path:
    """The library; its name has what the plugin does wrong (tests/host/plugin.cpp)."""
    path = folder / f"{fault}-probe.so"
    flags = ("-std=c++17", "-shared", "-fPIC", "-fvisibility=hidden", "-DPLUGINKIT_TRT_LAYOUT=11", "-DWITH_ENTRY")
    where = (f"-I{pluginkit.include_dir()}", str(SOURCE), "-o", str(path), "-ldl")
    subprocess.run([default_cxx(), *flags, *where], check=True)
    return path


def project(folder: Path, mask: str = "pass") -> Path:
    """The manifest, and a reference.py with a line that masks elements of the second output, `same`."""
    (folder / "pluginkit.toml").write_text(MANIFEST)
    (folder / "reference.py").write_text(REFERENCE.replace("MASK", mask))
    return folder
