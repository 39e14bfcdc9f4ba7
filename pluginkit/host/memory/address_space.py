"""Tensors of more elements than a machine has memory for: reserved address space, of which only touched pages exist."""

from __future__ import annotations

import ctypes
import mmap
import os
from typing import Protocol

import numpy as np

from pluginkit import gpu
from pluginkit.host.memory.buffers import Bytes

_REACH = 1 << 35
"""Bytes on both sides that belong to nobody: a 32-bit index of an element of 8 bytes that has wrapped ends here."""
_NORESERVE = 0x4000
"""MAP_NORESERVE of Linux, which Python's mmap has from 3.13 on"""
_NO_HUGE_PAGES = 15
"""MADV_NOHUGEPAGE of Linux: a page that is touched brings no others"""
_NOTHING: Bytes = np.empty(0, np.uint8)


class LargeBuffer(Protocol):
    """Device memory for one tensor. Only pieces of it are written and read from here; the rest is 0."""

    @property
    def size(self) -> int:
        """In bytes."""

    @property
    def address(self) -> int:
        """Of the first byte, as the plugin sees it."""

    @property
    def contents(self) -> Bytes:
        """Nothing: it has no copy."""

    def write(self, offset: int, data: Bytes) -> None:
        """Puts bytes at an offset."""

    def read(self, offset: int, size: int) -> Bytes:
        """A copy of bytes from an offset on."""

    def push(self) -> None:
        """Nothing to do."""

    def pull(self) -> None:
        """Nothing to do."""

    def damage(self) -> None:
        """There are no guards."""

    def touched(self) -> None:
        """As `damage`."""

    @property
    def open_around(self) -> bool:
        """As of `Buffer`."""

    def free(self) -> None:
        """Gives it back."""


class ReservedBuffer:
    """Of the host, for target cpu: its pages exist as soon as they are touched; what is around can't be accessed.

    Raises:
        MemoryError: there is not so much address space, or the kernel was told to promise only what there is.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        page = mmap.PAGESIZE
        room = -(-size // page) * page
        self._all = room + 2 * _REACH
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.mmap.restype = ctypes.c_void_p
        self._libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
        self._libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        self._libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
        self._libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        self._libc.mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
        base = self._libc.mmap(None, self._all, 0, flags, -1, 0)
        if base in (None, ctypes.c_void_p(-1).value):
            raise MemoryError(_errno(self._all))
        self._base: int = base
        self._room = room
        # It ends, but for the alignment of 256 bytes, where the inaccessible part behind begins.
        self.address = base + _REACH + room - (-(-size // 256) * 256)
        if room and self._libc.mprotect(base + _REACH, room, mmap.PROT_READ | mmap.PROT_WRITE):
            problem = _errno(room)
            self.free()
            raise MemoryError(problem)
        self._libc.madvise(base + _REACH, room, _NO_HUGE_PAGES)

    @property
    def pages(self) -> int:
        """Of its memory, without what is around."""
        return self._room // mmap.PAGESIZE

    def present_pages(self) -> int:
        """How many of its pages exist; all of them where the kernel doesn't tell."""
        found = np.empty(self.pages, np.uint8)
        if self._libc.mincore(self._base + _REACH, self._room, found.ctypes.data):
            return self.pages
        return int(np.count_nonzero(found & 1))

    @property
    def contents(self) -> Bytes:
        """Nothing."""
        return _NOTHING

    def write(self, offset: int, data: Bytes) -> None:
        """Puts bytes at an offset."""
        ctypes.memmove(self.address + offset, data.ctypes.data, data.nbytes)

    def read(self, offset: int, size: int) -> Bytes:
        """A copy of bytes from an offset on."""
        return np.frombuffer(ctypes.string_at(self.address + offset, size), np.uint8)

    def push(self) -> None:
        """Nothing to do."""

    def pull(self) -> None:
        """Nothing to do."""

    def damage(self) -> None:
        """What is around can't be written."""

    def touched(self) -> None:
        """An access around ends the kernel, or the process."""

    @property
    def open_around(self) -> bool:
        """No: what is around can't be read, but for the alignment."""
        return False

    def free(self) -> None:
        """Gives the address space back."""
        self._libc.munmap(self._base, self._all)


class LargeDeviceBuffer:
    """Of a GPU, filled with zeros.

    Raises:
        CudaError: the GPU has not so much.
    """

    def __init__(self, context: gpu.GpuContext, size: int) -> None:
        self.size = size
        self._context = context
        self._memory = context.alloc(size)
        self.address = self._memory.address
        if size:
            context.fill(self.address, 0, size)

    @property
    def contents(self) -> Bytes:
        """Nothing."""
        return _NOTHING

    def write(self, offset: int, data: Bytes) -> None:
        """Copies bytes to an offset."""
        if data.size:
            self._context.write(self.address + offset, data)

    def read(self, offset: int, size: int) -> Bytes:
        """Copies bytes from an offset on."""
        found: Bytes = np.empty(size, np.uint8)
        if size:
            self._context.read(found, self.address + offset)
        return found

    def push(self) -> None:
        """Nothing to do."""

    def pull(self) -> None:
        """Nothing to do."""

    def damage(self) -> None:
        """There are no guards."""

    def touched(self) -> None:
        """As `damage`."""

    @property
    def open_around(self) -> bool:
        """Nobody asks."""
        return False

    def free(self) -> None:
        """Gives the memory back."""
        self._memory.free()


def _errno(size: int) -> str:
    return f"{size} bytes of address space: {os.strerror(ctypes.get_errno())}"
