"""Checks of the library's file, which isn't loaded: what it exports, needs and contains."""

from __future__ import annotations

from collections.abc import Callable

from pluginkit.host import Finding
from pluginkit.library import Inspection
from pluginkit.validation.catalog import CHECKS, Kind, NothingToCheck, check

REGISTRY = "NVIDIA's registry (tensorrt-lean, TensorRT-RTX)"


def _of_file(name: str, title: str = "", *, level: int, fix: str, kind: Kind | None = None, source: str = "") -> None:
    """A check of what `pluginkit inspect` finds under that id."""
    entry = check(name, title, group="library", level=level, fix=fix, source=source, kind=kind, need="file")
    entry(_problems(name))


def _problems(name: str) -> Callable[[Inspection], None]:
    def ask(found: Inspection) -> None:
        if name == "B11" and found.gpu is None:
            raise NothingToCheck("it has no GPU code")
        for one in found.problems:
            if one.rule == name and one.level == "warning" and CHECKS[name].kind == "contract":
                raise NothingToCheck(one.text)
            if one.rule == name:
                raise Finding("", one.text, rule=name, hint=one.fix)

    return ask


_of_file(
    "B3",
    level=1,
    fix="Put PLUGINKIT_PLUGINS(...) of <pluginkit/entry.h> into one source file.",
)
_of_file(
    "B12",
    "The libraries and versions that it needs are here.",
    level=1,
    kind="contract",
    source="dlopen(3): a library whose needs are not met is not loaded",
    fix="Install or link what is missing; build on the oldest system that it is to run on.",
)
_of_file(
    "B2",
    "It is linked against no library of TensorRT.",
    level=1,
    kind="robustness",
    source="no document; DT_NEEDED has the major version in its name, so that other hosts can't load it",
    fix="Link no library of TensorRT: what a plugin needs comes by setLoggerFinder and getCreators.",
)
_of_file(
    "B11",
    "Its GPU code has PTX of the last architecture.",
    level=2,
    kind="robustness",
    source="CUDA C++ Programming Guide, Binary Compatibility: cubins run on GPUs of the same major version",
    fix="pluginkit build --target gpu --arch NN puts PTX of the last architecture in.",
)
_of_file(
    "B19",
    "It exports no C++ names, and none that are unique in the process.",
    level=3,
    kind="robustness",
    source="no document; of two libraries with the same names one gets the other's code",
    fix="Compile with -fvisibility=hidden -fvisibility-inlines-hidden -fno-gnu-unique.",
)
_of_file(
    "B20",
    "Its rpath and SONAME fit any machine.",
    level=3,
    kind="robustness",
    source="no document; ld.so(8) looks into the rpath's folders first",
    fix="Use $ORIGIN, and keep the file's name.",
)
_of_file(
    "B21",
    "It needs no CUDA library of one version.",
    level=3,
    kind="robustness",
    source="no document; where that version is missing it does not load",
    fix="Link CUDA's runtime statically (CMake: CUDA_RUNTIME_LIBRARY Static).",
)
