"""Handles of the cuDNN and cuBLAS that a plugin's library has loaded into this process."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

_FUNCTIONS = {
    "libcudnn.so": ("cudnnCreate", "cudnnDestroy"),
    "libcublas.so": ("cublasCreate_v2", "cublasDestroy_v2"),
}
"""By the library's name: what makes a handle, and what ends it."""
LIBRARIES = tuple(_FUNCTIONS)


def make(library: Path, name: str) -> int:
    """A handle of that library (`libcudnn.so`, `libcublas.so`) in the current context; 0 if `library` doesn't link it,
    or it gives none."""
    loaded = _loaded(library, name)
    handle = ctypes.c_void_p()
    failed = loaded is None or loaded[_FUNCTIONS[name][0]](ctypes.byref(handle))
    return 0 if failed else int(handle.value or 0)


def destroy(library: Path, name: str, handle: int) -> None:
    """Ends a handle that `make` gave."""
    loaded = _loaded(library, name)
    if loaded is not None:
        loaded[_FUNCTIONS[name][1]](ctypes.c_void_p(handle))


def _loaded(library: Path, name: str) -> ctypes.CDLL | None:
    """The one that the plugin uses: of the version that it was linked with."""
    from pluginkit import elf  # every worker imports this module, and few read a file

    needed = next((one for one in elf.read(library).needed if one.startswith(name)), "")
    try:
        return ctypes.CDLL(needed, mode=os.RTLD_NOW | os.RTLD_NOLOAD) if needed else None
    except OSError:
        return None
