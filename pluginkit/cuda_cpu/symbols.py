"""What an object calls: CUDA's functions, renamed to our runtime's, or refused by name; and what is missing of PTX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from operator import itemgetter
from pathlib import Path

from pluginkit.cuda_cpu import PREFIX, RUNTIME_DIR
from pluginkit.cuda_cpu.ptx.instructions import MISSING
from pluginkit.cuda_cpu.ptx.translation import read_missing
from pluginkit.cuda_cpu.scopes import own_lines
from pluginkit.errors import BuildFailed, PluginkitError, ToolMissing
from pluginkit.process.programs import run

_CUDA = re.compile(r"(?:cuda|cu|cublas|cublasLt|cudnn|curand|cusparse|cusolver|cufft|nvrtc|nccl)[A-Z]\w*\Z")
_OF_THE_C_LIBRARY = frozenset({"__assert_fail", "_ZNSt6chrono3_V212system_clock3nowEv"})
"""Renamed too: in a kernel they mean something else."""
_OF_CUDAS_HEADERS = frozenset({"__nvvm_get_smem_pointer"})
"""nvcc's own functions that CUDA's headers call, here the runtime's."""
_NEWER = re.compile(r"__cuda_ptx_(\w+?)_is_(?:not_supported_before|only_supported_on)_SM_(\d+)a?_\w*\Z")
"""What cuda::ptx calls in place of an instruction that the architecture lacks: TMA's, and waiting for them."""
_MEMORY = frozenset({"memcpy", "memmove", "memset"})
"""What code compiled with the checks of memory accesses calls without a word of it: the functions must be ours."""
_FETCH = re.compile(r"_Z(\d+)((?:tex|surf)[123C]\w+)")
"""A fetch from a texture or surface, mangled: textures.h declares them as templates."""
_ADVICE = (
    (r"cublas|cudnn|cufft|cusparse|cusolver|curand|nccl", "NVIDIA's libraries of kernels run on a GPU only"),
    (r"cu[A-Z]|nvrtc", "CUDA's driver and compiler interfaces work on a GPU only"),
    (r"cudaGraph(?!ics)|cudaStream\w*Capture", "graphs and stream capture are of a GPU only"),
    (r"\w*(?:Texture|Surface|Array)|tex|surf", "textures, surfaces and arrays aren't there; read through a pointer"),
    (r"\w*(?:Mipmapped|External|Ipc|Graphics|GL|EGL)", "what is shared with graphics or other processes isn't there"),
)


@cache
def provided() -> frozenset[str]:
    """The CUDA functions that the runtime has, read from its sources."""
    names: set[str] = set()
    for file in sorted(RUNTIME_DIR.glob("*.cpp")):
        text = file.read_text(encoding="utf-8")
        # A file has the functions of a family as one macro, which it calls with each family's letter.
        letters = re.findall(r"^ +PLUGINKIT_CPU_\w+\((\w), \w+\)$", text, re.MULTILINE)
        for name in re.findall(rf"\b{PREFIX}((?:cuda|cublas|cudnn)[\w#]+)\(", text):
            names |= {name.replace("##letter##", letter) for letter in letters} if "#" in name else {name}
    return frozenset(names)


def rename(obj: Path, source: str, text: str, compiler: Sequence[str]) -> None:
    """Give every CUDA function that `obj` calls the runtime's name, in place; without success there is no `obj`.

    Args:
        obj: the object.
        source: the file that it was compiled from, for the user.
        text: its preprocessed source.
        compiler: the command that compiled it: the compiler and those of its options that may name another machine.

    Raises:
        BuildFailed: it calls one, or has an instruction of inline PTX, that target cpu does not have; all are named.
            Or nm or objcopy failed.
        ToolMissing: there is no nm or no objcopy.
    """
    try:
        _rename(obj, source, text, compiler)
    except PluginkitError:
        # With its CUDA names as they are it would link, and call a real CUDA runtime of the process.
        obj.unlink(missing_ok=True)
        raise


