"""`python -m pluginkit.cuda_cpu -o reduce reduce.cu main.cpp`: a program that runs on the CPU; a library with -shared.

Takes what a compiler takes: options for g++ (or, by --cxx, another one), sources (.cu and .cpp), objects and libraries.
For trying a file; plugins are built by `pluginkit build`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pluginkit import built_dir
from pluginkit.build.toolchain import cuda_include_dirs
from pluginkit.cuda_cpu.compile import SOURCES, TAKES_VALUE, compile_source
from pluginkit.errors import BuildFailed, PluginkitError, UsageError

_LINK_ONLY = (".o", ".a", ".so", "-l", "-L", "-Wl,")


def build(arguments: Sequence[str]) -> None:
    """Compile the sources and link them with the runtime.

    Raises:
        UsageError: no source or no output is named.
        BuildFailed: the compiler or the linker said no; its words went to stderr.
    """
    cxx, output, sources, options, link = _parse(arguments)
    if not sources or output is None:
        raise UsageError("python -m pluginkit.cuda_cpu needs sources and -o OUTPUT.")
    headers = [f"-isystem{folder}" for folder in cuda_include_dirs()]
    if "clang" not in Path(cxx).name:
        options.insert(0, "-fno-gnu-unique")  # a unique name would keep a library loaded for good
    with tempfile.TemporaryDirectory(prefix="pluginkit-cuda-") as folder:
        objects = []
        for number, source in enumerate(sources):
            objects.append(str(Path(folder) / f"{number}.o"))
            compile_source(["--cxx", cxx, "-fPIC", *options, *headers, "-o", objects[-1], source])
        runtime = ["-Wl,--whole-archive", str(built_dir() / "libpluginkit_cpu.a"), "-Wl,--no-whole-archive"]
        command = [cxx, *options, *objects, *link, *runtime, "-pthread", "-ldl", "-lrt", "-o", output]
        if subprocess.run(command, check=False).returncode:
            raise BuildFailed("")


def _parse(arguments: Sequence[str]) -> tuple[str, str | None, list[str], list[str], list[str]]:
    cxx, output = "g++", None
    sources: list[str] = []
    options: list[str] = []
    link: list[str] = []
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word in {"-o", "--cxx"} and rest:
            value = rest.pop(0)
            cxx, output = (value, output) if word == "--cxx" else (cxx, value)
        elif word in TAKES_VALUE and rest:
            options += [word, rest.pop(0)]
        elif not word.startswith("-") and word.endswith(SOURCES):
            sources.append(word)
        elif word.startswith(_LINK_ONLY[3:]) or (not word.startswith("-") and word.endswith(_LINK_ONLY[:3])):
            link.append(word)
        else:
            options.append(word)
    if not any(each.startswith("-std=") for each in options):
        options.insert(0, "-std=c++17")
    return cxx, output, sources, options, link


def main() -> int:
    """The command line; the exit code."""
    try:
        build(sys.argv[1:])
    except PluginkitError as error:
        if error.message:
            sys.stderr.write(f"error: {error.message}\n" + (f"  fix: {error.hint}\n" if error.hint else ""))
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
