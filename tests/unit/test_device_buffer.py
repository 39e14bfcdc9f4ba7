"""Guarded device memory, on a made-up GPU whose memory is an array."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluginkit import _native, gpu
from pluginkit.host.memory.buffers import GUARD_BYTES, DeviceBuffer

BASE = 1 << 20


class FakeContext:
    """Device memory that begins at `BASE`."""

    def __init__(self) -> None:
        self.memory = np.zeros(0, np.uint8)

    def alloc(self, size: int) -> SimpleNamespace:
        self.memory = np.zeros(size, np.uint8)
        return SimpleNamespace(address=BASE)

    def write(self, address: int, array: Any) -> None:
        self.memory[address - BASE :][: array.size] = array

    def read(self, array: Any, address: int) -> None:
        array[:] = self.memory[address - BASE :][: array.size]


def made(size: int) -> tuple[FakeContext, DeviceBuffer]:
    context = FakeContext()
    return context, DeviceBuffer(cast("gpu.GpuContext", context), size)


def test_what_is_pushed_and_pulled() -> None:
    context, buffer = made(5)
    assert buffer.address == BASE + GUARD_BYTES
    buffer.contents[:] = np.arange(5)
    buffer.push()
    assert context.memory[GUARD_BYTES:][:5].tolist() == [0, 1, 2, 3, 4]
    context.memory[GUARD_BYTES + 2] = 77
    assert buffer.contents[2] == 2
    buffer.pull()
    assert buffer.contents.tolist() == [0, 1, 77, 3, 4]
    assert buffer.damage() is None


@pytest.mark.parametrize("size", [0, 1, 4096, 5000])
def test_guards_are_those_of_host_memory(size: int) -> None:
    context, device = made(size)
    device.push()
    for offset in (-GUARD_BYTES, -1, size, size + GUARD_BYTES - 1):
        byte = int(context.memory[GUARD_BYTES + offset])
        context.memory[GUARD_BYTES + offset] ^= 1
        device.pull()
        assert device.damage() == (offset, byte ^ 1)
        context.memory[GUARD_BYTES + offset] = byte
    device.pull()
    host = _native.Buffer(size)
    around = (ctypes.c_uint8 * (size + 2 * GUARD_BYTES)).from_address(host.address - GUARD_BYTES)
    device.contents[:] = 0
    memoryview(host)[:] = bytes(size)
    device.push()
    assert bytes(around) == context.memory.tobytes()


def test_what_is_around_is_as_asked() -> None:
    context = FakeContext()
    buffer = DeviceBuffer(cast("gpu.GpuContext", context), 6, around=b"\x01\x02")
    buffer.push()
    assert context.memory[GUARD_BYTES - 4 : GUARD_BYTES].tolist() == [1, 2, 1, 2]
    assert context.memory[GUARD_BYTES + 6 :][:4].tolist() == [1, 2, 1, 2]
    buffer.pull()
    assert buffer.damage() is None
    assert buffer.open_around
    context.memory[GUARD_BYTES + 7] = 9
    buffer.pull()
    assert buffer.damage() == (7, 9)


@given(
    size=st.integers(0, 64),
    offsets=st.lists(st.integers(-GUARD_BYTES, GUARD_BYTES - 1), min_size=1, max_size=4, unique=True),
)
def test_the_nearest_damage_is_told(size: int, offsets: list[int]) -> None:
    context, buffer = made(size)
    buffer.push()
    places = [offset if offset < 0 else size + offset for offset in offsets]
    for place in places:
        context.memory[GUARD_BYTES + place] ^= 0xFF
    buffer.pull()
    nearest = min(place - size if place >= size else -1 - place for place in places)
    damage = buffer.damage()
    assert damage is not None
    assert (damage[0] - size if damage[0] >= size else -1 - damage[0]) == nearest
    assert damage[0] in places
