"""cuBLAS in a library with the checks `thread` and `memory`: its accesses are the call's."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pluginkit.process.findings import Findings
from pluginkit.process.programs import run

from ..conftest import compile_object, link

pytestmark = pytest.mark.compile
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checked")
    flags = ["-O1", "-fsanitize=thread", "-DPLUGINKIT_CPU_CHECKED", "-w"]
    done = compile_object(HERE / "checked.cu", folder / "checked.o", flags=flags)
    assert done.ok, done.stderr
    link(folder / "checked.o", folder / "checked.so", checked=True)
    return folder / "checked.so"


@pytest.mark.parametrize(("written", "kinds"), [(16, []), (15, ["uninitialized-read"])])
def test_what_a_product_reads_was_written(library: Path, tmp_path: Path, written: int, kinds: list[str]) -> None:
    program = f"import ctypes; print(ctypes.CDLL({str(library)!r}).product({written}))"
    variables = {"PLUGINKIT_CPU_FINDINGS": str(tmp_path / "found.jsonl")}
    done = run([sys.executable, "-S", "-c", program], env=variables, timeout=60)
    assert done.ok, done.stderr
    found = Findings(tmp_path / "found.jsonl", HERE).take()
    assert sorted({one.kind for one in found}) == kinds, found
    for one in found:
        assert one.place.startswith("checked.cu:"), one
    if not kinds:
        assert done.stdout == "4\n"
