"""Who may use this worker's GPU: batches of cases together, a measurement alone.

By flock(2) on two files for each GPU, so that workers of other processes, and those of other clusters of the same user,
are meant too. Who ends lets go.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from pluginkit.build.gpus import find_driver


@contextmanager
def together() -> Iterator[None]:
    """Not while somebody is alone on the GPU."""
    with _turn(fcntl.LOCK_SH):
        yield


@contextmanager
def alone() -> Iterator[None]:
    """Not while anybody else is on the GPU; who comes later waits."""
    with _turn(fcntl.LOCK_EX):
        yield


@contextmanager
def _turn(how: int) -> Iterator[None]:
    name = gpu()
    if not name:
        yield
        return
    with _opened(f"{name}.lock") as room:
        # Who wants it alone holds the door meanwhile: else batches that overlap would never let it in.
        with _opened(f"{name}-door.lock") as door:
            fcntl.flock(door, fcntl.LOCK_EX)
            fcntl.flock(room, how)
        yield


@cache
def gpu() -> str:
    """What this process's files are called; empty without a GPU. The driver takes its time to answer."""
    gpus = find_driver().gpus
    return f"pluginkit-gpu-{os.getuid()}-{gpus[0].uuid or 0}" if gpus else ""


@contextmanager
def _opened(name: str) -> Iterator[int]:
    handle = os.open(Path(tempfile.gettempdir()) / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        yield handle
    finally:
        os.close(handle)
