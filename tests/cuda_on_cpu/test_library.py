"""What a library of target cpu shows to the process, and what the compiler refuses."""

from __future__ import annotations

import ctypes
import platform
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from pluginkit.cuda_cpu import symbols
from pluginkit.errors import BuildFailed, ToolMissing
from pluginkit.process.programs import run
from tests.compilers import default_cxx, nvcc

from .conftest import SOURCES, Kit, compile_object

pytestmark = pytest.mark.compile

_KERNEL = "__global__ void k(float* y) { BODY; }\nvoid run(float* y) { k<<<1, 1>>>(y); }\n"


def _names(library: Path, *flags: str) -> list[str]:
    listing = subprocess.run(
        ["nm", "-D", "-P", *flags, str(library)], check=True, capture_output=True, text=True
    ).stdout
    return [line.split()[0] for line in listing.splitlines()]


@pytest.mark.parametrize("cxx", ["g++", "clang++"])
@pytest.mark.parametrize("name", ["kernels", "api"])
def test_nothing_of_the_runtime_is_seen_outside(kit: Kit, name: str, cxx: str) -> None:
    library = kit.library(name, cxx)
    ours = re.compile(r"cuda|pluginkit(?!_cpu_control$)|threadIdx|blockIdx|blockDim|gridDim|atomic")
    assert [each for each in _names(library, "--defined-only") if ours.search(each)] == []
    assert [each for each in _names(library, "-u") if re.search(r"\bcu[a-z]*[A-Z]|pluginkit", each)] == []


def test_loading_and_unloading(kit: Kit, tmp_path: Path) -> None:
    libc = ctypes.CDLL(None)
    libc.dlclose.argtypes = [ctypes.c_void_p]
    path = str(shutil.copy(kit.library("api"), tmp_path / "own.so"))  # one that no other test has loaded
    for _ in range(50):
        library = ctypes.CDLL(path)
        assert library.memory() == 0
        libc.dlclose(library._handle)
    assert path not in Path("/proc/self/maps").read_text(encoding="utf-8")


def test_two_libraries_know_nothing_of_each_other(kit: Kit) -> None:
    first, second = ctypes.CDLL(str(kit.library("api"))), ctypes.CDLL(str(kit.library("kernels")))
    y = np.zeros(3, np.float32)
    second.functors(ctypes.c_void_p(y.ctypes.data), 3, ctypes.c_float(2))
    assert y.tolist() == [2, 2, 2]
    assert first.configuration(0, 1, 1, 1) == -9
    assert first.streams() == 0


def test_the_users_warnings_are_shown(tmp_path: Path) -> None:
    source = tmp_path / "narrow.cu"
    source.write_text(
        _KERNEL.replace("BODY", "\n double const x = static_cast<double>(*y) / 3;\n *y = x;\n"), encoding="utf-8"
    )
    done = compile_object(source, tmp_path / "narrow.o")
    assert done.returncode == 5
    assert re.search(rf"{re.escape(str(source))}:3:\d+: error: .*-W(error=)?(float-)?conversion", done.stderr), (
        done.stderr
    )
    assert not (tmp_path / "narrow.o").exists()


@pytest.mark.parametrize("cxx", ["g++", "clang++"])
def test_unknown_instructions_are_named_with_their_lines(tmp_path: Path, cxx: str) -> None:
    source = tmp_path / "un known.cu"
    first = '*y = 1; asm volatile("frob.sync.aligned;");'
    second = 'asm("{ .reg .b32 r; fence; frob::x.u32 r, %0; }" :: "r"(1));'
    body = f"\n {first}\n {second}\n"
    source.write_text(_KERNEL.replace("BODY", body), encoding="utf-8")
    done = compile_object(source, tmp_path / "unknown.o", cxx=cxx)
    assert done.returncode == 5
    assert f"\n  {source}:2: frob.sync.aligned\n  {source}:3: frob::x.u32\n" in done.stderr
    assert not (tmp_path / "unknown.o").exists()


def test_a_cpp_source_may_have_functions_of_the_same_names_as_device_functions(tmp_path: Path) -> None:
    source = tmp_path / "host.cpp"
    functions = "unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }\nint max(int a, int) { return a; }\n"
    source.write_text(
        f"#include <cuda_profiler_api.h>\n{functions}cudaError_t run() {{ return cudaProfilerStart(); }}\n"
    )
    done = compile_object(source, tmp_path / "host.o")
    assert done.ok, done.stderr


def _compiler_with(tool: str, script: str, folder: Path) -> str:
    """The compiler, but for its own word on where that tool is: a program made of these shell lines."""
    cxx = folder / Path(default_cxx()).name
    (folder / tool).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    answer = f'case "$*" in *-print-prog-name={tool}) echo "{folder}/{tool}"; exit;; esac'
    cxx.write_text(f'#!/bin/sh\n{answer}\nexec {default_cxx()} "$@"\n', encoding="utf-8")
    for program in (folder / tool, cxx):
        program.chmod(0o755)
    return str(cxx)


