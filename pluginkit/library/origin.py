"""What a library's file says of its origin: which TensorRT it is linked against, and how its creators are reached."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from pluginkit import elf, layouts
from pluginkit.elf import Elf
from pluginkit.layouts import Layout

TENSORRT = re.compile(
    r"lib(?P<name>nvinfer\w*|nvonnxparser|nvparsers|tensorrt_rtx|tensorrt_onnxparser_rtx)\.so(?:\.(?P<major>\d+))?"
)
"""TensorRT's libraries, and TensorRT-RTX's, as DT_NEEDED has them."""
INIT_FUNCTION = re.compile(r"init\w*Plugins")
"""What NVIDIA's libraries and pluginkit's call what registers their creators: `bool (void* logger, char const*
namespace)`, as `initLibNvInferPlugins` of NvInferPlugin.h."""
REGISTRY = "getPluginRegistry"
"""Of libnvinfer: what REGISTER_TENSORRT_PLUGIN calls."""
RTX_LAYOUT = layouts.LAYOUTS[0]
"""In which a library of TensorRT-RTX is asked: IPluginV3 lies alike in all, its registry so since RTX 1.5."""


@dataclass(frozen=True)
class BuiltFor:
    """The TensorRT that a library is linked against.

    Attributes:
        library: its name in DT_NEEDED, as `libnvinfer.so.8`.
        rtx: whether it is TensorRT-RTX.
        major: the major version; None where the name has none.
    """

    library: str
    rtx: bool
    major: int | None

    @property
    def name(self) -> str:
        """For a sentence: `TensorRT 8`."""
        return f"TensorRT{'-RTX' if self.rtx else ''}{'' if self.major is None else f' {self.major}'}"

    @property
    def layout(self) -> Layout | None:
        """That of its classes; None where that isn't known, or none of pluginkit's."""
        if self.rtx:
            return RTX_LAYOUT
        return next((one for one in layouts.LAYOUTS if one.number == self.major), None)


def built_for(facts: Elf) -> BuiltFor | None:
    """The first of TensorRT's libraries that a library needs, libnvinfer before the others; None if it needs none."""
    found = sorted(filter(None, map(TENSORRT.fullmatch, facts.needed)), key=lambda one: one["name"] != "nvinfer")
    if not found:
        return None
    first = found[0]
    return BuiltFor(first[0], first["name"].endswith("_rtx"), None if first["major"] is None else int(first["major"]))


@dataclass(frozen=True)
class Registration:
    """How a library registers its creators itself.

    Attributes:
        on_loading: whether it calls TensorRT's registry, so that it may register them while it is loaded.
        init_functions: those that a program calls for it.
    """

    on_loading: bool
    init_functions: tuple[str, ...]


def beyond_load_library(library: Path) -> str:
    """Why IPluginRegistry::loadLibrary of a process without libnvinfer, as tensorrt-lean's and tensorrt-rtx's, doesn't
    take a library; empty where nothing says so.

    Raises:
        UsageError: as of `elf.read`.
    """
    facts = elf.read(library)
    if registration(facts) is not None:
        return "the library registers its creators itself, and this takes what loadLibrary finds"
    linked = built_for(facts)
    return f"the library is linked against {linked.library}, which this is not" if linked else ""


def registration(facts: Elf) -> Registration | None:
    """How it does so; None where IPluginRegistry::loadLibrary takes it, or where it does not either."""
    names = {one.name for one in facts.exports}
    if "setLoggerFinder" in names and {one.creators_by for one in layouts.LAYOUTS} & names:
        return None
    on_loading = any(one.name == REGISTRY for one in facts.undefined)
    functions = tuple(sorted(name for name in names if INIT_FUNCTION.fullmatch(name)))
    return Registration(on_loading, functions) if on_loading or functions else None


def registers_here(facts: Elf, *, rtx: bool) -> Registration | None:
    """How a library registers its creators in the process of TensorRT-RTX, or of TensorRT; None where loadLibrary takes
    it, or where it is linked against the other."""
    linked = built_for(facts)
    return registration(facts) if linked is None or linked.rtx == rtx else None
