"""Stand-ins for NVIDIA's libraries that aren't on this machine, so that a plugin library which needs them can be asked.

A stand-in is a shared library of the missing one's name, made in memory when a library is loaded: TensorRT's functions
lead to pluginkit's host, whose registry collects what registers itself; all others note that they were called
(`absent_call`), and answer that there is no GPU.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path

from pluginkit import _native

_MARKS = (b"libnvinfer", b"libtensorrt_rtx")


def mentions_tensorrt(library: Path) -> bool:
    """Whether a library may be linked against TensorRT: it has such a name somewhere."""
    with library.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return False
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return any(data.find(mark) >= 0 for mark in _MARKS)


def absent_call() -> str:
    """Which function of a library that isn't here was called first since `forget_absent_call`, as `cudaMalloc of
    libcudart.so.12`; empty where none was."""
    return _native.absent_call()


def forget_absent_call() -> None:
    """From now on `absent_call` answers of calls that are still to come."""
    _native.forget_absent_call()
