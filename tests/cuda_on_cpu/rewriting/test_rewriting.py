"""Launches and shared variables as people write them: each source's `run()` gives the line that failed, or 0."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from ..conftest import Kit, compile_object, link

pytestmark = pytest.mark.compile
_FOLDER = Path(__file__).parent


NAMES = ["launch_forms", "shared_forms", "groups", "cub_blocks", "kernel_addresses", "dependent_names"]


@pytest.mark.parametrize("cxx", ["g++", "clang++"])
@pytest.mark.parametrize("name", NAMES)
def test_forms(kit: Kit, name: str, cxx: str) -> None:
    obj = kit.folder / f"{name}-{cxx.rstrip('+')}.o"
    done = compile_object(_FOLDER / f"{name}.cu", obj, cxx=cxx, flags=["-Wshadow"])
    assert done.ok, done.stderr
    library = obj.with_suffix(".so")
    link(obj, library, cxx=cxx)
    assert ctypes.CDLL(str(library)).run() == 0
