"""Small libraries made by the compiler, and two built plugin projects."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pluginkit import scaffold
from pluginkit.build import build

SAMPLE = Path(__file__).resolve().parents[2] / "samples" / "bar_plugin"
INCLUDE = Path(__file__).resolve().parents[2] / "pluginkit" / "include"

ENTRIES = """#define SHOWN extern "C" __attribute__((visibility("default")))
SHOWN void* getCreators(int& n) { n = 0; return 0; }
SHOWN void setLoggerFinder(void*) {}
"""

Make = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Compiles C++ text to `name`, with flags."""

    def made(source: str, *flags: str, name: str = "libx.so") -> Path:
        text, out = tmp_path / f"{name}.cpp", tmp_path / name
        text.write_text(source)
        shared = [] if {"-c", "-pie"} & set(flags) else ["-shared"]
        command = ["g++", "-fPIC", *shared, "-o", str(out), str(text), *flags]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return out

    return made


@pytest.fixture(scope="session")
def bar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """samples/bar_plugin, copied and built for target cpu."""
    project = tmp_path_factory.mktemp("bar") / "bar_plugin"
    shutil.copytree(SAMPLE, project, ignore=shutil.ignore_patterns("build"))
    build(project, "cpu")
    return project


@pytest.fixture(scope="session")
def scale(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A generated project with fields and a namespace, built for target cpu."""
    folder = tmp_path_factory.mktemp("scale")
    project = scaffold.new(
        "Scale",
        directory=folder,
        inputs=["x:float32,float16,int8:n,c"],
        fields=["factor:float32=2.0", "mode:int32=1"],
        namespace="acme",
    )
    build(project, "cpu")
    return project
