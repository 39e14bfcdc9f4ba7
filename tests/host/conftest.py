"""The plugins that the host's tests load: one source, one fault per library, compiled when first asked for."""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import pluginkit
from tests.compilers import default_cxx

SOURCE = Path(__file__).with_name("plugin.cpp")
V3_SOURCE = Path(__file__).with_name("v3.cpp")
VERSIONS = {10: 101600, 11: 110100}

Compile = Callable[..., Path]


@pytest.fixture(scope="session")
def compile_plugin(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """`compile_plugin(fault, layout, *defines) -> Path` of the library."""
    folder = tmp_path_factory.mktemp("plugins")

    @functools.cache
    def compiled(fault: str = "none", layout: int = 11, *defines: str) -> Path:
        library = folder / f"{'-'.join((fault, str(layout), *defines))}.so"
        command = [
            default_cxx(),
            "-std=c++17",
            "-shared",
            "-fPIC",
            "-fvisibility=hidden",
            f"-DFAULT={fault}",
            f"-DPLUGINKIT_TRT_LAYOUT={layout}",
            f"-I{pluginkit.include_dir()}",
            str(SOURCE),
            "-o",
            str(library),
            *(f"-D{define}" for define in defines),
        ]
        if fault == "none" and not defines:
            command[1:1] = ["-Wall", "-Wextra", "-Wconversion", "-Werror"]
        subprocess.run(command, check=True)
        return library

    return compiled


@pytest.fixture(scope="session")
def v3_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin of v3.cpp, whose fields say what it does and what it does wrong."""
    path = tmp_path_factory.mktemp("v3") / "libprobe_v3.so"
    flags = ["-std=c++17", "-shared", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wconversion", "-Werror"]
    command = ["g++", *flags, f"-I{pluginkit.include_dir()}", str(V3_SOURCE), "-o", str(path)]
    subprocess.run(command, check=True)
    return path
