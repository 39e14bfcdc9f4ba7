"""Libraries that register their creators themselves, in a process that has TensorRT-RTX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pluginkit import elf
from pluginkit.host.stand_ins import loading
from pluginkit.library.origin import registers_here
from pluginkit.runtimes.nvidia import registering


def take_registering(registry: Any, library: str) -> bool:
    """Opens a library that registers its creators itself, with stand-ins for those of CUDA's that aren't here; False of
    any other, which loadLibrary takes.

    Args:
        registry: the process's, `getPluginRegistry()`: that is where they go. A builder's finds them there.
        library: its path.

    Raises:
        CheckFailed: it can't be opened, or an init function answers false.
    """
    facts = elf.read(Path(library))
    how = registers_here(facts, rtx=True)
    if how is None:
        return False
    loading.load(Path(library), facts, tensorrt=False)
    registering.opened(library, how.init_functions, "", lambda: len(registry.all_creators))
    return True
