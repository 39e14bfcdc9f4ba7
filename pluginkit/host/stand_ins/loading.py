"""Loads the stand-ins that a library needs into this process."""

from __future__ import annotations

import ctypes
import os
import tempfile
from pathlib import Path

from pluginkit import _native
from pluginkit.elf import Elf
from pluginkit.host.stand_ins.image import Thunk, image
from pluginkit.library.stand_ins import StandIn, needed

_UNNOTED = ("__cudaRegister", "__cudaUnregister", "__cudaInitModule")
"""What a library with kernels calls when it is loaded and unloaded."""


def load(library: Path, facts: Elf, *, tensorrt: bool = True) -> tuple[StandIn, ...]:
    """Load a stand-in of each library of NVIDIA's that one needs and that isn't here, TensorRT's in any case, or, in a
    process that has TensorRT, not. They stay loaded, and their functions are those of all libraries that are loaded
    from now on.

    Raises:
        OSError: one can't be loaded.
    """
    provided = dict(_native.provided_functions())
    found = tuple(one for one in needed(library, facts) if tensorrt or not one.tensorrt)
    with tempfile.TemporaryDirectory(prefix="pluginkit-") as folder:
        for one in found:
            path = Path(folder) / one.name
            path.write_bytes(image(one.name, _thunks(one, provided)))
            ctypes.CDLL(str(path), os.RTLD_NOW | os.RTLD_GLOBAL)
    return found


def _thunks(one: StandIn, provided: dict[str, int]) -> list[Thunk]:
    versions = {symbol.name: symbol.version for symbol in one.functions}
    names = dict.fromkeys([*versions, *(provided if one.tensorrt else ())])
    return [_thunk(one, name, versions.get(name, ""), provided) for name in names]


def _thunk(one: StandIn, name: str, version: str, provided: dict[str, int]) -> Thunk:
    if one.tensorrt and name in provided:
        return Thunk(name, version, provided[name])
    argument, target = _native.absent_function(name, one.name, one.answer, not name.startswith(_UNNOTED))
    return Thunk(name, version, target, argument)
