"""CUDA C++ on the CPU, by hand: compiles .cu and .cpp sources and links them with the runtime.

    python -m pluginkit.cuda_cpu -O2 -g -o reduce reduce.cu main.cpp               # a program
    python -m pluginkit.cuda_cpu -O2 -g -shared -fPIC -o libreduce.so reduce.cu    # a library
    python -m pluginkit.cuda_cpu -O2 -g -c -o reduce.o reduce.cu                   # an object, not linked
    python -m pluginkit.cuda_cpu -O1 -g -fsanitize=thread -o reduce reduce.cu      # with checks

Takes what a compiler takes: options for g++ (or, by --cxx CXX, another one), sources, objects and libraries.
-fsanitize=address and undefined are the compiler's; -fsanitize=thread stands for the checks for races and for memory
that was never written (PLUGINKIT_CPU_CHECK=thread or memory selects one). docs/cpu-target.md has the rest.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pluginkit.build.toolchain import cuda_include_dirs
from pluginkit.cuda_cpu.compile import SOURCES, TAKES_VALUE, compile_source
from pluginkit.errors import BuildFailed, PluginkitError, UsageError
from pluginkit.paths import built_dir

_LINK_ONLY = (".o", ".a", ".so", "-l", "-L", "-Wl,")
_WATCHED = "-fsanitize=thread"
"""Of the compiler's only the instrumentation is taken; the runtime stands in libtsan's place."""


def build(arguments: Sequence[str]) -> None:
    """Compile the sources and link them with the runtime.

    Raises:
        UsageError: no source or no output is named, or several sources for one object.
        BuildFailed: the compiler or the linker failed; its output went to stderr.
    """
    cxx, output, sources, options, link = _parse(arguments)
    if not sources or output is None:
        raise UsageError(
            "python -m pluginkit.cuda_cpu needs sources and -o OUTPUT.",
            hint="python -m pluginkit.cuda_cpu --help shows how it is called.",
        )
    compile_only = "-c" in options
    if compile_only and len(sources) > 1:
        raise UsageError(
            f"-c makes one object, and {len(sources)} sources are named: {', '.join(sources)}.",
            hint="Call it once for each source, or leave -c out to link them.",
        )
    options = [each for each in options if each != "-c"]
    headers = [f"-isystem{folder}" for folder in cuda_include_dirs()]
    if "clang" not in Path(cxx).name:
        options.insert(0, "-fno-gnu-unique")  # a unique name would keep a library loaded for good
    watched = _WATCHED in options
    own = ["-DPLUGINKIT_CPU_CHECKED"] if watched else []
    with tempfile.TemporaryDirectory(prefix="pluginkit-cuda-") as folder:
        objects = []
        for number, source in enumerate(sources):
            objects.append(output if compile_only else str(Path(folder) / f"{number}.o"))
            compile_source(["--cxx", cxx, "-fPIC", *options, *own, *headers, "-o", objects[-1], source])
        if compile_only:
            return
        archive = built_dir() / f"libpluginkit_cpu{'_checked' * watched}.a"
        runtime = ["-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive"]
        linked = [each for each in options if each != _WATCHED]
        command = [cxx, *linked, *objects, *link, *runtime, "-pthread", "-ldl", "-lrt", "-o", output]
        if subprocess.run(command, check=False).returncode:
            raise BuildFailed("")


def _parse(arguments: Sequence[str]) -> tuple[str, str | None, list[str], list[str], list[str]]:
    cxx, output = "g++", None
    sources: list[str] = []
    options: list[str] = []
    link: list[str] = []
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument in {"-o", "--cxx"} and rest:
            value = rest.pop(0)
            cxx, output = (value, output) if argument == "--cxx" else (cxx, value)
        elif argument in TAKES_VALUE and rest:
            options += [argument, rest.pop(0)]
        elif not argument.startswith("-") and argument.endswith(SOURCES):
            sources.append(argument)
        elif argument.startswith(_LINK_ONLY[3:]) or (
            not argument.startswith("-") and argument.endswith(_LINK_ONLY[:3])
        ):
            link.append(argument)
        else:
            options.append(argument)
    if not any(each.startswith("-std=") for each in options):
        options.insert(0, "-std=c++17")
    return cxx, output, sources, options, link


def main() -> int:
    """The command line; the exit code."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        sys.stdout.write((__doc__ or "").replace("`", ""))
        return 0
    try:
        build(sys.argv[1:])
    except PluginkitError as error:
        if error.message:
            sys.stderr.write(f"error: {error.message}\n" + (f"  fix: {error.hint}\n" if error.hint else ""))
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
