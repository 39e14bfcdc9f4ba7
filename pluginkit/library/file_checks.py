"""Checks of a library's file; each problem has a fix."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pluginkit import layouts
from pluginkit.elf import Elf
from pluginkit.library.build_record import BuildRecord
from pluginkit.library.gpu_code import GpuCodes
from pluginkit.library.linkage import Linkage
from pluginkit.library.origin import TENSORRT, BuiltFor, Registration, built_for, registration
from pluginkit.library.problem import Problem
from pluginkit.library.stand_ins import DRIVER, NVIDIA, OF_TENSORRT

SHOWN = 4
"""How many names of a long list are shown; --json has all."""
_ENTRY = "Put PLUGINKIT_PLUGINS(...) of <pluginkit/entry.h> into one source file."
_LOADED = "Nothing where a program loads it so. For loadLibrary it exports getCreators and setLoggerFinder."
_STANDARD = re.compile(r"_Z(GV|T[VIST]|[ZNKV])*(S[a-z]|9__gnu_cxx)|_Zn[wa]mPv$|_Zd[la]PvS_$")
"""Names of the standard library, its placement new and delete included."""
_STANDARD_INSIDE = " The C++ standard library is linked in from its archive: hide that by -Wl,--exclude-libs,ALL."
_WITHOUT_CUDA = (
    ": what calls it runs only where it is; pluginkit's host has a stand-in, which answers that there is no GPU."
)
_AGAIN = (
    " For another major version it is to be compiled again: the V2 classes and the registry of 8, 10 and 11 differ."
)
_RUNTIMES = re.compile(r"libcudart\.so|libcublas\w*\.so|libcudnn\w*\.so")


def of_exports(facts: Elf) -> Iterator[Problem]:
    """Entries that hosts look for (rule B3), and C++ names that would meet others of the same name."""
    names = {symbol.name for symbol in facts.exports}
    gives = {one.creators_by for one in layouts.LAYOUTS}
    missing = [] if gives & names else [layouts.LAYOUTS[0].creators_by]
    if "setLoggerFinder" not in names:
        missing.append("setLoggerFinder")
    how = registration(facts)
    if missing:
        text = f"It does not export {' and '.join(missing)}: IPluginRegistry::loadLibrary takes it in no TensorRT."
        if how is None:
            yield Problem("error", text, _ENTRY, "B3")
        else:
            yield Problem("warning", f"{text} {_registers(how, built_for(facts))}", _LOADED, "B3")
    # libstdc++ has this function once: whoever exports it has its archive inside, whatever flags its own code has.
    inside = _STANDARD_INSIDE if "__cxa_throw" in names else ""
    # What is instantiated of the standard library is the same in all that are compiled alike.
    mangled = sorted(name for name in names if name.startswith("_Z") and not _STANDARD.match(name))
    if mangled:
        yield Problem(
            "warning",
            f"It exports {len(mangled)} C++ symbols ({_some(mangled)}): of two libraries with the same names one would "
            "get the other's code.",
            "Compile with -fvisibility=hidden -fvisibility-inlines-hidden; pluginkit_add_plugin() exports three names."
            + inside,
            "B19",
        )
    unique = [symbol.name for symbol in facts.exports if symbol.binding == "STB_LOOS"]
    if unique:
        yield Problem(
            "warning",
            f"{len(unique)} of its symbols are unique in the process ({_some(unique)}): it is never unloaded.",
            f"Compile with -fno-gnu-unique.{inside}",
            "B19",
        )


def of_linkage(path: Path, facts: Elf, linkage: Linkage) -> Iterator[Problem]:
    """Libraries that are missing, too old or of the wrong kind; symbols that are nowhere defined (rules B1, B2, B12,
    B20, B21)."""
    linked = built_for(facts)
    for one in linkage.needed:
        if one.path is None and not TENSORRT.fullmatch(one.name):
            cuda = NVIDIA.fullmatch(one.name) is not None
            yield Problem(
                "warning" if cuda else "error",
                f"It needs {one.name}, which is not found here{_WITHOUT_CUDA if cuda else '.'}",
                "Install it, or put it on LD_LIBRARY_PATH.",
                "B12",
            )
        if linked and one.name == linked.library:
            yield _of_tensorrt(linked, here=one.path is not None)
        elif _RUNTIMES.match(one.name):
            yield Problem(
                "warning",
                f"It is linked against {one.name} dynamically: where that version is missing it does not load.",
                "Link CUDA's runtime statically (nvcc --cudart static; CMake: CUDA_RUNTIME_LIBRARY Static).",
                "B21",
            )
    for name, version in linkage.too_old:
        yield Problem(
            "error",
            f"It needs {version} of {name}, which is newer than what is here.",
            "Build it on the oldest system that it is to run on.",
            "B12",
        )
    # Of what registers itself B3 says what it needs.
    own = () if registration(facts) is None else OF_TENSORRT
    unresolved = tuple(name for name in linkage.unresolved if name not in own)
    if unresolved:
        yield Problem(
            "error",
            f"{len(unresolved)} undefined symbols are in no library that it names: {_some(unresolved)}.",
            _for_symbols(unresolved),
            "B1",
        )
    for folder in facts.runpath:
        if not folder.startswith("$"):
            yield Problem(
                "warning",
                f"Its rpath names a folder of the machine that built it: {folder}.",
                "Use $ORIGIN, or link with -Wl,--disable-new-dtags and no -rpath.",
                "B20",
            )
    if facts.soname and facts.soname != path.name:
        yield Problem(
            "warning",
            f"Its SONAME is {facts.soname}, the file's name {path.name}: a process that has both loads one.",
            "Keep the file's name, or relink it.",
            "B20",
        )


def of_gpu_code(codes: GpuCodes | None) -> Iterator[Problem]:
    """Fat binaries of unknown form, and code that later GPUs cannot run (rule B11)."""
    if codes is None:
        return
    if not codes.known:
        yield Problem(
            "warning",
            "It has GPU code in a form that pluginkit does not know, so the architectures shown may not be all.",
            "cuobjdump --list-elf --list-ptx shows them.",
        )
    if codes.codes and not any(code.kind == "PTX" for code in codes.codes):
        newest = max(code.arch for code in codes.codes)
        yield Problem(
            "warning",
            f"It has machine code only, up to sm_{newest}, and no PTX: GPUs of a later major version cannot run it.",
            "pluginkit build --target gpu --arch NN puts PTX of the last architecture in.",
            "B11",
        )


def of_manifest(path: Path, record: BuildRecord | None, target: str, codes: GpuCodes | None) -> Iterator[Problem]:
    """A JSON file next to the library that is about another file."""
    if record is None:
        return
    again = "pluginkit build"
    if record.content is None:
        yield Problem("warning", f"{record.path.name} beside it cannot be read as JSON.", again)
    elif not record.same:
        recorded = str(record.content.get("sha256", "none"))
        yield Problem(
            "error",
            f"{record.path.name} beside it is about another file: its hash is {recorded[:12]}..., so {path.name} was "
            "changed or replaced after it was built.",
            again,
        )
    else:
        if record.content.get("target") not in (target, None) and target != "unknown":
            recorded = str(record.content["target"])
            yield Problem("error", f"{record.path.name} says target {recorded}, the file is of target {target}.", again)
        said_archs = [re.match(r"\d+", one) for one in record.content.get("architectures", [])]
        listed = {int(digits[0]) for digits in said_archs if digits}
        if codes and codes.known and (lost := listed - {code.arch for code in codes.codes}):
            text = ", ".join(f"sm_{arch}" for arch in sorted(lost))
            yield Problem("error", f"{record.path.name} promises code for {text}, which is not in it.", again)


def _registers(how: Registration, linked: BuiltFor | None) -> str:
    """How a program gets the creators of a library that registers them."""
    functions = f"calls {_some(how.init_functions)} of it, which registers its creators"
    if not how.on_loading:
        return f"A program {functions}."
    library = linked.library if linked else "libnvinfer"
    then = f", and {functions}" if how.init_functions else ""
    return (
        f"It calls getPluginRegistry: a program opens it (dlopen, ctypes.CDLL, LD_PRELOAD) with {library} there{then}; "
        "opening it registers what its static objects register."
    )


def _of_tensorrt(linked: BuiltFor, *, here: bool) -> Problem:
    absent = "" if here else f" {linked.library} is not on this machine: pluginkit's host has a stand-in for it."
    again = _AGAIN if linked.layout and not linked.rtx else ""
    return Problem(
        "warning",
        f"It is linked against {linked.library}, so it was built for {linked.name}: only a process with that very "
        f"library can use it.{absent}",
        f"Link no library of TensorRT: PLUGINKIT_PLUGINS needs none.{again}",
        "B2",
    )


def _for_symbols(names: tuple[str, ...]) -> str:
    if OF_TENSORRT & set(names):
        return "They are libnvinfer's: use PLUGINKIT_PLUGINS instead of REGISTER_TENSORRT_PLUGIN."
    if all(re.match(r"cu[A-Z]", name) for name in names):
        return f"They are those of CUDA's driver: link it (-lcuda), so that {DRIVER} is loaded with it."
    if any(re.match(r"cu(da|blas|dnn|[A-Z])", name) for name in names):
        return "They are CUDA's: link its runtime statically, or the library that has them."
    return "Link what has them: -Wl,--no-undefined shows at build what is missing."


def _some(names: list[str] | tuple[str, ...]) -> str:
    more = f", and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
