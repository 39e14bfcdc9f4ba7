"""`python -m pluginkit.cuda_cpu.compile --cxx g++ -o x.o [-MD -MF x.d] flags... x.cu`: one source to one object."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pluginkit.cuda_cpu import symbols
from pluginkit.cuda_cpu.rewrite import rewrite
from pluginkit.cuda_cpu.scopes import own_lines
from pluginkit.errors import BuildFailed, PluginkitError, UsageError
from pluginkit.paths import include_dir

SOURCES = (".cu", ".cpp", ".cc", ".cxx")
TAKES_VALUE = frozenset({"-I", "-D", "-U", "-isystem", "-include", "-iquote", "-idirafter", "-MF", "-MT", "-MQ", "-x"})
# Volatile accesses are distinguished; and clang++ reports both halves of x += y.
_CLANG_WATCHES = ("-tsan-distinguish-volatile=1", "-tsan-instrument-read-before-write=1")
_PREPROCESSOR = ("-I", "-D", "-U", "-isystem", "-include", "-iquote", "-idirafter", "-M")
_LIBRARIES = re.compile(
    r'^\s*#\s*include\s*[<"]((?:cublas|cudnn|cufft|cusparse|cusolver|curand|nccl|nvrtc)\w*\.h)', re.MULTILINE
)
_CLUSTERS = re.compile(r"\b(pluginkit_cpu_cluster_dims|this_cluster|cluster_group)\b")
_TENSOR_CORES = re.compile(r'^# \d+ "[^"]*/mma\.h"', re.MULTILINE)
_NO_PRAGMAS = "-Wno-unknown-pragmas"
"""nvcc knows `#pragma unroll`; a loop is as right without it."""


@dataclass
class _Command:
    cxx: str = "g++"
    output: Path | None = None
    source: Path | None = None
    preprocess: list[str] = field(default_factory=list)
    compile: list[str] = field(default_factory=list)


def compile_source(arguments: Sequence[str]) -> None:
    """Compile one source, by the compiler's own command line.

    Raises:
        UsageError: no source or no output is named.
        BuildFailed: the compiler failed (its output went to stderr), or a CUDA function is not there.
    """
    command = _parse(arguments)
    if command.source is None or command.output is None:
        raise UsageError("cuda_cpu.compile needs one source and -o OUTPUT.")
    cuda = command.source.suffix == ".cu"
    prelude = include_dir() / "pluginkit" / "cpu" / "prelude.h"
    target = [] if any(flag.startswith(("-MT", "-MQ")) for flag in command.preprocess) else ["-MT", str(command.output)]
    dependencies = target if any(flag.startswith("-M") for flag in command.preprocess) else []
    defines = ["-DPLUGINKIT_CPU_CUDA_SOURCE"] if cuda else []
    with tempfile.TemporaryDirectory(prefix="pluginkit-cuda-") as folder:
        plain = Path(folder) / f"{command.source.name}.ii"
        headers = ["-isystem", str(include_dir()), "-idirafter", str(prelude.with_name("toolkit"))]
        libraries = f"-I{prelude.with_name('libraries')}"  # before NVIDIA's headers, wherever those are
        ours = [*dependencies, *defines, *headers, "-include", str(prelude)]
        source = [str(command.source), "-o", str(plain)]
        _preprocess(
            [
                command.cxx,
                "-x",
                "c++",
                "-E",
                libraries,
                *command.compile,
                _NO_PRAGMAS,
                *command.preprocess,
                *ours,
                *source,
            ],
            command.source,
        )
        text = plain.read_text(encoding="utf-8", errors="surrogateescape")
        _refuse_tensor_cores(text, command.source)
        _refuse_clusters(text)
        plain.write_text(rewrite(text), encoding="utf-8", errors="surrogateescape")
        options = [*command.compile, *_watches(command), *_for_device_code(command.cxx, text)]
        _run([command.cxx, "-x", "c++-cpp-output", *options, "-c", str(plain), "-o", str(command.output)])
    symbols.rename(command.output, str(command.source), text, [command.cxx, *command.compile])


def _preprocess(command: list[str], source: Path) -> None:
    try:
        _run(command)
    except BuildFailed:
        text = source.read_text(encoding="utf-8", errors="replace") if source.exists() else ""
        if library := _LIBRARIES.search(text):
            raise BuildFailed(
                f"{source} includes {library[1]}: NVIDIA's library is not there on the CPU (target cpu).",
                hint="Leave its use out by #ifndef PLUGINKIT_TARGET_CPU, with C++ instead, or build gpu only. Of "
                "NVIDIA's libraries there are cublas_v2.h, cublasLt.h and cudnn.h (docs/cpu-target.md).",
            ) from None
        raise


def _refuse_tensor_cores(text: str, source: Path) -> None:
    """One sentence in place of the hundreds of errors that the compiler has for nvcuda::wmma."""
    if _TENSOR_CORES.search(text):
        raise BuildFailed(
            f"{source} includes mma.h: CUDA on the CPU (target cpu) has no tensor cores (nvcuda::wmma).",
            hint="Leave its use out by #ifndef PLUGINKIT_TARGET_CPU, with plain C++ instead, or build gpu only.",
        )


def _refuse_clusters(text: str) -> None:
    """As nvcc does for an architecture before 9.0, to which target cpu's device belongs; but in one sentence."""
    for place, line in own_lines(text):
        if found := _CLUSTERS.search(line):
            name = "__cluster_dims__" if found[1].startswith("pluginkit") else found[1]
            raise BuildFailed(
                f"{place}: {name}: CUDA on the CPU (target cpu) has no clusters of blocks; its device has compute "
                f"capability 8.0, and clusters begin at 9.0.",
                hint="Put it between #if __CUDA_ARCH__ >= 900 and #endif, with another kernel without clusters, or "
                "build gpu only.",
            )


