"""A GPU's primary context: the one that every cudart in the process works in."""

from __future__ import annotations

import ctypes
from ctypes import c_int, c_size_t, c_void_p
from types import TracebackType
from typing import Any

import numpy as np
from typing_extensions import Self

from pluginkit.errors import ToolMissing
from pluginkit.gpu.driver import load
from pluginkit.gpu.memory import Flag, Memory
from pluginkit.gpu.module import Module
from pluginkit.gpu.stream import Event, Stream

Array = np.ndarray[Any, Any]

_MULTIPROCESSORS, _L2_BYTES, _MAJOR, _MINOR = 16, 38, 75, 76
"""`CU_DEVICE_ATTRIBUTE_...` of cuda.h"""


class GpuContext:
    """A GPU, current in the thread that makes this; other threads call `make_current`. A context manager.

    Attributes:
        index: the GPU's number.
        name: as `NVIDIA H100 80GB HBM3`.
        capability: its compute capability, as (9, 0).
        arch: the number by which nvcc calls its architecture, as `90`.
        multiprocessors: how many it has.
        l2_bytes: the size of its L2 cache.
        memory_bytes: of its memory.

    Raises:
        ToolMissing: there is no driver, or no such GPU.
        CudaError: the GPU can't be used.
    """

    def __init__(self, index: int = 0) -> None:
        self.driver = load()
        self.index = index
        count = c_int()
        self.driver.call("cuDeviceGetCount", ctypes.byref(count))
        if not 0 <= index < count.value:
            raise ToolMissing(f"There is no GPU {index}: the driver lists {count.value}.", hint="nvidia-smi -L")
        device = c_int()
        self.driver.call("cuDeviceGet", ctypes.byref(device), index)
        self._device = device.value
        name = ctypes.create_string_buffer(256)
        self.driver.call("cuDeviceGetName", name, len(name), self._device)
        self.name = name.value.decode(errors="replace")
        self.capability = (self._attribute(_MAJOR), self._attribute(_MINOR))
        self.arch = "".join(map(str, self.capability))
        self.multiprocessors = self._attribute(_MULTIPROCESSORS)
        self.l2_bytes = self._attribute(_L2_BYTES)
        total = c_size_t()
        self.driver.call("cuDeviceTotalMem_v2", ctypes.byref(total), self._device)
        self.memory_bytes = total.value
        self._handle = c_void_p()
        self.driver.call("cuDevicePrimaryCtxRetain", ctypes.byref(self._handle), self._device)
        self.make_current()
        self._own = self.stream()

    def _attribute(self, number: int) -> int:
        value = c_int()
        self.driver.call("cuDeviceGetAttribute", ctypes.byref(value), number, self._device)
        return value.value

    def make_current(self) -> None:
        """Makes this the calling thread's context."""
        self.driver.call("cuCtxSetCurrent", self._handle)

    def synchronize(self) -> None:
        """Waits for all work on the GPU.

        Raises:
            CudaError: some of it has failed.
        """
        self.driver.call("cuCtxSynchronize")

    def free_bytes(self) -> int:
        """How much of the GPU's memory is free now."""
        free, total = c_size_t(), c_size_t()
        self.driver.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value

    def alloc(self, size: int) -> Memory:
        """`size` bytes of device memory, aligned to at least 256 bytes."""
        return Memory(self.driver, size)

    def flag(self) -> Flag:
        """What streams wait for until the host sets it."""
        return Flag(self.driver)

    def stream(self) -> Stream:
        """A stream that does not wait for the legacy default stream (CU_STREAM_NON_BLOCKING)."""
        return Stream(self.driver)

    def event(self) -> Event:
        """An event that keeps the time."""
        return Event(self.driver)

    def module(self, code: bytes) -> Module:
        """A module of PTX text, a cubin or a fat binary."""
        return Module(self.driver, code)

    def write(self, address: int, array: Array, stream: Stream | None = None) -> None:
        """Copies a C-contiguous array to device memory: on `stream`, where it must outlive the copy; else it is
        waited for."""
        where = stream or self._own
        self.driver.call("cuMemcpyHtoDAsync_v2", address, _data(array), array.nbytes, where.handle)
        if stream is None:
            where.synchronize()

    def read(self, array: Array, address: int, stream: Stream | None = None) -> None:
        """Fills a C-contiguous array from device memory; as `write`."""
        where = stream or self._own
        self.driver.call("cuMemcpyDtoHAsync_v2", _data(array), address, array.nbytes, where.handle)
        if stream is None:
            where.synchronize()

    def copy(self, to: int, source: int, size: int, stream: Stream | None = None) -> None:
        """Copies within device memory; as `write`."""
        where = stream or self._own
        self.driver.call("cuMemcpyDtoDAsync_v2", to, source, size, where.handle)
        if stream is None:
            where.synchronize()

    def fill(self, address: int, byte: int, size: int, stream: Stream | None = None) -> None:
        """Sets every byte of a piece of device memory; as `write`."""
        where = stream or self._own
        self.driver.call("cuMemsetD8Async", address, byte, size, where.handle)
        if stream is None:
            where.synchronize()

    def close(self) -> None:
        """Gives the primary context back. What was made in it goes with the last who holds it."""
        self._own.close()
        self.driver.ask("cuDevicePrimaryCtxRelease_v2", self._device)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


def _data(array: Array) -> int:
    if not array.flags.c_contiguous:
        raise ValueError(f"an array of strides {array.strides} is not C-contiguous")
    return int(array.ctypes.data)
