"""The rules of enqueue(), as a test harness has them checked."""

from __future__ import annotations

import ctypes
import faulthandler
import mmap
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from .conftest import Findings, control_of

pytestmark = pytest.mark.compile
Load = Callable[[str], ctypes.CDLL]


class Enqueue:
    """Calls functions of enqueue.cu as a harness does, on an output in pages of its own."""

    def __init__(self, library: ctypes.CDLL, *, deferred: bool) -> None:
        self.library = library
        self.control = control_of(library)
        self.deferred = deferred
        self.control.set_deferred(deferred)
        assert library.initialize() == 0
        self.stream = self.control.make_stream()
        self.memory = mmap.mmap(-1, 8192)
        self.output: Any = (ctypes.c_int * 2048).from_buffer(self.memory)
        assert self.control.register_region(ctypes.addressof(self.output), 5000, 1, 0) == 0

    def __call__(self, function: str) -> None:
        self.control.enqueue_begin(self.stream)
        result = getattr(self.library, function)(ctypes.byref(self.output), ctypes.c_void_p(self.stream))
        self.control.enqueue_end()
        assert result == 0, "the line of enqueue.cu that failed"

    def close(self) -> None:
        assert self.control.drain() == 0
        assert self.control.unregister_region(ctypes.addressof(self.output)) == 0
        assert self.control.destroy_stream(self.stream) == 0
        assert self.library.terminate() == 0
        assert self.control.live_allocations() == 0
        self.control.set_deferred(False)


@pytest.fixture(params=[False, True], ids=["at-once", "deferred"])
def enqueue(load: Load, request: pytest.FixtureRequest, findings: Findings) -> Iterator[Enqueue]:
    one = Enqueue(load("enqueue"), deferred=request.param)
    yield one
    one.close()


def test_good(enqueue: Enqueue, findings: Findings) -> None:
    enqueue("good")
    enqueue.control.drain()
    assert enqueue.output[:4] == [7, 1, 1, 1]
    enqueue("joined")
    enqueue.control.drain()
    assert enqueue.output[:4] == [3, 2, 2, 2]
    assert findings() == []


def test_a_pointer_beside_device_memory_is_none_to_the_hosts(enqueue: Enqueue, findings: Findings) -> None:
    """In the output's own pages, behind its bytes: what the kernel does with it decides."""
    enqueue("fromBehind")
    enqueue.control.drain()
    assert enqueue.output[:4] == [4, 4, 4, 4]
    assert findings() == []


@pytest.mark.parametrize(
    ("function", "kind", "text"),
    [
        ("notForked", "wrong-stream", "^set.* uses another stream than the one that enqueue.. was given"),
        ("notJoined", "wrong-stream", "work on a second stream that the given stream does not wait for"),
        ("defaultStream", "wrong-stream", "^set.* uses the default stream"),
        ("blockingFill", "wrong-stream", "cudaMemset uses the default stream"),
        ("allocates", "allocation-in-enqueue", "cudaMalloc in enqueue"),
        ("allocates", "allocation-in-enqueue", "cudaFree in enqueue"),
        ("waits", "synchronization-in-enqueue", "cudaStreamSynchronize waits"),
        ("blockingCopy", "synchronization-in-enqueue", "cudaMemcpy waits for the copy in enqueue"),
        ("pageableCopy", "synchronization-in-enqueue", "cudaMemcpyAsync waits .* not pinned"),
        ("asksStream", "query-in-enqueue", "cudaStreamQuery in enqueue.. asks whether work has ended"),
        ("asksEvent", "query-in-enqueue", "cudaEventQuery in enqueue.. asks whether work has ended"),
        ("touches", "host-access", "host code uses device memory in enqueue.*: byte 0 of the 256 bytes"),
        ("touchesBinding", "host-access", "host code uses device memory .*: byte 0 of the 5000 bytes .* was given"),
        ("copiesHostAsDevice", "bad-copy", "from the device reads host memory: memory that is not the device's"),
    ],
)
def test_breaches(enqueue: Enqueue, findings: Findings, function: str, kind: str, text: str) -> None:
    enqueue(function)
    matching = [f for f in findings() if f["kind"] == kind and re.search(text, f["text"])]
    assert len(matching) == 1, findings()
    if "enqueue() ends" not in matching[0]["text"] and "libenqueue" in matching[0].get("library", ""):
        assert matching[0]["offset"] > 0


@pytest.mark.parametrize(
    ("function", "text"),
    [
        ("readsTooEarly", "memory that a copy on its way is about to write.*cudaHostAlloc"),
        ("overwritesTooEarly", "memory that a copy on its way is about to read.*cudaHostAlloc"),
        ("usesAnotherPart", None),
    ],
)
def test_host_memory_in_flight(enqueue: Enqueue, findings: Findings, function: str, text: str | None) -> None:
    enqueue(function)
    found = findings()
    if enqueue.deferred and text:
        assert [f["kind"] for f in found] == ["host-access"]
        assert re.search(text, found[0]["text"])
        assert "libenqueue" in found[0]["library"]
    else:
        assert found == []


def test_rules_hold_during_enqueue_alone(enqueue: Enqueue, findings: Findings) -> None:
    for function in ("allocates", "waits", "defaultStream", "blockingCopy"):
        result = getattr(enqueue.library, function)(ctypes.byref(enqueue.output), ctypes.c_void_p(enqueue.stream))
        assert result == 0
    assert findings() == []


def test_signal_handlers_are_as_before(enqueue: Enqueue) -> None:
    libc = ctypes.CDLL(None)
    before, after = (ctypes.create_string_buffer(256) for _ in range(2))
    faulthandler.enable()
    assert libc.sigaction(11, None, before) == 0
    enqueue("touches")
    assert libc.sigaction(11, None, after) == 0
    for part in (slice(16), slice(136, 140)):  # the handler and 64 signals of the mask; the flags
        assert before.raw[part] == after.raw[part]


def test_errors_can_be_cleared(load: Load, findings: Findings) -> None:
    library = load("device")
    control = control_of(library)
    assert library.errors() == 0
    assert control.last_error() == 0
    assert library.sticky() == 0
    control.clear_errors()
    assert control.last_error() == 0
    assert [f["kind"] for f in findings()] == ["invalid-address"]
