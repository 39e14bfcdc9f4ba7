"""CUPTI without a GPU: its headers of this machine lay out what a library calls back with."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluginkit.build import toolchain
from pluginkit.gpu import calls, cupti
from pluginkit.gpu.enqueue_rules import Call

pytestmark = pytest.mark.compile

HERE = Path(__file__).parent
ROOTS = [*(Path(os.environ[n]) for n in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(n)), Path("/usr/local/cuda")]
FOLDERS = [folder for root in ROOTS for folder in (root / "include", root / "extras/CUPTI/include")]
META = "generated_cuda_meta.h"

Structs = dict[str, tuple[str, str]]


@pytest.fixture(scope="session")
def headers() -> list[Path]:
    """The folders of CUPTI's headers and of CUDA's."""
    found = next((folder for folder in FOLDERS if (folder / META).exists()), None)
    if found is None:
        pytest.skip(f"CUPTI's headers are in none of {', '.join(map(str, FOLDERS))}")
    cuda = found if (found / "cuda.h").exists() else toolchain.cuda_include_dirs()[0]
    return [found, cuda]


@pytest.fixture(scope="session")
def structs(headers: list[Path]) -> Structs:
    """The structures of arguments: function -> (declaration, fields)."""
    text = (headers[0] / META).read_text(encoding="utf-8", errors="replace")
    found = re.findall(r"(typedef struct \w+_st \{(.*?)\} (\w+)_params;)", text, re.DOTALL)
    return {name: (whole, fields) for whole, fields, name in found}


def compiled(headers: list[Path], source: Path, target: Path, *options: str) -> Path:
    flags = [f"-I{folder}" for folder in (target.parent, *headers)]
    subprocess.run(["gcc", "-w", *flags, *options, str(source), "-o", str(target)], check=True)
    return target


def test_where_streams_stand(headers: list[Path], structs: Structs, tmp_path: Path) -> None:
    """The table has the offsets of the headers; functions that are newer than the headers aren't in them."""
    known = [name for name in calls.STREAM_AT if name in structs]
    assert len(known) > 40
    source = tmp_path / "offsets.c"
    lines = ["#include <cuda.h>", "#include <stddef.h>", "#include <stdio.h>"]
    events = [*calls.RECORDS, *calls.WAITS_FOR_EVENT]
    lines += [structs[name][0] for name in (*known, *events, "cuLaunchKernelEx")]
    lines.append("int main(void) {")
    for name in known:
        lines.append(f'printf("{name} %zu\\n", offsetof({name}_params, {field(structs[name][1], "CUstream")}));')
    for name in events:
        for kind in ("CUevent", "CUstream"):
            where = field(structs[name][1], kind)
            lines.append(f'printf("{name} {kind} %zu\\n", offsetof({name}_params, {where}));')
    lines.append('printf("config %zu\\n", offsetof(CUlaunchConfig, hStream));')
    lines.append('printf("first %zu\\n", offsetof(cuLaunchKernelEx_params, config)); }')
    source.write_text("\n".join(lines))
    output = subprocess.run(
        [compiled(headers, source, tmp_path / "offsets")], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    expected = [f"{name} {calls.STREAM_AT[name]}" for name in known]
    for name in events:
        event, stream = {**calls.RECORDS, **calls.WAITS_FOR_EVENT}[name]
        expected += [f"{name} CUevent {event}", f"{name} CUstream {stream}"]
    assert output == [*expected, f"config {calls.LAUNCH_EX_STREAM_AT}", "first 0"]


def field(fields: str, kind: str) -> str:
    """The field that is a stream or an event itself, not a pointer to one."""
    (found,) = re.findall(rf"^\s*{kind} (\w+);", fields, re.MULTILINE)
    return str(found)


ASIDE = r"Create|Destroy|Get|Set|Query|Capture|IsCapturing|Copy\w*Attributes|ThreadExchange|GraphUpload|Graphics|Sync"
"""Functions with a stream that put no work on it, or no plugin's."""


def test_no_function_with_a_stream_is_forgotten(structs: Structs) -> None:
    streamed = {name for name, (_, fields) in structs.items() if re.search(r"CUstream \w+;", fields)}
    plain = {calls.plain(name)[0] for name in streamed}
    known = {*calls.STREAM_AT, *calls.RECORDS, *calls.WAITS_FOR_EVENT}
    # What a later version of the same function replaces is what CUDA 3 had, with 32-bit addresses.
    old = {name for name in plain if f"{name}_v2" in known and "_v1" in structs[name][1]}
    left = {name for name in plain - known - old if not re.search(ASIDE, name)}
    assert {name for name in left if f"{name}_v2" not in known} == set()


@pytest.fixture
def fake(headers: list[Path], structs: Structs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    used = re.findall(r"(\w+)_params \w+ =", (HERE / "fake_cupti.c").read_text())
    (tmp_path / "parameters.h").write_text("\n".join(structs[name][0] for name in used))
    path = compiled(headers, HERE / "fake_cupti.c", tmp_path / "libcupti.so.13", "-shared", "-fPIC")
    monkeypatch.setenv("PLUGINKIT_CUPTI", str(path))
    return path


def test_every_call_is_told(fake: Path) -> None:
    message: list[Call] = []
    answered: list[tuple[str, int]] = []
    subscribed = cupti.subscribe()
    assert isinstance(subscribed, cupti.Cupti)
    assert subscribed.version == 130001
    act = ctypes.CDLL(str(fake)).act
    act.argtypes = (ctypes.c_size_t,) * 3
    act(1, 2, 3)
    assert message == []
    subscribed.watch(message.append, lambda call, code: answered.append((call.name, code)))
    act(0x1234567890, 0x2234567890, 0x3234567890)
    subscribed.stop()
    act(1, 2, 3)
    subscribed.close()
    given, other, event = 0x1234567890, 0x2234567890, 0x3234567890
    assert message == [
        Call("cuLaunchKernel", "cudaLaunchKernel", "kernel<float>", given),
        Call("cuLaunchKernelEx", "cudaLaunchKernelExC", "kernel<float>", other),
        Call("cuEventRecord", "cudaEventRecord", "", given, event),
        Call("cuStreamWaitEvent", "cudaStreamWaitEvent", "", other, event),
        Call("cuMemcpyDtoDAsync_v2_ptsz", "", "", 0),
        Call("cuMemAlloc_v2", "cudaMalloc"),
        Call("cuCtxSynchronize", "cudaDeviceSynchronize"),
    ]
    assert [(name, code) for name, code in answered if code] == [("cuMemAlloc_v2", 900)]


def test_who_is_not_let_in_says_why(fake: Path) -> None:
    library = ctypes.CDLL(str(fake))
    ctypes.c_int.in_dll(library, "gSubscribeAnswer").value = 39
    assert cupti.subscribe() == cupti.Unusable(f"{fake} gave CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED")


def test_without_one_it_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PLUGINKIT_CUPTI", raising=False)
    monkeypatch.setattr(cupti, "candidates", list)
    assert cupti.subscribe() == cupti.Unusable(f"there is no libcupti here: {cupti.REMEDY}")
    monkeypatch.setenv("PLUGINKIT_CUPTI", str(tmp_path / "libcupti.so"))
    found = cupti.subscribe()
    assert isinstance(found, cupti.Unusable)
    assert "libcupti.so: cannot open shared object file" in found.why
    monkeypatch.setenv("PLUGINKIT_CUPTI", "none")
    assert cupti.subscribe() == cupti.Unusable("PLUGINKIT_CUPTI is 'none'")


def test_where_it_is_looked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for folder in ("home/extras/CUPTI/lib64", "path", "home/lib64"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "libcupti.so.12").touch()
    (tmp_path / "home/lib64/libcupti.so.2025").symlink_to("libcupti.so.12")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{tmp_path / 'path'}:")
    found = [path.relative_to(tmp_path) for path in cupti.candidates() if path.is_relative_to(tmp_path)]
    assert [str(path.parent) for path in found] == ["home/extras/CUPTI/lib64", "home/lib64", "path"]


@pytest.mark.parametrize(
    ("signature", "name"),
    [
        ("void my::kernel<float>(Arguments)", "kernel<float>"),
        ("void my::kernel<my::T, (my::E)2>(float*, int)", "kernel<my::T, (my::E)2>"),
        ("my::(anonymous namespace)::right(float*)", "right"),
        ("kernel", "kernel"),
        ("void k<void (*)(int)>(int)", "k<void (*)(int)>"),
    ],
)
def test_a_kernels_name(signature: str, name: str) -> None:
    assert cupti.bare(signature) == name


@given(st.text(max_size=40))
def test_any_name_is_taken(signature: str) -> None:
    assert len(cupti.bare(signature)) <= len(signature)
