"""The worker's side of `loading` for TensorRT 8: in the Python that has it, which need not have pluginkit."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from pathlib import Path

from pluginkit import layouts
from pluginkit.creators.facts import CreatorFacts, FieldFacts
from pluginkit.errors import CheckFailed
from pluginkit.process.worker_main import CallFile
from pluginkit.runtimes.nvidia import version8
from pluginkit.runtimes.nvidia.bindings import Log, trt
from pluginkit.runtimes.nvidia.creator_names import identity


class Registry8Child:
    """A library in the registry of TensorRT 8."""

    def __init__(self, library: str, functions: Sequence[str], namespace: str) -> None:
        self._log = Log()
        registry = trt.get_plugin_registry()
        # The bindings load NVIDIA's own plugin library themselves: of that one all creators came with it.
        known = set() if _loaded(library) else {identity(one) for one in version8.creators(registry)}
        version8.load(registry, library, functions, namespace, self._log)
        self._creators = [one for one in version8.creators(registry) if identity(one) not in known]
        if not self._creators:
            raise CheckFailed("its registry takes no creator from the library")

    def creators(self) -> list[CreatorFacts]:
        """What came with the library."""
        return [
            CreatorFacts(
                *identity(one), "V2", layouts.BEFORE_V3.creator, "", tuple(map(FieldFacts.of, one.field_names or ()))
            )
            for one in self._creators
        ]


def open(call_file: CallFile, library: str, functions: Sequence[str], namespace: str) -> Registry8Child:  # noqa: A001
    """Has the registry take the library.

    Raises:
        CheckFailed: it can't be opened, or brings no creator.
    """
    call_file.enter(f"the init functions of {Path(library).name}")
    made = Registry8Child(library, functions, namespace)
    call_file.leave()
    return made


def _loaded(library: str) -> bool:
    try:
        ctypes.CDLL(library, os.RTLD_NOW | os.RTLD_NOLOAD)
    except OSError:
        return False
    return True
