"""A GPU for `pluginkit.bench` that is none: device memory is host memory, work is done at once, and time is invented.

With a library of target cpu all of a measurement runs, but for the speed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from pluginkit.errors import CheckFailed

TICK = 10e-6
"""Seconds from one event to the next."""


class Stream:
    """The default stream of target cpu. `captured` counts graphs."""

    handle = 0

    def __init__(self, *, captures: bool) -> None:
        self.captures = captures
        self.captured = 0

    def synchronize(self) -> None:
        pass

    def begin_capture(self) -> None:
        if not self.captures:
            raise CheckFailed("cuStreamBeginCapture_v2 gave CUDA_ERROR_ILLEGAL_STATE (401): no")

    def end_capture(self) -> Any:
        self.captured += 1
        executable = SimpleNamespace(launch=lambda stream: None)
        return SimpleNamespace(instantiate=lambda: executable, close=lambda: None)


class Context:
    """Looks like `pluginkit.gpu.GpuContext`."""

    name = "no GPU"
    capability = (9, 0)
    l2_bytes = 1 << 16
    driver = SimpleNamespace(version="13.0")

    def __init__(self, *, captures: bool = False, tick: float = TICK, free: int = 1 << 26) -> None:
        self._captures = captures
        self._tick = tick
        self._free = free
        self._now = 0.0
        self.filled: list[int] = []

    def alloc(self, size: int) -> Any:
        raw = np.full(size + 256, 0xEE, np.uint8)
        address = -(-raw.ctypes.data // 256) * 256
        return SimpleNamespace(address=address, size=size, raw=raw, free=lambda: None)

    def free_bytes(self) -> int:
        return self._free

    def stream(self) -> Stream:
        return Stream(captures=self._captures)

    def event(self) -> Any:
        event = SimpleNamespace(at=0.0)

        def record(_: Stream) -> None:
            self._now += self._tick
            event.at = self._now

        event.record = record
        event.seconds_since = lambda begin: event.at - begin.at
        return event

    def write(self, address: int, array: np.ndarray[Any, Any]) -> None:
        ctypes.memmove(address, array.ctypes.data, array.nbytes)

    def read(self, array: np.ndarray[Any, Any], address: int) -> None:
        ctypes.memmove(array.ctypes.data, address, array.nbytes)

    def copy(self, to: int, source: int, size: int, _: Stream | None = None) -> None:
        ctypes.memmove(to, source, size)

    def fill(self, address: int, byte: int, size: int, _: Stream | None = None) -> None:
        self.filled.append(size)
        ctypes.memset(address, byte, size)

    def module(self, _: bytes) -> Any:
        def launch(*_: object) -> None:
            pass

        return SimpleNamespace(launch=launch, close=lambda: None)


def context(**how: Any) -> Callable[[], Context]:
    """What takes the place of `pluginkit.gpu.GpuContext`."""
    return lambda: Context(**how)
