"""Plugin libraries that pluginkit's build did not make; what goes wrong in one is chosen by its file's name."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import pluginkit
from tests.compilers import default_cxx
from tests.host.conftest import batched
from tests.shared import Shared

__all__ = ["batched", "foreign"]

SOURCE = Path(__file__).with_name("foreign.cpp")

Foreign = Callable[..., Path]


@pytest.fixture(scope="session")
def foreign(tmp_path_factory: pytest.TempPathFactory, shared: Shared) -> Foreign:
    """`foreign(fault, layout) -> Path` of foreign.cpp's library, compiled once for each layout."""
    folder = tmp_path_factory.mktemp("foreign")

    def library(fault: str = "right", layout: int = 11) -> Path:
        flags = ["-std=c++17", "-shared", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror"]
        macro = f"-DPLUGINKIT_TRT_LAYOUT={layout}"
        command = [default_cxx(), *flags, macro, f"-I{pluginkit.include_dir()}", str(SOURCE), "-ldl"]

        def make(place: Path) -> None:
            subprocess.run([*command, "-o", str(place / "right.so")], check=True)

        made = shared.once("foreign", repr(command).encode() + SOURCE.read_bytes(), make) / "right.so"
        place = folder / str(layout) / f"lib{fault}.so"
        place.parent.mkdir(exist_ok=True)
        if not place.exists():
            shutil.copy(made, place)
        return place

    return library
