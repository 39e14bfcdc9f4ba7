"""Lets RTX's ONNX parser find `libtensorrt_rtx.so` in a process that runs already.

The parser opens the library by that name when it is made, and ends the process if there is none; NVIDIA's wheel has
`libtensorrt_rtx.so.1` only. glibc reads LD_LIBRARY_PATH once, at the start. But a loaded library gets one more name
each time that it is opened by another: so a small library of ours opens a link of that name in its own folder.
"""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path

from pluginkit import installation
from pluginkit.errors import ToolMissing
from pluginkit.paths import built_dir

NAME = "libtensorrt_rtx.so"
HELPER = "_open_beside.so"


@functools.cache
def provide() -> None:
    """Give the loaded library of NVIDIA's wheel that name too. Nothing happens the second time.

    Raises:
        ToolMissing: NVIDIA's wheel or pluginkit's helper library isn't there.
    """
    try:
        ctypes.CDLL(NAME, os.RTLD_NOW | os.RTLD_NOLOAD)
    except OSError:
        _open_by_link()


def _open_by_link() -> None:
    wheel = find_spec("tensorrt_rtx_libs")
    found = sorted(Path(wheel.origin).parent.glob(f"{NAME}.*")) if wheel and wheel.origin else []
    if not found:
        raise ToolMissing(f"{NAME}, which RTX's ONNX parser opens, is not here.", hint=installation.extra("rtx"))
    helper = built_dir() / HELPER
    if not helper.is_file():
        raise ToolMissing(f"pluginkit's library {HELPER} is not built.", hint=installation.again())
    with tempfile.TemporaryDirectory(prefix="pluginkit-rtx-") as folder:
        # The very file that is loaded: a copy would have globals of its own.
        (Path(folder) / NAME).symlink_to(found[0].resolve())
        opened = ctypes.CDLL(shutil.copy(helper, folder)).pluginkitOpenBeside
        opened.restype = ctypes.c_void_p
        if opened(NAME.encode()) is None:
            raise ToolMissing(
                f"{found[0]} can't be opened as {NAME}.", hint=installation.pip("--force-reinstall", "tensorrt-rtx")
            )
