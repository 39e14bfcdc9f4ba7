"""The plugins that the host's tests load: each source compiled once, and a copy of the library for each fault."""

from __future__ import annotations

import functools
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import pluginkit
from pluginkit import layouts
from pluginkit.host import take_warnings
from tests.compilers import default_cxx
from tests.shared import Shared

SOURCE = Path(__file__).with_name("plugin.cpp")
V3_SOURCE = Path(__file__).with_name("v3.cpp")
VERSIONS = {one.number: one.host_version for one in reversed(layouts.LAYOUTS)}
STRICT = ["-std=c++17", "-shared", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wconversion", "-Werror"]

Compile = Callable[..., Path]


@pytest.fixture(autouse=True)
def _no_warnings_of_other_tests() -> None:
    """What a test before has noted in this process, and not looked at, is not one of the next one's."""
    take_warnings()


@pytest.fixture(scope="session")
def compile_plugin(tmp_path_factory: pytest.TempPathFactory, shared: Shared) -> Compile:
    """`compile_plugin(fault, layout, *defines) -> Path` of the library."""
    folder = tmp_path_factory.mktemp("plugins")

    @functools.cache
    def right(layout: int, *defines: str) -> Path:
        macros = [f"-DPLUGINKIT_TRT_LAYOUT={layout}", *(f"-D{define}" for define in defines)]
        command = [default_cxx(), *STRICT, *macros, f"-I{pluginkit.include_dir()}", str(SOURCE)]

        def make(place: Path) -> None:
            subprocess.run([*command, "-o", str(place / "right.so"), "-ldl"], check=True)

        return shared.once("host-plugin", repr(command).encode(), make) / "right.so"

    def compiled(fault: str = "none", layout: int = 11, *defines: str) -> Path:
        if fault.startswith("unresolved"):
            defines = (*defines, "UNRESOLVED")
        # A library is itself by its file: another copy is another one to dlopen, and knows its fault by its name.
        library = folder / f"{'-'.join((fault, str(layout), *defines))}.so"
        if not library.exists():
            shutil.copy(right(layout, *defines), library)
        return library

    return compiled


@pytest.fixture(scope="session")
def v3_library(shared: Shared) -> Path:
    """The plugin of v3.cpp, whose fields say what it does and what it does wrong."""

    def make(place: Path) -> None:
        command = [
            default_cxx(),
            *STRICT,
            f"-I{pluginkit.include_dir()}",
            str(V3_SOURCE),
            "-o",
            str(place / "libprobe_v3.so"),
        ]
        subprocess.run(command, check=True)

    return shared.once("v3", V3_SOURCE.read_bytes(), make) / "libprobe_v3.so"


BATCHED = Path(__file__).with_name("batched.cpp")


@pytest.fixture(scope="session")
def batched(shared: Shared) -> Callable[[str, int], Path]:
    """`batched(base, layout) -> Path` of the library of batched.cpp for base `v2` or `v2ext`."""

    def library(base: str, layout: int) -> Path:
        macros = [f"-DPLUGINKIT_TRT_LAYOUT={layout}", *(["-DBASIC"] if base == "v2" else [])]
        command = [default_cxx(), *STRICT, *macros, f"-I{pluginkit.include_dir()}", str(BATCHED)]

        def make(place: Path) -> None:
            subprocess.run([*command, "-o", str(place / "libbatched.so")], check=True)

        return shared.once("batched", repr(command).encode() + BATCHED.read_bytes(), make) / "libbatched.so"

    return library