def _rename(obj: Path, source: str, text: str, compiler: Sequence[str]) -> None:
    listing = _binutil(compiler, "nm", "-u", "-P", str(obj))
    undefined = set(re.findall(r"^(\S+)", listing, re.MULTILINE))
    called = {name for name in undefined if _CUDA.match(name)}
    fetches = {found[2][: int(found[1])] for found in map(_FETCH.match, undefined) if found}
    if missing := sorted((called - provided()) | fetches):
        raise BuildFailed(
            f"{source} calls {', '.join(missing)}, which CUDA on the CPU (target cpu) does not have."
            + "".join(f"\n  {place}: {name}" for name, place in _calls(missing, text).items()),
            hint=_hint(missing),
        )
    if instructions := {read_missing(name) for name in undefined if name.startswith(MISSING)}:
        obj.unlink()
        listed = "".join(f"\n  {place}: {mnemonic}" for mnemonic, place in sorted(instructions, key=itemgetter(1, 0)))
        raise BuildFailed(
            f"{source} has inline PTX that CUDA on the CPU (target cpu) does not have:{listed}",
            hint="docs/cpu-target.md lists what it has. Add plain C++ by #ifdef PLUGINKIT_TARGET_CPU, "
            "or build gpu only.",
        )
    if newer := sorted({(found[1], found[2]) for found in map(_NEWER.match, undefined) if found}):
        obj.unlink()
        listed = "".join(
            f"\n  cuda::ptx::{name}, of compute capability {major[:-1]}.{major[-1]}" for name, major in newer
        )
        raise BuildFailed(
            f"{source} uses instructions that CUDA on the CPU (target cpu, compute capability 8.0) does not have:"
            f"{listed}",
            hint="Put them (TMA, barriers that count its bytes) between #if __CUDA_ARCH__ >= 900 and #endif, with "
            "plain copies for cpu, or build gpu only.",
        )
    watched = any(name.startswith("__tsan_") for name in undefined)
    others = _OF_THE_C_LIBRARY | _OF_CUDAS_HEADERS | (_MEMORY if watched else frozenset())
    ours = sorted(called | (undefined & others))
    if ours:
        _binutil(compiler, "objcopy", *[f"--redefine-sym={name}={PREFIX}{name}" for name in ours], str(obj))


def _binutil(compiler: Sequence[str], name: str, *arguments: str) -> str:
    """Run that nm or objcopy which belongs to the compiler, so also one for another machine; what it wrote.

    https://gcc.gnu.org/onlinedocs/gcc/Developer-Options.html (-print-prog-name); clang++ has it too.
    """
    asked = run([*compiler, f"-print-prog-name={name}"])
    if not asked.ok or not asked.stdout.strip():
        raise BuildFailed(
            f"{compiler[0]} does not say which {name} it uses: {asked}.\n{asked.stderr.strip()}",
            hint="Give a g++ or clang++ by $CXX; pluginkit info lists those that can be used.",
        )
    try:
        done = run([asked.stdout.strip(), *arguments])
    except ToolMissing as error:
        raise ToolMissing(error.message, hint=f"{name} comes with binutils: apt install binutils") from error
    if not done.ok:
        message = done.stderr.strip() or "It printed nothing."
        raise BuildFailed(
            f"{done.command[0]} ended with {done.status} on {arguments[-1]}:\n{message}",
            hint=f"{name} must be of the machine that {compiler[0]} compiles for: install that machine's binutils.",
        )
    return done.stdout


def _calls(names: list[str], text: str) -> dict[str, str]:
    """Where the user's sources first call each; a name without a place is called by a macro or a header."""
    # A name or a type before it makes it a declaration.
    call = re.compile(rf"(?:(?<=return )|(?<![\w*&] ))\b({'|'.join(names)})\s*(?:<[^<>;]*>\s*)?\(")
    places: dict[str, str] = {}
    for place, line in own_lines(text):
        for found in call.finditer(line):
            places.setdefault(found[1], place)
    return places


def _hint(missing: list[str]) -> str:
    advice = [text for pattern, text in _ADVICE if any(re.match(pattern, name) for name in missing)]
    first = f"{advice[0][0].upper()}{advice[0][1:]}: " if advice else ""
    return (
        f"{first}build target gpu only, or leave the call out by #ifndef PLUGINKIT_TARGET_CPU. "
        "docs/cpu-target.md lists what there is."
    )
