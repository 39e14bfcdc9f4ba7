"""CUPTI without a GPU: its headers of this machine lay out what a library calls back with."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pluginkit.build import toolchain
from pluginkit.gpu import calls, cupti
from pluginkit.gpu.enqueue_rules import Call
from pluginkit.host.memory.gpu_device import GpuDevice
from pluginkit.host.memory.gpu_objects import ObjectCount
from pluginkit.host.memory.gpu_watch import Watch
from pluginkit.host.memory.leaks import find_leaks

pytestmark = pytest.mark.compile

HERE = Path(__file__).parent
ROOTS = [*(Path(os.environ[n]) for n in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(n)), Path("/usr/local/cuda")]
FOLDERS = [folder for root in ROOTS for folder in (root / "include", root / "extras/CUPTI/include")]
META = "generated_cuda_meta.h"

Structs = dict[str, tuple[str, str]]
Living = tuple[GpuDevice, Callable[[int], None]]


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


@pytest.fixture(scope="session")
def fake_library(headers: list[Path], structs: Structs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cupti")
    used = dict.fromkeys(re.findall(r"(\w+)_params \w+ =", (HERE / "fake_cupti.c").read_text()))
    (folder / "parameters.h").write_text("\n".join(structs[name][0] for name in used))
    return compiled(headers, HERE / "fake_cupti.c", folder / "libcupti.so.13", "-shared", "-fPIC")


@pytest.fixture
def fake(fake_library: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PLUGINKIT_CUPTI", str(fake_library))
    return fake_library


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


def objects(structs: Structs, name: str, *, taken: bool) -> None:
    """The first argument of a function that gives an object, or ends one, is as the tables have it."""
    (first, *others) = re.findall(r"^\s*(.*?)\b(\w+);", structs[name][1], re.MULTILINE)
    pointer = first[0].count("*")
    if not taken:
        assert pointer == (1 if name in ("cuMemFreeHost", "cuMemHostUnregister") else 0), name
        return
    taking = calls.TAKES[name]
    assert pointer == (2 if first[0].startswith("void") and not taking.given else 1), name
    sizes = [field for kind, field in others if kind.strip() == "size_t" and field in ("bytesize", "size")]
    assert bool(sizes) == (taking.size_at is not None), name


def test_what_gives_objects_and_what_ends_them(headers: list[Path], structs: Structs, tmp_path: Path) -> None:
    """The tables against CUPTI's headers: where objects and sizes stand."""
    for name in calls.TAKES:
        objects(structs, name, taken=True)
    for name in calls.GIVES_BACK:
        objects(structs, name, taken=False)
    assert {taking.family for taking in calls.TAKES.values()} == set(calls.GIVES_BACK.values())
    sized = {name: taking.size_at for name, taking in calls.TAKES.items() if taking.size_at is not None}
    lines = ["#include <cuda.h>", "#include <stddef.h>", "#include <stdio.h>", *(structs[name][0] for name in sized)]
    lines.append("int main(void) {")
    for name in sized:
        size = next(field for field in ("bytesize", "size") if re.search(rf"\b{field};", structs[name][1]))
        lines.append(f'printf("{name} %zu\\n", offsetof({name}_params, {size}));')
    source = tmp_path / "sizes.c"
    source.write_text("\n".join([*lines, "}"]))
    output = subprocess.run([compiled(headers, source, tmp_path / "sizes")], check=True, capture_output=True, text=True)
    assert output.stdout.splitlines() == [f"{name} {at}" for name, at in sized.items()]


KEPT = [
    ("device memory", "cudaMalloc", 4096),
    ("device memory", "cudaMallocAsync", 256),
    ("pinned memory", "cudaMallocHost", 512),
    ("stream", "cudaStreamCreate", 0),
    ("event", "cudaEventCreate", 0),
    ("registered memory", "cudaHostRegister", 64),
]


@pytest.fixture
def living(fake: Path) -> Iterator[Living]:
    """A GPU's device for the fake library as the plugin's, and lives of a plugin in it."""
    device = GpuDevice(fake)
    live = ctypes.CDLL(str(fake)).live
    live.argtypes = (ctypes.c_size_t,)
    live.restype = None
    yield device, live
    device.watch.close()


@pytest.mark.parametrize("kept", range(len(KEPT)))
def test_what_each_life_leaves_on_a_gpu_is_a_leak(living: Living, fake: Path, kept: int) -> None:
    device, live = living
    assert find_leaks(device, lambda: live(0)) == ()
    found = find_leaks(device, lambda: live(1 << kept))
    assert [(one.taken.kind, one.taken.function, one.taken.size, one.count) for one in found] == [(*KEPT[kept], 1)]
    assert found[0].taken.library == fake
    assert str(found[0]).endswith("taken in each life of the plugin, and not given back")


def test_what_is_made_once_is_a_cache(living: Living) -> None:
    device, live = living
    lives = iter([0b111111, 0, 0b111111])
    assert find_leaks(device, lambda: live(next(lives))) == ()


def test_what_others_take_is_none_of_the_plugins(living: Living, fake: Path, tmp_path: Path) -> None:
    """pluginkit's own buffers, made while a plugin lives."""
    _, live = living
    other = tmp_path / "other.so"
    other.write_bytes(b"")
    count = ObjectCount(other, Watch(other).offsets)
    watch = Watch(fake)
    with watch.calls(on_call=count.see, on_return=count.see_end):
        live(0b111111)
    watch.close()
    assert count.left(0) == ()


def test_the_rules_of_enqueue_and_the_counting_hear_the_same_calls(living: Living) -> None:
    """A life has enqueues in it, which are watched by themselves."""
    device, live = living
    heard: list[str] = []
    with device.counting():
        since = device.mark()
        with device.watch.calls(on_call=lambda call: heard.append(call.name)):
            live(0b1)
        live(0b11)
    assert heard.count("cuMemAlloc_v2") == 2
    assert [taken.function for taken in device.left(since)] == ["cudaMalloc", "cudaMallocAsync"]
    live(0b111111)
    assert len(device.left(since)) == 2


def test_without_cupti_nothing_is_counted(fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLUGINKIT_CUPTI", "none")
    live = ctypes.CDLL(str(fake)).live
    assert find_leaks(GpuDevice(fake), lambda: live(ctypes.c_size_t(0b111111))) == ()


def test_who_is_not_let_in_says_why(fake: Path) -> None:
    library = ctypes.CDLL(str(fake))
    answer = ctypes.c_int.in_dll(library, "gSubscribeAnswer")
    answer.value = 39
    try:
        assert cupti.subscribe() == cupti.Unusable(f"{fake} gave CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED")
    finally:
        answer.value = 0


def test_without_one_it_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PLUGINKIT_CUPTI", raising=False)
    monkeypatch.setattr(cupti, "candidates", list)
    assert cupti.subscribe() == cupti.Unusable(f"there is no libcupti here: {cupti._remedy()}")
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
