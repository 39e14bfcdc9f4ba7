"""The plugin that the controls of TensorRT 8.5 put into networks: C++ calls it through the headers of layout 8."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path
from typing import Any

import pytest

import pluginkit
from pluginkit.runtimes.nvidia.copying import layout, plugin
from tests.compilers import default_cxx

from .conftest import STRICT

pytestmark = pytest.mark.compile

SOURCE = Path(__file__).with_name("copying.cpp")
PADDED = 2 * 4 * 1 * 2 * 2
"""Bytes of 2 x 3 x 1 x 2 FP16 numbers in kCHW4."""


class Memory:
    """A driver whose device is the host."""

    def cuMemcpyDtoDAsync_v2(self, to: Any, source: Any, size: Any, stream: Any) -> int:
        ctypes.memmove(to.value, source.value, size.value)
        return 0


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    library = tmp_path_factory.mktemp("copying") / "copying.so"
    options = [*STRICT, "-fvisibility=default", "-DPLUGINKIT_TRT_LAYOUT=8", f"-I{pluginkit.include_dir()}"]
    subprocess.run([default_cxx(), *options, str(SOURCE), "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


@pytest.mark.parametrize("kind", ["dynamic", "ioext", "ext"])
def test_cpp_calls_it(kind: str, caller: ctypes.CDLL) -> None:
    setup = plugin.CopyingSetup(kind, ("HALF",), layout.CHW4, workspace=256, initialize=7, fields=["alpha"])
    creator = plugin.CopyingCreator(setup, Memory())
    source, target = bytes(range(PADDED)), ctypes.create_string_buffer(PADDED + 1)
    before = len(plugin.CALLS)
    line = getattr(caller, kind)(ctypes.c_void_p(creator.address), source, target)
    assert not layout.ERRORS, layout.ERRORS[0]
    assert line == 0, SOURCE.read_text().splitlines()[line - 1]
    assert target.raw == source + b"\0"
    (configured,) = plugin.calls("configurePlugin", before)
    assert {one.dims for one in configured.tensors} == {(2, 3, 1, 2)}
    assert {one.type for one in configured.tensors} == {"HALF"}
    if kind == "dynamic":
        assert creator.given == ["alpha FLOAT32 2"]
        assert {(one.min, one.scale) for one in configured.tensors} == {((2, 3, 1, 2), 0.5)}
    if kind == "ext":
        assert configured.value == {"batch": 4, "broadcast": [True]}
