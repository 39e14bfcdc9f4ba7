"""Who may use this worker's GPU: batches of cases together, a measurement alone.

By flock(2) on two files for each GPU, so that workers of other processes, and those of other clusters of the same user
and TMPDIR, are meant too. Who ends lets go.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from pluginkit.build.gpus import NO_GPU, find_driver
from pluginkit.errors import ToolMissing

AGAIN = 10.0
"""Seconds until a driver that has said that it has no GPU is asked again. One that was too slow is asked at once."""


@contextmanager
def together() -> Iterator[None]:
    """Not while somebody is alone on the GPU. Without one nobody waits."""
    name = gpu()
    with _turn(name, fcntl.LOCK_SH) if name else nullcontext():
        yield


@contextmanager
def alone() -> Iterator[None]:
    """Not while anybody else is on the GPU; who comes later waits.

    Raises:
        ToolMissing: there is none, so that nobody could be kept off it.
    """
    name = gpu()
    if not name:
        raise ToolMissing("The driver no longer reports a GPU, so nothing is measured.")
    with _turn(name, fcntl.LOCK_EX):
        yield


@contextmanager
def _turn(name: str, how: int) -> Iterator[None]:
    with _opened(f"{name}.lock") as room:
        # Who wants it alone holds the door meanwhile: else batches that overlap would never let it in.
        with _opened(f"{name}-door.lock") as door:
            fcntl.flock(door, fcntl.LOCK_EX)
            fcntl.flock(room, how)
        yield


def gpu() -> str:
    """What this process's files are called; empty while the driver names no GPU."""
    return _DRIVER.name()


class _Driver:
    """What the driver said, which takes its time to answer: one thread asks, and the others wait for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._name = ""
        self._again = 0.0

    def name(self) -> str:
        with self._lock:
            if not self._name and time.monotonic() >= self._again:
                found = find_driver()
                self._name = f"pluginkit-gpu-{os.getuid()}-{found.gpus[0].uuid or 0}" if found.gpus else ""
                self._again = time.monotonic() + AGAIN if found.problem in ("", NO_GPU) else 0.0
            return self._name


_DRIVER = _Driver()


@contextmanager
def _opened(name: str) -> Iterator[int]:
    handle = os.open(Path(tempfile.gettempdir()) / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        yield handle
    finally:
        os.close(handle)