def _object(folder: Path) -> Path:
    """An object that calls a CUDA function, with its name still on it."""
    (folder / "a.cpp").write_text(
        'extern "C" int cudaDeviceSynchronize();\nint run() { return cudaDeviceSynchronize(); }\n'
    )
    subprocess.run([default_cxx(), "-c", folder / "a.cpp", "-o", folder / "a.o"], check=True)
    return folder / "a.o"


@pytest.mark.parametrize("tool", ["nm", "objcopy"])
def test_the_compilers_own_binutils_do_the_work(tmp_path: Path, tool: str) -> None:
    """Another machine's objects are foreign to this machine's."""
    obj = _object(tmp_path)
    cxx = _compiler_with(tool, f'echo "$*" >> {tmp_path}/asked; exec {tool} "$@"', tmp_path)
    symbols.rename(obj, "a.cpp", "", [cxx])
    assert str(obj) in (tmp_path / "asked").read_text(encoding="utf-8")
    listing = subprocess.run(["nm", "-u", obj], check=True, capture_output=True, text=True).stdout
    assert " pluginkit_cpu_v2_cudaDeviceSynchronize" in listing


@pytest.mark.parametrize("tool", ["nm", "objcopy"])
def test_an_object_whose_names_could_not_be_changed_is_none(tmp_path: Path, tool: str) -> None:
    obj = _object(tmp_path)
    cxx = _compiler_with(tool, "echo 'a.o: file format not recognized' >&2; exit 1", tmp_path)
    with pytest.raises(BuildFailed, match=f"{tool} ended with exit status 1 on .*a.o:\na.o: file format") as failed:
        symbols.rename(obj, "a.cpp", "", [cxx])
    assert failed.value.hint.startswith(f"{tool} must be of the machine that {cxx} compiles for")
    assert not obj.exists()
    (tmp_path / tool).unlink()
    with pytest.raises(ToolMissing) as missing:
        symbols.rename(_object(tmp_path), "a.cpp", "", [cxx])
    assert "apt install binutils" in missing.value.hint
    assert not obj.exists()


def test_a_source_does_not_compile_when_objcopy_fails(tmp_path: Path) -> None:
    (tmp_path / "a.cpp").write_text("#include <cuda_runtime.h>\nint run() { return cudaDeviceSynchronize(); }\n")
    cxx = _compiler_with("objcopy", "exit 1", tmp_path)
    done = compile_object(tmp_path / "a.cpp", tmp_path / "a.o", cxx=cxx)
    assert done.returncode == 5
    assert (
        f"error: {tmp_path}/objcopy ended with exit status 1 on {tmp_path}/a.o:\nIt printed nothing.\n" in done.stderr
    )
    assert not (tmp_path / "a.o").exists()


def test_the_dependency_file_names_the_users_headers(tmp_path: Path) -> None:
    (tmp_path / "mine.h").write_text("inline int mine() { return 1; }\n", encoding="utf-8")
    (tmp_path / "a.cu").write_text('#include "mine.h"\nint run() { return mine(); }\n', encoding="utf-8")
    done = compile_object(tmp_path / "a.cu", tmp_path / "a.o", flags=["-MD", "-MF", str(tmp_path / "a.d")])
    assert done.ok, done.stderr
    target, _, files = (tmp_path / "a.d").read_text(encoding="utf-8").partition(":")
    assert target == str(tmp_path / "a.o")
    assert {str(tmp_path / "mine.h"), str(tmp_path / "a.cu")} <= set(files.split())


@pytest.mark.parametrize("name", ["kernels", "api"])
def test_nvcc_takes_the_same_sources(tmp_path: Path, name: str) -> None:
    command = [
        nvcc(),
        "-std=c++17",
        "--extended-lambda",
        "-arch=sm_80",
        "-c",
        str(SOURCES / f"{name}.cu"),
        "-o",
        str(tmp_path / "x.o"),
    ]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("storage", ["thread_local", "__thread"])
def test_thread_local_variables_of_the_users_are_found_by_a_call(tmp_path: Path, storage: str) -> None:
    """Before glibc 2.40 a use by a descriptor may change registers: none is in code that isn't pluginkit's alone."""
    kernel = "__global__ void k(float* x) { x[threadIdx.x] = 0; }\nvoid run(float* x) { k<<<1, 8>>>(x); }\n"
    used = []
    for name, text in (("own", f"{storage} float mine;\nfloat& its() {{ return mine; }}\n{kernel}"), ("none", kernel)):
        (tmp_path / f"{name}.cu").write_text(text, encoding="utf-8")
        done = compile_object(tmp_path / f"{name}.cu", tmp_path / f"{name}.o", cxx="g++")
        assert done.ok, done.stderr
        relocations = run(["readelf", "-Wr", str(tmp_path / f"{name}.o")]).stdout
        used.append("TLSDESC" in relocations)
    assert used == [False, platform.machine() == "x86_64"]
