"""Memory that a plugin is given, with guards on both sides: of the host for target cpu, of the GPU for target gpu."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from pluginkit import _native, gpu

Bytes = np.ndarray[Any, np.dtype[np.uint8]]

GUARD_BYTES = 4096
"""On each side, as native/buffer.h has it."""
TENSOR_ALIGNMENT = 256
"""Bytes, as native/paged_buffer.h has it."""


class Buffer(Protocol):
    """`size` bytes between two guards."""

    @property
    def size(self) -> int:
        """Without the guards."""

    @property
    def address(self) -> int:
        """Of the first byte, as the plugin sees it."""

    @property
    def contents(self) -> Bytes:
        """The bytes, as the host sees them."""

    def push(self) -> None:
        """Gives the plugin's side what the host has written."""

    def pull(self) -> None:
        """Gives the host's side what the plugin has written."""

    def damage(self) -> tuple[int, int] | None:
        """The damaged guard byte that is nearest to the buffer: its offset from the first byte, and its value."""

    def touched(self) -> int | None:
        """The offset from the first byte of an access beyond the guards, also of one that only reads, where such an
        access can be noticed."""

    @property
    def open_around(self) -> bool:
        """Whether bytes beside it can be read unnoticed."""


class Allocate(Protocol):
    """Makes a buffer of so many bytes. `around`: what comes again and again on both sides of it, whole elements; the
    guards' own bytes if there are none."""

    def __call__(self, size: int, *, around: bytes = b"") -> Buffer:
        """The buffer."""


class HostBuffer:
    """Host memory: both sides see the same. It is aligned as a tensor (256 bytes), and lies between two pages that
    can't be read: at the end of its own pages, or `at_start` of them."""

    def __init__(self, size: int, *, at_start: bool = False, around: bytes = b"") -> None:
        self._native = _native.PagedBuffer(size, at_start, around)
        self.size = size
        self.address = self._native.address
        self.contents: Bytes = np.asarray(memoryview(self._native), np.uint8)

    def push(self) -> None:
        """Nothing to do."""

    def pull(self) -> None:
        """Nothing to do."""

    def damage(self) -> tuple[int, int] | None:
        """As `Buffer.damage`."""
        return self._native.damage()

    def touched(self) -> int | None:
        """As `Buffer.touched`."""
        return self._native.touched()

    @property
    def open_around(self) -> bool:
        """As `Buffer.open_around`: between its end and the page's."""
        return self.size % TENSOR_ALIGNMENT != 0


class DeviceBuffer:
    """Device memory, and a copy of it with its guards in host memory. `guard` is their size."""

    def __init__(self, context: gpu.GpuContext, size: int, guard: int = GUARD_BYTES, *, around: bytes = b"") -> None:
        self.size = size
        self._context = context
        self._guard = guard
        self._copy: Bytes = np.empty(size + 2 * guard, np.uint8)
        same = np.resize(np.frombuffer(around, np.uint8), guard) if around else None
        self._before = _GUARD[:guard][::-1] if same is None else same
        self._behind = _GUARD[:guard] if same is None else same
        self._copy[:guard] = self._before
        self._copy[guard + size :] = self._behind
        # CUDA has no allocation of 0 bytes.
        self._memory = context.alloc(max(1, self._copy.size))
        self.address = self._memory.address + guard

    @property
    def contents(self) -> Bytes:
        """The host's copy."""
        return self._copy[self._guard : self._guard + self.size]

    def push(self) -> None:
        """Copies all to the GPU, the guards too."""
        if self._copy.size:
            self._context.write(self._memory.address, self._copy)

    def pull(self) -> None:
        """Copies all from the GPU, the guards too."""
        if self._copy.size:
            self._context.read(self._copy, self._memory.address)

    def damage(self) -> tuple[int, int] | None:
        """As `Buffer.damage`, of the last `pull`."""
        guard = self._guard
        behind = np.flatnonzero(self._copy[guard + self.size :] != self._behind)
        before = np.flatnonzero((self._copy[:guard] != self._before)[::-1])
        if behind.size and (not before.size or behind[0] <= before[0]):
            return self.size + int(behind[0]), int(self._copy[guard + self.size + behind[0]])
        if before.size:
            return -1 - int(before[0]), int(self._copy[guard - 1 - before[0]])
        return None

    def touched(self) -> int | None:
        """A GPU's allocations have no such pages; compute-sanitizer's memcheck sees each access."""
        return None

    @property
    def open_around(self) -> bool:
        """As `Buffer.open_around`: the guards."""
        return self._guard > 0


_GUARD: Bytes = (0xC1 ^ (np.arange(GUARD_BYTES) * 37 & 0xFF)).astype(np.uint8)
"""From the buffer outwards; differs from byte to byte, so that a guard shifted or filled with one value is seen."""
