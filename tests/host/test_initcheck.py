"""What pluginkit's own copies do to and from a GPU's memory under compute-sanitizer's initcheck.

To the tool a copy writes what it copies to and reads what it copies from. `Tracked` stands for the GPU and the tool: it
knows which bytes something has written, and notes each read of others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pluginkit import gpu
from pluginkit.dtypes import DType
from pluginkit.host import Context, GpuDevice, Library, build
from pluginkit.host.memory.device import Device, Job, Region, Use
from pluginkit.host.memory.gpu_watch import CHECK

from .test_v3 import FAULTS, MODES, X, drive, numbers

SIZE = 16
KERNEL, COPY = "the kernel", "pluginkit's copy"


class Memory:
    """An allocation."""

    def __init__(self, address: int) -> None:
        self.address = address


class Stream:
    """Its work is done at once."""

    handle = 1

    def synchronize(self) -> None:
        pass


class Tracked:
    """Of 64 KiB; `reads` says who has read bytes that nobody had written."""

    def __init__(self) -> None:
        self.bytes = np.zeros(1 << 16, np.uint8)
        self.written = np.zeros(1 << 16, bool)
        self.reads: list[str] = []
        self._next = 256

    def alloc(self, size: int) -> Memory:
        here, self._next = self._next, self._next + -(-size // 256) * 256
        return Memory(here)

    def write(self, address: int, array: np.ndarray[Any, Any]) -> None:
        self.bytes[address : address + array.size] = array
        self.written[address : address + array.size] = True

    def read(self, array: np.ndarray[Any, Any], address: int, who: str = COPY) -> None:
        self.reads += [who] * (not self.written[address : address + array.size].all())
        array[:] = self.bytes[address : address + array.size]

    def stream(self) -> Stream:
        return Stream()

    def make_current(self) -> None:
        pass

    def synchronize(self) -> None:
        pass


@pytest.fixture
def tracked(monkeypatch: pytest.MonkeyPatch) -> Tracked:
    found = Tracked()
    monkeypatch.setattr(gpu, "GpuContext", lambda _: found)
    return found


Kernel = Callable[[Tracked, int], None]


def writes(count: int) -> Kernel:
    return lambda tracked, address: tracked.write(address, np.ones(count, np.uint8))


def reads(tracked: Tracked, address: int) -> None:
    tracked.read(np.empty(SIZE, np.uint8), address, KERNEL)


@pytest.mark.parametrize(
    ("use", "whole", "kernel", "found"),
    [
        (Use.INPUT, True, reads, []),
        (Use.OUTPUT, True, writes(SIZE), []),
        # What pluginkit then copies is what the plugin should have written.
        (Use.OUTPUT, True, writes(SIZE - 4), [COPY]),
        (Use.OUTPUT, True, reads, [KERNEL, COPY]),
        (Use.OUTPUT, False, writes(SIZE - 4), []),
        (Use.WORKSPACE, True, writes(SIZE - 4), []),
        (Use.WORKSPACE, True, reads, [KERNEL]),
    ],
)
def test_what_nobody_wrote(
    tracked: Tracked, monkeypatch: pytest.MonkeyPatch, use: Use, whole: bool, kernel: Kernel, found: Sequence[str]
) -> None:
    monkeypatch.setenv(CHECK, "initcheck")
    device = GpuDevice()
    buffer = device.allocate(SIZE)
    buffer.contents[:] = 7
    device.enqueue("enqueue", Job([Region(buffer, use, whole=whole)], lambda _: kernel(tracked, buffer.address)))
    assert tracked.reads == list(found)


@pytest.mark.parametrize("use", Use)
def test_without_the_tool_all_is_copied(tracked: Tracked, monkeypatch: pytest.MonkeyPatch, use: Use) -> None:
    """So that what the plugin leaves as it was, and damage of a workspace's guards, are seen."""
    monkeypatch.setenv(CHECK, "racecheck")
    device = GpuDevice()
    buffer = device.allocate(SIZE)
    buffer.contents[:] = 7
    device.enqueue("enqueue", Job([Region(buffer, use)], lambda _: writes(SIZE - 4)(tracked, buffer.address)))
    assert not tracked.reads
    assert buffer.contents.tolist() == [1] * (SIZE - 4) + [7] * 4
    beside = Job([Region(buffer, use)], lambda _: tracked.write(buffer.address + SIZE, np.zeros(1, np.uint8)))
    device.enqueue("enqueue", beside)
    assert buffer.damage() == (SIZE, 0)


class Seen(Device):
    """Keeps of each run which outputs are to be written whole."""

    def __init__(self) -> None:
        super().__init__()
        self.whole: list[list[bool]] = []

    def enqueue(self, method: str, job: Job) -> None:
        self.whole.append([region.whole for region in job.regions if region.use is Use.OUTPUT])
        super().enqueue(method, job)


@pytest.mark.parametrize(("mode", "whole"), [("plain", [True]), ("size", [False, False])])
def test_an_output_of_a_size_that_enqueue_gives_is_not_written_whole(
    v3_library: Path, mode: str, whole: list[bool]
) -> None:
    device = Seen()
    drive(v3_library, mode, device=device)
    assert device.whole
    assert all(one == whole for one in device.whole)


def test_nor_is_one_with_elements_that_mean_nothing(v3_library: Path) -> None:
    device = Seen()
    fields = dict.fromkeys(("mode", "fault"), (DType.INT32, 0))
    assert MODES["plain"] == FAULTS.index("none") == 0
    with Library(v3_library) as library:
        creator = library.creators[0]
        with Context(creator, build(creator, "layer", fields, [[X]]), [X], device) as context:
            context.run([numbers(2)], [np.zeros((2, 5), bool)])
            context.run([numbers(2)])
    assert device.whole == [[False], [True]]
