"""Memory that a plugin is given, with guards on both sides: of the host for target cpu, of the GPU for target gpu."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from pluginkit import _native, gpu

Bytes = np.ndarray[Any, np.dtype[np.uint8]]

GUARD_BYTES = 4096
"""On each side, as native/buffer.h has it."""


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


Allocate = Callable[[int], Buffer]
"""Makes a buffer of so many bytes."""


class HostBuffer:
    """Host memory: both sides see the same."""

    def __init__(self, size: int) -> None:
        self._native = _native.Buffer(size)
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


class DeviceBuffer:
    """Device memory, and a copy of it with its guards in host memory. `guard` is their size."""

    def __init__(self, context: gpu.GpuContext, size: int, guard: int = GUARD_BYTES) -> None:
        self.size = size
        self._context = context
        self._guard = guard
        self._copy: Bytes = np.empty(size + 2 * guard, np.uint8)
        self._copy[:guard] = _GUARD[:guard][::-1]
        self._copy[guard + size :] = _GUARD[:guard]
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
        behind = np.flatnonzero(self._copy[guard + self.size :] != _GUARD[:guard])
        before = np.flatnonzero(self._copy[:guard][::-1] != _GUARD[:guard])
        if behind.size and (not before.size or behind[0] <= before[0]):
            return self.size + int(behind[0]), int(self._copy[guard + self.size + behind[0]])
        if before.size:
            return -1 - int(before[0]), int(self._copy[guard - 1 - before[0]])
        return None


_GUARD: Bytes = (0xC1 ^ (np.arange(GUARD_BYTES) * 37 & 0xFF)).astype(np.uint8)
"""From the buffer outwards; differs from byte to byte, so that a guard shifted or filled with one value is seen."""
