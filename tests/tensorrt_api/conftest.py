"""NVIDIA's real bindings of the full TensorRT, loaded on stub libraries: what they offer, as mypy and Python see it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from pluginkit.runtimes.rtx import session as tensorrt_rtx

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
VERSIONS = {10: "10.16.1.11", 11: "11.4.0.106"}
LIBRARIES = ("nvinfer", "nvinfer_plugin", "nvonnxparser")

CONFIG = """
[mypy]
strict = True
python_version = 3.10
warn_unused_ignores = False
ignore_missing_imports = True
follow_imports = silent
[mypy-tensorrt]
ignore_errors = True
[mypy-polygraphy.*,onnx.*,pydantic.*]
follow_imports = skip
"""
"""As pyproject.toml's, but with the bindings' classes, which are nothing to mypy there. An `ignore` that is right where
they are nothing is not used here."""


@dataclass(frozen=True)
class Bindings:
    """The bindings of one major version.

    Attributes:
        major: 10 or 11; 1 of TensorRT-RTX, whose libraries are the real ones.
        folder: holds `wheel` with `tensorrt_bindings`, `lib` with the stub libraries, and `tensorrt` with the stub file
            that mypy reads.
    """

    major: int
    folder: Path

    def python(self, *arguments: str) -> str:
        """Runs Python with the bindings importable, as `tensorrt_bindings`; gives what it prints."""
        env = {
            **os.environ,
            "LD_LIBRARY_PATH": str(self.folder / "lib"),
            "PYTHONPATH": f"{self.folder / 'wheel'}:{ROOT}",
        }
        done = subprocess.run([sys.executable, *arguments], env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def mypy(self, *files: Path, options: tuple[str, ...] = ()) -> list[str]:
        """What mypy has against the files, with these bindings: its error lines."""
        config = self.folder / "mypy.ini"
        config.write_text(CONFIG)
        cache = ["--config-file", str(config), "--cache-dir", str(self.folder / "cache")]
        command = [sys.executable, "-m", "mypy", "--no-error-summary", *cache, *options, *map(str, files)]
        env = {**os.environ, "MYPYPATH": str(self.folder)}
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
        assert done.returncode in {0, 1}, done.stderr
        return [line for line in done.stdout.splitlines() if ": error: " in line]


def made(major: int, folder: Path) -> Bindings:
    """The bindings with stub libraries, described."""
    wheel = ROOT / ".venv-nvidia" / f"bindings{major}" / "tensorrt_bindings"
    compiler = shutil.which("gcc") or shutil.which("cc")
    if not wheel.is_dir() or compiler is None:
        pytest.skip(f"{wheel} or a C compiler is missing; make setup installs NVIDIA's bindings")
    (folder / "lib").mkdir()
    (folder / "tensorrt").mkdir()
    for name in LIBRARIES:
        library = f"lib{name}.so.{major}"
        options = ["-shared", "-fPIC", f"-Wl,-soname,{library}", "-o", str(folder / "lib" / library)]
        subprocess.run([compiler, *options, str(HERE / "stubs.c")], check=True)
    (folder / "wheel").mkdir()
    (folder / "wheel" / "tensorrt_bindings").symlink_to(wheel)
    bindings = Bindings(major, folder)
    (folder / "tensorrt" / "__init__.pyi").write_text(bindings.python(str(HERE / "describe.py"), "tensorrt_bindings"))
    return bindings


@pytest.fixture(scope="session")
def bindings10(tmp_path_factory: pytest.TempPathFactory) -> Bindings:
    return made(10, tmp_path_factory.mktemp("bindings10"))


@pytest.fixture(scope="session")
def bindings11(tmp_path_factory: pytest.TempPathFactory) -> Bindings:
    return made(11, tmp_path_factory.mktemp("bindings11"))


@pytest.fixture(scope="session")
def bindings_rtx(tmp_path_factory: pytest.TempPathFactory) -> Bindings:
    if not tensorrt_rtx.probe().found:
        pytest.skip(tensorrt_rtx.probe().reason)
    bindings = Bindings(1, tmp_path_factory.mktemp("bindings_rtx"))
    (bindings.folder / "tensorrt").mkdir()
    stub = bindings.python(str(HERE / "describe.py"), "tensorrt_rtx_bindings")
    (bindings.folder / "tensorrt" / "__init__.pyi").write_text(stub)
    return bindings


@pytest.fixture(params=[10, 11])
def bindings(request: pytest.FixtureRequest) -> Bindings:
    found: Bindings = request.getfixturevalue(f"bindings{request.param}")
    return found
