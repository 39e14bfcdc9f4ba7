"""Libraries that register their creators themselves, in a process that has the TensorRT which they are linked against:
static objects do so when a library is opened, init functions when they are called.
"""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress

from pluginkit.errors import CheckFailed

TENSORRT_RTX = "libtensorrt_rtx.so.1"


def opened(
    library: str, functions: Sequence[str], namespace: str, count: Callable[[], int], said: Callable[[], str] = str
) -> None:
    """Opens a library and calls its init functions. It stays open.

    Args:
        library: its path.
        functions: names of init functions of the signature `bool (void* logger, char const* namespace)`.
        namespace: what they get.
        count: the number of the registry's creators.
        said: what was logged meanwhile.

    Raises:
        CheckFailed: it can't be opened, or an init function answers false and no creator came.
    """
    before = count()
    for name in (TENSORRT_RTX, "libnvinfer.so"):
        # A library that is linked against none finds the functions of the one that is there.
        with suppress(OSError):
            ctypes.CDLL(name, os.RTLD_NOLOAD | os.RTLD_GLOBAL | os.RTLD_NOW)
    try:
        loaded = ctypes.CDLL(library)
    except OSError as error:
        raise CheckFailed(f"{library} can't be opened: {error}") from None
    refused = []
    for name in functions:
        function = getattr(loaded, name)
        function.restype, function.argtypes = ctypes.c_bool, [ctypes.c_void_p, ctypes.c_char_p]
        if not function(None, namespace.encode()):
            refused.append(f"{name}(nullptr, {json.dumps(namespace)})")
    if refused and count() == before:
        raise CheckFailed(
            f"{library}: {', '.join(refused)} answers false: the registry took none of "
            f"its creators, as where it has one of that name, version and namespace, TensorRT's own among them{said()}"
        )
