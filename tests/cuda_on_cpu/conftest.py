"""Small `.cu` sources, compiled for target cpu (some by nvcc for a GPU too) and called by ctypes."""

from __future__ import annotations

import ctypes
import functools
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock

from pluginkit import built_dir, gpu
from pluginkit.build.toolchain import cuda_include_dirs
from pluginkit.paths import include_dir
from pluginkit.process.programs import Completed, run
from tests.compilers import default_cxx
from tests.shared import Shared

HERE = Path(__file__).parent
SOURCES = HERE / "sources"
COMPILERS = ("g++", "clang++")
FLAGS = [
    "-std=c++17",
    "-O2",
    "-g1",
    "-fPIC",
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
    "-Wall",
    "-Wextra",
    "-Wconversion",
    "-Werror",
]

NVCC = "nvcc"
NVCC_FLAGS = [
    "-std=c++17",
    "-O2",
    "-arch=native",
    "--extended-lambda",
    "-shared",
    "-Xcompiler=-fPIC,-fvisibility=hidden",
    f"-I{include_dir()}",
]
OF_PATTERNS = ("test_kernel_patterns.py", "test_kernel_moves.py", "test_kernel_tuning.py")
"""Slow by clang++, which takes minutes for the patterns' kernels; it has all else of this folder in every run."""
EVERYWHERE = ["g++", "clang++", pytest.param(NVCC, marks=pytest.mark.gpu)]
"""Compilers of a source whose results are the same on a GPU."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What one compiler builds, one worker asks for: another would wait for the lock all the while."""
    for item in items:
        callspec = getattr(item, "callspec", None)
        if callspec and HERE in item.path.parents and not item.get_closest_marker("xdist_group"):
            compilers = [one for one in callspec.params.values() if isinstance(one, str) and one in COMPILERS]
            if compilers:
                item.add_marker(pytest.mark.xdist_group(f"cuda-on-cpu-{compilers[0]}"))
            if "clang++" in compilers and item.path.name in OF_PATTERNS:
                item.add_marker(pytest.mark.slow)


@functools.cache
def cuda_flags() -> tuple[str, ...]:
    """-isystem for each folder of CUDA's headers: the wheels' alone."""
    return tuple(f"-isystem{folder}" for folder in cuda_include_dirs())


def compile_object(source: Path, obj: Path, *, cxx: str = "", flags: Sequence[str] = ()) -> Completed:
    """`python -m pluginkit.cuda_cpu.compile`, as CMake calls it."""
    command = [sys.executable, "-m", "pluginkit.cuda_cpu.compile", "--cxx", cxx or default_cxx(), "-o", str(obj)]
    return run([*command, *FLAGS, *cuda_flags(), *flags, str(source)])


def runtime(*, checked: bool = False) -> list[str]:
    """What links the runtime that pluginkit's wheel brings, all of it, as the CMake package does."""
    archive = built_dir() / f"libpluginkit_cpu{'_checked' if checked else ''}.a"
    return ["-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive", "-pthread", "-ldl", "-lrt"]


def link(obj: Path, library: Path, *, cxx: str = "", checked: bool = False, flags: Sequence[str] = ()) -> None:
    """An object as a shared library that has the runtime inside and leaves nothing to be found later."""
    command = [cxx or default_cxx(), "-shared", *flags, "-Wl,--no-undefined", "-Wl,-z,now"]
    subprocess.run([*command, str(obj), *runtime(checked=checked), "-o", str(library)], check=True)


@dataclass
class Kit:
    """Builds a folder's sources into libraries of target cpu."""

    folder: Path
    sources: Path = SOURCES

    def library(self, name: str, cxx: str = "") -> Path:
        """`NAME.cu` as a shared library, with the runtime inside."""
        cxx = cxx or default_cxx()
        library = self.folder / f"lib{name}-{Path(cxx).name.rstrip('+')}.so"
        with FileLock(f"{library}.lock"):
            if not library.exists():
                self._build(name, cxx, library)
        return library

    def _build(self, name: str, cxx: str, library: Path) -> None:
        # What is there is whole: it is made beside, and named last.
        made = library.with_suffix(".new")
        if cxx == NVCC:
            subprocess.run([NVCC, *NVCC_FLAGS, str(self.sources / f"{name}.cu"), "-o", str(made)], check=True)
        else:
            obj = library.with_suffix(".o")
            done = compile_object(self.sources / f"{name}.cu", obj, cxx=cxx)
            assert done.ok, done.stderr
            # As in the CMake package, no name of the C++ library: a unique one would keep the library loaded for ever.
            script = library.with_suffix(".version")
            script.write_text("{ local: _ZSt*; _ZNSt*; _ZNKSt*; _ZZNSt*; _ZZNKSt*; _ZGVZNSt*; };\n", encoding="utf-8")
            link(obj, made, cxx=cxx, flags=[f"-Wl,--version-script={script}"])
        made.rename(library)

    def within(self, sources: Path) -> Kit:
        """A kit for another folder's sources, beside this one's libraries."""
        own = Kit(self.folder / sources.name, sources)
        own.folder.mkdir(exist_ok=True)
        return own


@pytest.fixture(scope="session")
def kit(shared: Shared) -> Kit:
    """One for all tests and workers of a run: a library is built once for each compiler."""
    folder = shared.folder / "cuda-on-cpu"
    folder.mkdir(exist_ok=True)
    return Kit(folder)


@pytest.fixture(params=["g++", "clang++"])
def load(request: pytest.FixtureRequest, kit: Kit) -> Callable[[str], ctypes.CDLL]:
    """`load(name)` gives the library of a source, once by each compiler."""
    return lambda name: ctypes.CDLL(str(kit.library(name, request.param)))


class Address(ctypes.c_void_p):
    """The address of an array; a GPU gets that of a copy."""

    array: np.ndarray


def at(array: np.ndarray) -> Address:
    """The address of an array, as a library for either target takes it."""
    address = Address(array.ctypes.data)
    address.array = array
    return address


class OnGpu:
    """A library whose functions are called with addresses of device memory, which is copied back afterwards."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        self._context = gpu.GpuContext()

    def __getattr__(self, name: str) -> Callable[..., int]:
        def call(*arguments: object) -> int:
            arrays = [one.array for one in arguments if isinstance(one, Address)]
            held = {id(array): self._context.alloc(array.nbytes + 16) for array in arrays}
            # As far behind a multiple of 16 bytes as in the CPU's memory: allocations are at one of 256.
            places = {id(array): held[id(array)].address + array.ctypes.data % 16 for array in arrays}
            for array in arrays:
                self._context.write(places[id(array)], array)
            given = [ctypes.c_void_p(places[id(one.array)]) if isinstance(one, Address) else one for one in arguments]
            answer = getattr(self._library, name)(*given)
            self._context.synchronize()
            for array in arrays:
                self._context.read(array, places[id(array)])
            return int(answer)

        return call


@pytest.fixture(params=EVERYWHERE)
def anywhere(request: pytest.FixtureRequest, kit: Kit) -> Callable[[str], ctypes.CDLL | OnGpu]:
    """As `load`, and on a GPU where there is one."""

    def loaded(name: str) -> ctypes.CDLL | OnGpu:
        library = ctypes.CDLL(str(kit.library(name, request.param)))
        return OnGpu(library) if request.param == NVCC else library

    return loaded
