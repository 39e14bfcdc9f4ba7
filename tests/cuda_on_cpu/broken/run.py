"""Calls a function of a library of broken kernels: `python run.py LIBRARY CASE broken|repaired HOW`.

HOW is `call`; `enqueue` or `deferred`: between the control's enqueueBegin and enqueueEnd; or `strict`: as a harness
does that has told of all device memory. Findings go to the file that PLUGINKIT_CPU_FINDINGS names.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from typing import Any

CONTROL_FIELDS: list[tuple[str, tuple[Any, ...]]] = [
    ("enqueue_begin", (None, ctypes.c_void_p)),
    ("enqueue_end", (None,)),
    ("drain", (ctypes.c_int,)),
    ("set_deferred", (None, ctypes.c_int)),
    ("register_region", (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int)),
    ("unregister_region", (ctypes.c_int, ctypes.c_void_p)),
    ("make_stream", (ctypes.c_void_p,)),
    ("destroy_stream", (ctypes.c_int, ctypes.c_void_p)),
]


class Control(ctypes.Structure):
    """The beginning of `PluginkitCpuControl`, of pluginkit/cpu/control.h."""

    _fields_ = [(name, ctypes.CFUNCTYPE(*types)) for name, types in CONTROL_FIELDS]


def control_of(library: ctypes.CDLL) -> Any:
    """The library's control."""
    get = library.pluginkit_cpu_control
    get.restype = ctypes.POINTER(Control)
    return get(1).contents


def enqueue(library: ctypes.CDLL, case: str, *, repaired: bool, deferred: bool) -> int:
    """Call the case as enqueue(), with an output in pages of its own; the error that sticks."""
    control = control_of(library)
    control.set_deferred(deferred)
    assert library.initialize() == 0
    memory = mmap.mmap(-1, 4096)
    output = (ctypes.c_float * 1024).from_buffer(memory)
    assert control.register_region(ctypes.addressof(output), 4096, 1, 1) == 0
    stream = control.make_stream()
    control.enqueue_begin(stream)
    getattr(library, case)(repaired, ctypes.byref(output), ctypes.c_void_p(stream))
    control.enqueue_end()
    return int(control.drain())


def strict(library: ctypes.CDLL, case: str, *, repaired: bool) -> int:
    """Call the case while the harness has memory registered."""
    control = control_of(library)
    memory = mmap.mmap(-1, 4096)
    region = (ctypes.c_float * 1024).from_buffer(memory)
    assert control.register_region(ctypes.addressof(region), 4096, 0, 1) == 0
    return int(getattr(library, case)(repaired))


def main() -> int:
    """The case's error."""
    path, case, word, how = sys.argv[1:]
    library = ctypes.CDLL(path)
    repaired = word == "repaired"
    if how == "call":
        return int(getattr(library, case)(repaired))
    if how == "strict":
        return strict(library, case, repaired=repaired)
    return enqueue(library, case, repaired=repaired, deferred=how == "deferred")


if __name__ == "__main__":
    error = main()
    print(error)
    sys.exit(error != 0)
