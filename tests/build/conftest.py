"""A plugin project without a plugin: just what the build looks at, so that it compiles in a second."""

from __future__ import annotations

import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

MANIFEST = """
[plugin]
name = "Tiny"

[[inputs]]
name = "x"
types = ["float32"]
shape = ["n"]

[[outputs]]
name = "y"
types = ["float32"]
shape = ["n"]

[[profiles]]
name = "default"
symbols = { n = [1, 2, 4] }
"""
CMAKE = """cmake_minimum_required(VERSION 3.24)
project(tiny LANGUAGES CXX)
find_package(pluginkit REQUIRED)
pluginkit_add_plugin(tiny NAME Tiny SOURCES src/entry.cpp src/other.cpp src/kernel.cu)
"""
# What PLUGINKIT_PLUGINS makes, in small: exports in the primary, a hook in the secondary that the primary calls. Both
# layouts have a class of one name and different content: unless names are made local, the linker keeps one for both.
ENTRY = """#include "tiny.h"
#define EXPORT extern "C" __attribute__((visibility("default")))
struct Layout
{
    virtual int number() const;
    virtual ~Layout() = default;
};
int Layout::number() const
{
    return PLUGINKIT_TRT_LAYOUT;
}
#ifdef PLUGINKIT_SECONDARY
EXPORT int pluginkitSecondaryCreators()
{
    return Layout().number();
}
#else
EXPORT __attribute__((weak)) int pluginkitSecondaryCreators();
EXPORT int getCreators()
{
    return Layout().number() * 1000 + (pluginkitSecondaryCreators ? pluginkitSecondaryCreators() : 0);
}
EXPORT int setLoggerFinder()
{
    return twice(kTINY);
}
EXPORT bool initTinyPlugins(void*, char const*)
{
    return launch() == 0;
}
#endif
"""
HEADER = """#pragma once
constexpr int kTINY = 21;
int twice(int value);
int launch();
"""
OTHER = """#include "other.h"
int twice(int value)
{
    return kFACTOR * value;
}
"""
KERNEL = """#include <cuda_runtime.h>
__global__ void fill(float* values)
{
    values[threadIdx.x] = 1.F;
}
int launch()
{
    float* values = nullptr;
    if (cudaMalloc(reinterpret_cast<void**>(&values), 4 * sizeof(float)) != cudaSuccess)
    {
        return 1;
    }
    fill<<<1, 4>>>(values);
    cudaError_t const status = cudaDeviceSynchronize();
    cudaFree(values);
    return static_cast<int>(status);
}
"""


def write_project(folder: Path) -> Path:
    """Write the project into a folder; files that are right already keep their time, so they are not compiled again."""
    files = {
        "pluginkit.toml": MANIFEST,
        "CMakeLists.txt": CMAKE,
        "src/entry.cpp": ENTRY,
        "src/tiny.h": HEADER,
        "src/other.cpp": OTHER,
        "src/other.h": '#pragma once\n#include "tiny.h"\nconstexpr int kFACTOR = 2;\n',
        "src/kernel.cu": KERNEL,
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    return folder


def answers(library: Path) -> tuple[int, int, bool]:
    """getCreators, setLoggerFinder and initTinyPlugins of the library, called in a process of its own."""
    code = (
        "import ctypes, sys; x = ctypes.CDLL(sys.argv[1]); x.initTinyPlugins.restype = ctypes.c_bool; "
        "print(x.getCreators(), x.setLoggerFinder(), int(x.initTinyPlugins()))"
    )
    output = subprocess.run([sys.executable, "-c", code, library], capture_output=True, text=True, check=True).stdout
    creators, finder, init = (int(word) for word in output.split())
    return creators, finder, bool(init)


@pytest.fixture
def fake(tmp_path: Path) -> Callable[..., Path]:
    """`fake(name, script)`: a program made of shell lines, in a folder of its own."""

    def make(name: str, script: str, folder: str = "bin") -> Path:
        path = tmp_path / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    return make
