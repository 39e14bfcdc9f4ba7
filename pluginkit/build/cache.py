"""CMake's cache variables for a build.

`pluginkit build` passes it everything (`settings`). A user who calls CMake by hand has chosen the compiler already,
so pluginkit-config.cmake asks only for what was found: `python -m pluginkit.build.cache TARGET` prints that as a CMake
script, in which what is set already stays.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence

import pybind11

from pluginkit import layouts
from pluginkit.build import python_module, toolchain
from pluginkit.errors import PluginkitError
from pluginkit.paths import __version__, built_dir, cmake_dir


def settings(
    target: str,
    *,
    archs: Sequence[str] = (),
    werror: bool = False,
    sanitize: Sequence[str] = (),
    chosen: Sequence[layouts.LayoutNumber] = layouts.DEFAULT,
) -> dict[str, str]:
    """CMake's cache variables for a target; `sanitize` are the checks to be compiled in on target cpu, or
    `coverage`, which takes clang++.

    Raises:
        ToolMissing: no usable compiler, or no CUDA headers.
        UsageError: a GPU architecture that nvcc doesn't know.
    """
    cxx = (toolchain.clang_compiler() if "coverage" in sanitize else toolchain.cxx_compiler()).best()
    values = {
        "CMAKE_CXX_COMPILER": str(cxx.path),
        "pluginkit_DIR": str(cmake_dir()),
        "PLUGINKIT_PYTHON": sys.executable,
        "PLUGINKIT_TARGET": target,
        # CMake would read these once, and keep them when they change.
        "CMAKE_CXX_FLAGS": os.environ.get("CXXFLAGS", ""),
        "PLUGINKIT_WERROR": "ON" if werror else "OFF",
        # Nothing reads it: with it a tool that was upgraded in its place is noticed.
        "PLUGINKIT_TOOLS": f"pluginkit {__version__}, {cxx.note} {cxx.version}",
    }
    if target == "gpu":
        nvcc = toolchain.nvcc().best()
        values["CMAKE_CUDA_HOST_COMPILER"] = values["CMAKE_CXX_COMPILER"]
        values["PLUGINKIT_TOOLS"] += f", nvcc {nvcc.version}"
    else:
        values["PLUGINKIT_SANITIZE"] = ";".join(sanitize)
    return {**values, **found(target, archs, chosen)}


def found(
    target: str, archs: Sequence[str] = (), chosen: Sequence[layouts.LayoutNumber] = layouts.DEFAULT
) -> dict[str, str]:
    """CMake's cache variables for what is on this machine, whichever compiler the C++ sources go through.
    `chosen` are the layouts of TensorRT's plugin classes that libraries hold.

    Raises:
        ToolMissing: no usable nvcc for target gpu, or no CUDA headers.
        UsageError: a GPU architecture that nvcc doesn't know.
    """
    sdk = toolchain.sdk_headers()
    values = {
        "PLUGINKIT_FOUND_FOR": target,
        "PLUGINKIT_KNOWN_LAYOUTS": ";".join(map(str, layouts.NUMBERS)),
        "PLUGINKIT_LAYOUTS": ";".join(map(str, chosen)),
        **{f"PLUGINKIT_TRT{one}_INCLUDE_DIR": str(sdk.get(one, "")) for one in layouts.NUMBERS},
        **{f"PLUGINKIT_CREATORS_BY_{one.number}": one.creators_by for one in layouts.LAYOUTS},
        "PLUGINKIT_PYTHON_INCLUDE_DIR": str(python_module.headers() or ""),
        "PLUGINKIT_PYTHON_SUFFIX": python_module.suffix(),
        "PLUGINKIT_PYBIND11_INCLUDE_DIR": pybind11.get_include(),
    }
    if target == "gpu":
        nvcc = toolchain.nvcc().best()
        values["CMAKE_CUDA_COMPILER"] = str(nvcc.path)
        flags = (os.environ.get("CUDAFLAGS", ""), toolchain.library_flags(nvcc.path))
        values["CMAKE_CUDA_FLAGS"] = " ".join(filter(None, flags))
        values["CMAKE_CUDA_ARCHITECTURES"] = ";".join(toolchain.architectures(nvcc.path, archs))
        headers = toolchain.headers_of(nvcc.path)
    else:
        values["PLUGINKIT_CPU_RUNTIME_DIR"] = str(built_dir())
        headers = toolchain.cuda_include_dirs()
    values["PLUGINKIT_CUDA_INCLUDE_DIRS"] = ";".join(str(folder) for folder in headers)
    return values


def script(values: dict[str, str], *, over: bool = True) -> str:
    """The settings as CMake's set() commands, for `cmake -C`; with `over` they replace what is set already."""
    quoted = {name: re.sub(r'(["\\$])', r"\\\1", value) for name, value in values.items()}
    force = " FORCE" * over
    return "".join(f'set({name} "{value}" CACHE STRING ""{force})\n' for name, value in quoted.items())


def difference(before: str, after: str) -> str:
    """Which settings two scripts differ in, for the user: `CMAKE_CXX_COMPILER was /usr/bin/g++ and is ...`."""
    old, new = (dict(re.findall(r'^set\((\w+) "(.*)" CACHE', text, re.MULTILINE)) for text in (before, after))
    changed = [name for name in (*new, *(name for name in old if name not in new)) if old.get(name) != new.get(name)]
    return "; ".join(f"{name} was {old.get(name) or 'not set'} and is {new.get(name) or 'not set'}" for name in changed)


def main() -> int:
    """The command line; the exit code."""
    try:
        sys.stdout.write(script(found(sys.argv[1]), over=False))
    except PluginkitError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
