"""What a library has taken and not given back, by its own counting."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from pluginkit import _native
from pluginkit.host.memory.device import Device
from pluginkit.host.memory.leaks import HOST_MEMORY, Leak, find_leaks
from pluginkit.process.programs import run

from ..conftest import Kit

pytestmark = pytest.mark.compile
_SOURCE = Path(__file__).with_name("leaks.cu")


@pytest.fixture(scope="module")
def path(kit: Kit) -> Path:
    return kit.library("leaks")


def taken_from_cuda(device: Device, live: Callable[[], object]) -> list[Leak]:
    """The leaks without host memory: the runtime in the library has its own, of which no line of the project is."""
    return [leak for leak in find_leaks(device, live) if leak.taken.kind != HOST_MEMORY]


@pytest.mark.parametrize("deferred", [False, True])
@pytest.mark.parametrize(
    ("forgotten", "output"),
    [
        (0, ""),
        (1, "1048576 bytes of device memory from cudaMalloc: "),
        (2, "4096 bytes of pinned memory from cudaMallocHost: "),
        (4, "stream from cudaStreamCreate: "),
        (8, "event from cudaEventCreateWithFlags: "),
        (16, "cuBLAS handle from cublasCreate: "),
        (32, "256 bytes of device memory from cudaMallocAsync: "),
    ],
)
def test_a_leak_is_what_each_life_leaves(path: Path, forgotten: int, output: str, *, deferred: bool) -> None:
    library = ctypes.CDLL(str(path))
    device = Device(path)
    device.defer(deferred)
    try:
        found = taken_from_cuda(device, lambda: library.live(forgotten))
    finally:
        device.defer(False)
    assert [str(leak).startswith(output) and leak.count for leak in found] == ([1] if output else [])
    for leak in found:
        shown = run(["addr2line", "-e", leak.taken.library, hex(leak.taken.offset - 1)]).stdout
        line = int(re.sub(r".*:(\d+).*\n", r"\1", shown))
        assert f"// TAKEN {forgotten}" in _SOURCE.read_text(encoding="utf-8").splitlines()[line - 1]


def test_what_some_lives_leave_is_a_cache(path: Path) -> None:
    library = ctypes.CDLL(str(path))
    lives = iter([1, 0, 1])
    assert taken_from_cuda(Device(path), lambda: library.live(next(lives))) == []


def test_what_is_given_back_later_is_no_leak(path: Path) -> None:
    """Registered memory is the library's until it says otherwise."""
    library = ctypes.CDLL(str(path))
    device = Device(path)
    assert library.live(0) == 0  # which makes the cache, if no test before has
    since = device.mark()
    assert library.live(64) == 0
    assert [(each.kind, each.function, each.size) for each in device.left(since)] == [
        ("registered memory", "cudaHostRegister", 256)
    ]
    assert device.left(device.mark()) == ()
    assert library.giveBackLater() == 0
    assert device.left(since) == ()


def test_a_library_without_counting_has_none() -> None:
    device = Device()
    assert (device.mark(), device.left(0)) == (0, ())


def test_host_memory_is_counted_until_it_is_freed(path: Path) -> None:
    library = ctypes.CDLL(str(path))
    library.takeHost.restype = ctypes.c_void_p
    heap = _native.HeapCount(str(path))
    try:
        since = heap.last()
        first, second = library.takeHost(100), library.takeHost(200)
        assert [size for size, _ in heap.left(since)] == [100, 200]
        library.giveHostBack(ctypes.c_void_p(first))
        assert [size for size, _ in heap.left(since)] == [200]
        assert heap.left(heap.last()) == []
    finally:
        heap.stop()
    assert heap.left(since) == []
    library.giveHostBack(ctypes.c_void_p(second))
    assert [size for size, _ in heap.left(0)] == []
