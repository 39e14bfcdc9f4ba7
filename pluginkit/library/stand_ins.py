"""Which functions of NVIDIA's libraries a library needs that isn't on this machine, so that a stand-in has them.

TensorRT's own libraries have one in any case: a library that registers itself is to do so with pluginkit's host.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pluginkit import elf
from pluginkit.elf import Elf, ElfSymbol
from pluginkit.errors import UsageError
from pluginkit.library import linkage
from pluginkit.library.origin import REGISTRY, TENSORRT

DRIVER = "libcuda.so.1"
DRIVER_ENTRIES = ("cuInit", "cuDriverGetVersion", "cuGetProcAddress", "cuGetProcAddress_v2", "cuGetExportTable")
"""What CUDA's runtime, linked statically, looks for in the driver before all else."""
NVIDIA = re.compile(r"lib(cu[a-zA-Z]+|nv\w+|npp\w+|nccl)\.so(\.\d+)*")
"""CUDA's libraries and those beside it."""
_SYSTEM = re.compile(r"(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|ld-linux[\w-]*)\.so\.\d+")
"""They need nothing of NVIDIA's, and their symbols have versions."""
OF_TENSORRT = frozenset(
    {REGISTRY, "getBuilderPluginRegistry", "getLogger", "createInferBuilder_INTERNAL", "createInferRuntime_INTERNAL"}
    | {f"getInferLib{part}Version" for part in ("", "Major", "Minor", "Patch", "Build")}
    | {"createInferRefitter_INTERNAL"}
)
"""What libnvinfer exports for others."""
_PREFIXES = {"cudart": ("cuda", "__cuda"), "cuda": ("cu",), "nvJitLink": ("nvJitLink", "__nvJitLink")}
"""How the functions of a library begin, where not as its name."""
ANSWERS = {"cudart": 100, "cuda": 100, "nvinfer": 0, "tensorrt_rtx": 0}
"""What a function of a library that isn't there answers: cudaErrorNoDevice and CUDA_ERROR_NO_DEVICE, null, and 1 of all
other libraries, which is not success of any."""


@dataclass(frozen=True)
class StandIn:
    """A library that a stand-in takes the place of.

    Attributes:
        name: as DT_NEEDED has it, as `libnvinfer.so.8`.
        functions: what is needed of it, each with its version.
        linked: whether anything names it; else its functions are undefined where the library is opened.
    """

    name: str
    functions: tuple[ElfSymbol, ...]
    linked: bool

    @property
    def tensorrt(self) -> bool:
        """Whether it is one of TensorRT's."""
        return TENSORRT.fullmatch(self.name) is not None

    @property
    def answer(self) -> int:
        """What its functions answer."""
        return ANSWERS.get(_stem(self.name), 1)


def needed(library: Path, facts: Elf) -> tuple[StandIn, ...]:
    """The stand-ins without which a library can't be loaded here; empty where it needs none."""
    walked = list(_walk(library, facts))
    absent: dict[str, list[ElfSymbol]] = {name: [] for _, _, names in walked for name in names}
    linked = set(absent)
    defined = {symbol.name for _, one, _ in walked for symbol in one.exports}
    for _, one, _ in walked:
        for symbol in one.undefined:
            # A version names its library.
            if symbol.file:
                where = symbol.file if symbol.file in absent else ""
            else:
                where = (
                    ""
                    if symbol.binding == "STB_WEAK" or symbol.name in defined
                    else _nvidia_library(symbol.name, absent)
                )
            if where:
                absent.setdefault(where, []).append(symbol)
    if absent and linkage.find(DRIVER) is None:
        if DRIVER not in absent:
            linked.add(DRIVER)
        absent.setdefault(DRIVER, []).extend(ElfSymbol(name, "STB_GLOBAL") for name in DRIVER_ENTRIES)
    return tuple(StandIn(name, tuple(dict.fromkeys(found)), name in linked) for name, found in absent.items())


def _walk(library: Path, facts: Elf) -> Iterator[tuple[Path, Elf, list[str]]]:
    """A library and those that it needs, each with the names of NVIDIA's that have a stand-in."""
    left, seen = [(library, facts)], {library.resolve()}
    while left:
        path, one = left.pop(0)
        absent = []
        for name in one.needed:
            found = None if TENSORRT.fullmatch(name) else linkage.find_for(name, path, one.runpath)
            if found is None:
                absent += [name] if NVIDIA.fullmatch(name) or TENSORRT.fullmatch(name) else []
            elif not _SYSTEM.fullmatch(name) and found.resolve() not in seen:
                seen.add(found.resolve())
                try:
                    left.append((found, elf.read(found)))
                except UsageError:
                    continue
        yield path, one, absent


def _nvidia_library(name: str, absent: dict[str, list[ElfSymbol]]) -> str:
    """The library that a function without a version is of; empty where it is not one of NVIDIA's."""
    tensorrt = [one for one in absent if TENSORRT.fullmatch(one)]
    if name in OF_TENSORRT:
        return tensorrt[0] if tensorrt else "libnvinfer.so"
    begun = {
        one: max((len(start) for start in _starts(one) if name.startswith(start)), default=0)
        for one in absent
        if one not in tensorrt
    }
    best = max(begun, key=lambda one: begun[one], default="")
    if best and begun[best]:
        return best
    if re.match(r"cu[A-Z]", name):
        return DRIVER
    # A name of C++, or of a library with names of many kinds.
    return next(iter([*tensorrt, *absent]), "")


def _starts(library: str) -> tuple[str, ...]:
    stem = _stem(library)
    return _PREFIXES.get(stem, (stem,))


def _stem(library: str) -> str:
    return library.removeprefix("lib").partition(".so")[0]
