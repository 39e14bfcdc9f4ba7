"""Compiles the test plugins as pluginkit's CMake package does, in plain commands: all layouts in one library."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from pluginkit import layouts

HERE = Path(__file__).parent
INCLUDE = HERE.parents[1] / "pluginkit" / "include"
FLAGS = ["-std=c++17", "-O1", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden", f"-I{INCLUDE}"]
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Werror"]
EXPORTED = "getCreators", "getPluginCreators", "setLoggerFinder"


def run(*command: str | Path) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


def compiler(name: str) -> list[str]:
    """The command of a compiler, with what keeps static objects of templates out of the process-wide table."""
    if shutil.which(name) is None:
        pytest.skip(f"no {name}")
    return [name, "-fno-gnu-unique"] if name == "g++" else [name]


def all_layouts(
    folder: Path,
    source: Path,
    stem: str,
    cxx: str = "g++",
    defines: Sequence[str] = (),
    numbers: Sequence[int] = layouts.NUMBERS,
) -> Path:
    """The library of one source, for all layouts, the newest first, or for some."""
    command = [*compiler(cxx), *FLAGS, *WARNINGS, *defines]
    newest, *others = numbers
    objects = [folder / f"{number}.o" for number in numbers]
    run(*command, f"-DPLUGINKIT_TRT_LAYOUT={newest}", "-c", source, "-o", objects[0])
    for number, joined in zip(others, objects[1:], strict=True):
        alone = folder / f"{number}-alone.o"
        run(*command, f"-DPLUGINKIT_TRT_LAYOUT={number}", "-DPLUGINKIT_SECONDARY", "-c", source, "-o", alone)
        run("ld", "-r", "--force-group-allocation", "-o", joined, alone)
        run("objcopy", "--localize-hidden", joined)
    script = folder / "exports.map"
    script.write_text(f"{{ global: {'; '.join([*EXPORTED, f'init{stem}Plugins'])}; local: *; }};\n")
    library = folder / f"lib{source.stem}.so"
    options = [f"-Wl,--version-script={script}", "-Wl,--no-undefined", "-Wl,-z,now"]
    run(cxx, "-shared", "-o", library, *objects, *options)
    return library


def one_layout(folder: Path, source: Path, layout: int, *defines: str) -> Path:
    """The library as the user makes it with one command: one layout, and no version script."""
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
    if layout == 8:
        defines.append(f"-DPLUGINKIT_TRT_MINOR={version // 100 % 10}")
    run("g++", *flags, *defines, Path(__file__).with_name("fake_tensorrt.cpp"), "-o", path)
    return path