def _for_device_code(cxx: str, text: str) -> list[str]:
    """Options without which correct device code would be refused or warned about."""
    # cub's classes declare names anew that they have used before, which g++ takes for an error without the first, and
    # inlined into a kernel they look to g++ as if they used unset values.
    for_cub = ["-fpermissive", "-Wno-maybe-uninitialized"] if "/cub/" in text and "clang" not in Path(cxx).name else []
    return [_NO_PRAGMAS, *for_cub]


def _parse(arguments: Sequence[str]) -> _Command:
    command = _Command()
    rest = list(arguments)
    while rest:
        flag = rest.pop(0)
        value = [rest.pop(0)] if flag in TAKES_VALUE and rest else []
        if flag == "--cxx":
            command.cxx = rest.pop(0)
        elif flag == "-o":
            command.output = Path(rest.pop(0))
        elif flag in {"-x", "-c"}:
            continue
        elif flag.startswith(_PREPROCESSOR):
            command.preprocess += [flag, *value]
        elif flag.endswith(SOURCES) and not flag.startswith("-"):
            command.source = Path(flag)
        else:
            command.compile += [flag, *value]
    return command


def _watches(command: _Command) -> list[str]:
    """What the checks of memory accesses need besides the compiler's option for them."""
    if "-fsanitize=thread" not in command.compile:
        return []
    if "clang" in Path(command.cxx).name:
        return [flag for option in _CLANG_WATCHES for flag in ("-mllvm", option)]
    return ["--param=tsan-distinguish-volatile=1"]


def _run(command: list[str]) -> None:
    # The compiler's output goes to our stderr as they are, colours included.
    if subprocess.run(command, check=False).returncode:
        raise BuildFailed("")


def main() -> int:
    """The command line; the exit code."""
    try:
        compile_source(sys.argv[1:])
    except PluginkitError as error:
        if error.message:
            sys.stderr.write(f"error: {error.message}\n" + (f"  fix: {error.hint}\n" if error.hint else ""))
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
