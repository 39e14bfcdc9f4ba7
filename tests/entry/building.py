"""Compiles the test plugins as pluginkit's CMake package does, in plain commands: both layouts in one library."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

HERE = Path(__file__).parent
INCLUDE = HERE.parents[1] / "pluginkit" / "include"
FLAGS = ["-std=c++17", "-O1", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden", f"-I{INCLUDE}"]
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Werror"]
EXPORTED = "getCreators", "setLoggerFinder"


def run(*command: str | Path) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


def compiler(name: str) -> list[str]:
    """The command of a compiler, with what keeps static objects of templates out of the process-wide table."""
    if shutil.which(name) is None:
        pytest.skip(f"no {name}")
    return [name, "-fno-gnu-unique"] if name == "g++" else [name]


def both_layouts(folder: Path, source: Path, stem: str, cxx: str = "g++", defines: Sequence[str] = ()) -> Path:
    """The library of one source, for both layouts."""
    command = [*compiler(cxx), *FLAGS, *WARNINGS, *defines]
    first, second, joined = folder / "first.o", folder / "second.o", folder / "joined.o"
    run(*command, "-DPLUGINKIT_TRT_LAYOUT=11", "-c", source, "-o", first)
    run(*command, "-DPLUGINKIT_TRT_LAYOUT=10", "-DPLUGINKIT_SECONDARY", "-c", source, "-o", second)
    run("ld", "-r", "--force-group-allocation", "-o", joined, second)
    run("objcopy", "--localize-hidden", joined)
    script = folder / "exports.map"
    script.write_text(f"{{ global: {'; '.join([*EXPORTED, f'init{stem}Plugins'])}; local: *; }};\n")
    library = folder / f"lib{source.stem}.so"
    options = [f"-Wl,--version-script={script}", "-Wl,--no-undefined", "-Wl,-z,now"]
    run(cxx, "-shared", "-o", library, first, joined, *options)
    return library


def one_layout(folder: Path, source: Path, layout: int, *defines: str) -> Path:
    """The library as a person makes it with one command: one layout, and no version script."""
    library = folder / f"lib{source.stem}-{layout}.so"
    flags = [*FLAGS, *WARNINGS, f"-DPLUGINKIT_TRT_LAYOUT={layout}", *defines]
    run(*compiler("g++"), *flags, "-shared", source, "-o", library)
    return library


def exports(library: Path) -> set[str]:
    """The names that the library defines for others."""
    lines = run("nm", "-D", "--defined-only", library).splitlines()
    return {line.split()[-1] for line in lines}


def fake_tensorrt(folder: Path, version: int, layout: int) -> Path:
    """A library that stands for TensorRT of that version."""
    path = folder / f"libfake-{version}.so"
    flags = ["-std=c++17", "-fPIC", "-shared", *WARNINGS, f"-I{INCLUDE}"]
    defines = [f"-DVERSION={version}", f"-DPLUGINKIT_TRT_LAYOUT={layout}"]
    run("g++", *flags, *defines, Path(__file__).with_name("fake_tensorrt.cpp"), "-o", path)
    return path
