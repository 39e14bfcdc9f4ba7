"""The functions of CUDA's runtime that target cpu has; the checks are in C++, beside this file."""

from __future__ import annotations

import ctypes
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pluginkit.cuda_cpu.symbols import provided
from pluginkit.process.programs import run

from ..conftest import Kit
from .conftest import Findings, control_of

pytestmark = pytest.mark.compile
Load = Callable[[str], ctypes.CDLL]

_HERE = Path(__file__).parent


def _checks(name: str, parameters: str) -> list[str]:
    text = (_HERE / f"{name}.cu").read_text(encoding="utf-8").partition("// --- misuse")[0]
    return re.findall(rf"EXPORT int (\w+)\({parameters}", text)


@pytest.mark.parametrize("deferred", [False, True], ids=["at-once", "deferred"])
@pytest.mark.parametrize("check", [c for c in _checks("memory", r"\)") if c != "leak"])
def test_memory(load: Load, check: str, *, deferred: bool, findings: Findings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLUGINKIT_CPU_DEFERRED", "1" if deferred else "0")
    library = load("memory")
    assert getattr(library, check)() == 0, "the line of memory.cu that failed"
    assert control_of(library).live_allocations() == 0
    assert findings() == []


@pytest.mark.parametrize("deferred", [False, True], ids=["at-once", "deferred"])
@pytest.mark.parametrize("check", _checks("streams", "bool"))
def test_streams(
    load: Load, check: str, *, deferred: bool, findings: Findings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLUGINKIT_CPU_DEFERRED", "1" if deferred else "0")
    library = load("streams")
    assert getattr(library, check)(deferred) == 0, "the line of streams.cu that failed"
    assert control_of(library).live_allocations() == 0
    assert findings() == []


@pytest.mark.parametrize("check", _checks("device", r"\)"))
def test_device(load: Load, check: str, findings: Findings) -> None:
    assert getattr(load("device"), check)() == 0, "the line of device.cu that failed"
    assert [f["kind"] for f in findings()] == (["invalid-address"] if check == "sticky" else [])


@pytest.mark.parametrize(
    ("check", "kind", "text"),
    [
        ("doubleFree", "bad-free", r"cudaFree of the 400 bytes at 0x\w+ of cudaMalloc, which are freed already"),
        (
            "doubleFreeAsync",
            "bad-free",
            r"cudaFreeAsync of the 400 bytes .*, which are freed already",
        ),
        ("foreignFree", "bad-free", "cudaFree of an address that no CUDA function has given"),
        ("innerFree", "bad-free", "cudaFree of an address inside or beside the 400 bytes .* of cudaMalloc"),
        ("wrongFree", "bad-free", "cudaFree of the 400 bytes .* of cudaMallocHost, which another function frees"),
        ("copyTooMuch", "bad-copy", "cudaMemcpy writes 500 bytes from byte 0 of the 400 bytes .* of cudaMalloc on"),
        ("fillTooMuch", "bad-copy", "cudaMemset writes 401 bytes from byte 0 of the 400 bytes"),
        ("copyWrongWay", "bad-copy", "cudaMemcpy from the host reads device memory: byte 0 of the 400 bytes"),
        ("copyPinnedAsDevice", "bad-copy", "cudaMemcpy to the device writes to host memory: .* of cudaMallocHost"),
        ("copyFreed", "bad-copy", "cudaMemcpy reads 4 bytes at byte 0 of the 400 bytes .*, which are freed"),
        ("writeBehind", "invalid-address", "something has written beside the 400 bytes .* of cudaMalloc, at byte 401"),
        ("writeBefore", "invalid-address", "something has written beside the 400 bytes .* of cudaMalloc, at byte -3"),
        ("writeFarBehind", "invalid-address", "200 bytes behind the 400 bytes at .* of cudaMalloc"),
        ("readFreed", "invalid-address", "byte 0 of the 400 bytes at .* of cudaMalloc, which are freed"),
    ],
)
@pytest.mark.parametrize("deferred", [False, True], ids=["at-once", "deferred"])
def test_misuse(
    load: Load,
    check: str,
    kind: str,
    text: str,
    *,
    deferred: bool,
    findings: Findings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PLUGINKIT_CPU_DEFERRED", "1" if deferred else "0")
    library = load("memory")
    assert getattr(library, check)() == 0, "the line of memory.cu that failed"
    (found,) = findings()
    assert found["kind"] == kind
    assert re.search(text, found["text"]), found["text"]
    if kind.startswith("bad-"):
        assert Path(found["library"]).name.startswith("libmemory")
        assert found["offset"] > 0
    assert control_of(library).live_allocations() == 0


def _maps() -> int:
    return len(Path("/proc/self/maps").read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("deferred", ["0", "1"])
def test_loaded_and_unloaded_without_a_trace(
    kit: Kit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deferred: str
) -> None:
    monkeypatch.setenv("PLUGINKIT_CPU_DEFERRED", deferred)
    libc = ctypes.CDLL(None)
    libc.dlclose.argtypes = [ctypes.c_void_p]
    path = str(shutil.copy(kit.library("memory"), tmp_path / "own.so"))
    counts = []
    for _ in range(200):
        library = ctypes.CDLL(path)
        assert library.copies() == 0
        assert library.leak() == 0
        assert control_of(library).live_allocations() == 2
        libc.dlclose(library._handle)
        counts.append(_maps())
    assert path not in Path("/proc/self/maps").read_text(encoding="utf-8")
    assert max(counts[20:]) <= counts[20] + 4  # Python's own arenas come and go


def test_two_libraries_know_nothing_of_each_other(kit: Kit, tmp_path: Path, findings: Findings) -> None:
    first = ctypes.CDLL(str(shutil.copy(kit.library("enqueue"), tmp_path / "first.so")))
    second = ctypes.CDLL(str(shutil.copy(kit.library("enqueue"), tmp_path / "second.so")))
    assert first.initialize() == 0
    assert control_of(first).live_allocations() == 2
    assert control_of(second).live_allocations() == 0
    stream = control_of(first).make_stream()
    assert control_of(second).destroy_stream(stream) == 400  # cudaErrorInvalidResourceHandle
    assert control_of(first).destroy_stream(stream) == 0
    assert first.terminate() == 0
    assert findings() == []


def test_what_is_not_there_is_not_promised() -> None:
    missing = {"cudaGraphLaunch", "cudaStreamBeginCapture", "cudaIpcGetMemHandle", "cudaMallocArray"}
    assert not missing & provided()
    assert {"cudaMalloc", "cudaStreamWaitEvent", "cudaFuncSetAttribute", "cudaMemcpy2DAsync"} <= provided()


@pytest.mark.parametrize("check", ["threads", "copiesInKernels"])
def test_thread_local_variables_that_each_host_thread_allocates(kit: Kit, check: str) -> None:
    """As in a process with many libraries. Allocating them may change registers; before glibc 2.40 it did."""
    library = kit.within(_HERE).library("streams", "g++")
    program = f"import ctypes, sys; sys.exit(ctypes.CDLL({str(library)!r}).{check}(False))"
    variables = {"GLIBC_TUNABLES": "glibc.rtld.optional_static_tls=0", "PLUGINKIT_CPU_WORKERS": "4"}
    done = run([sys.executable, "-S", "-c", program], env=variables, timeout=60)
    assert done.ok, (done.stdout, done.stderr)
