"""What CMake is told: `python -m pluginkit.build.cache TARGET` prints it as a CMake script."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from pluginkit import cmake_dir
from pluginkit.build import toolchain
from pluginkit.errors import PluginkitError


def settings(target: str, *, archs: Sequence[str] = (), werror: bool = False) -> dict[str, str]:
    """CMake's cache variables for a target.

    Raises:
        ToolMissing: no usable compiler, or no CUDA headers.
    """
    sdk = toolchain.sdk_headers()
    found = {
        "CMAKE_CXX_COMPILER": str(toolchain.cxx_compiler().best().path),
        "pluginkit_DIR": str(cmake_dir()),
        "PLUGINKIT_PYTHON": sys.executable,
        "PLUGINKIT_TARGET": target,
        "PLUGINKIT_WERROR": "ON" if werror else "OFF",
        "PLUGINKIT_TRT10_INCLUDE_DIR": str(sdk.get(10, "")),
        "PLUGINKIT_TRT11_INCLUDE_DIR": str(sdk.get(11, "")),
    }
    if target == "gpu":
        nvcc = toolchain.nvcc().best().path
        found["CMAKE_CUDA_COMPILER"] = str(nvcc)
        found["CMAKE_CUDA_HOST_COMPILER"] = found["CMAKE_CXX_COMPILER"]
        found["CMAKE_CUDA_ARCHITECTURES"] = ";".join(archs or toolchain.native_architectures())
        found["PLUGINKIT_CUDA_INCLUDE_DIRS"] = ";".join(str(folder) for folder in toolchain.headers_beside(nvcc))
    else:
        found["PLUGINKIT_CUDA_INCLUDE_DIRS"] = ";".join(str(folder) for folder in toolchain.cuda_include_dirs())
    return found


def script(values: dict[str, str]) -> str:
    """The settings as CMake's set() commands, for `cmake -C`."""
    return "".join(f'set({name} "{value}" CACHE STRING "" FORCE)\n' for name, value in values.items())


def main() -> int:
    """The command line; the exit code."""
    try:
        sys.stdout.write(script(settings(sys.argv[1])))
    except PluginkitError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
