"""CMake called by hand: `find_package(pluginkit)` with nothing but the Python that has it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pluginkit
from pluginkit.build import toolchain

from .conftest import answers, write_project

pytestmark = pytest.mark.compile
# The first of each kind: the oldest that is promised, one that Debian has, the last of 3 and the first of 4.
VERSIONS = ("3.24.0", "3.25.2", "3.31.10", "4.0.3")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_project(tmp_path / "tiny")


def cmake(*arguments: str | Path, program: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [program or toolchain.cmake().best().path, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def configure(project: Path, *options: str, program: Path | None = None) -> subprocess.CompletedProcess[str]:
    """As the user does it, into the folder `out` beside the project."""
    ninja = f"-DCMAKE_MAKE_PROGRAM={toolchain.ninja().best().path}"
    found = [f"-Dpluginkit_DIR={pluginkit.cmake_dir()}", f"-DPLUGINKIT_PYTHON={sys.executable}"]
    out = project.parent / "out"
    return cmake("-S", project, "-B", out, "-G", "Ninja", ninja, *found, *options, program=program)


def cached(project: Path, name: str) -> str:
    """What CMake keeps of a setting."""
    lines = (project.parent / "out/CMakeCache.txt").read_text(encoding="utf-8").splitlines()
    (value,) = [line.split("=", 1)[1] for line in lines if line.startswith(f"{name}:")]
    return value


def works(project: Path, program: Path | None = None) -> None:
    """Configure twice, as an IDE does, and once more as Ninja does when CMakeLists.txt has changed; then run it."""
    out = project.parent / "out"
    for step in range(2):
        done = configure(project, program=program)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Warning" not in done.stderr, (step, done.stderr)
    for _ in range(2):
        done = cmake("--build", out, program=program)
        assert done.returncode == 0, done.stdout + done.stderr
        text = (project / "CMakeLists.txt").read_text(encoding="utf-8")
        (project / "CMakeLists.txt").write_text(f"{text}\n", encoding="utf-8")
    assert answers(out / "libtiny.so") == (11010, 42, True)


def test_a_person_configures_twice_and_builds(project: Path) -> None:
    works(project)


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_every_cmake_that_is_promised(project: Path, tmp_path: Path, version: str) -> None:
    site = tmp_path / "site"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-input", "--target", site, f"cmake=={version}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode and "No matching distribution" in done.stderr + done.stdout:
        pytest.skip("PyPI can't be reached")
    assert done.returncode == 0, done.stderr
    works(project, site / "cmake/data/bin/cmake")
    assert cached(project, "CMAKE_CACHE_PATCH_VERSION") == version.split(".")[2]


def test_the_headers_of_a_linked_sdk_go_first(tmp_path: Path) -> None:
    """Of a target that the tested one links by way of another; its major is the layout."""
    include = tmp_path / "sdk include"
    include.mkdir()
    (include / "NvInfer.h").touch()
    (include / "NvInferVersion.h").write_text("#define NV_TENSORRT_MAJOR 10 //!< TensorRT major version.\n")
    project = tmp_path / "project"
    project.mkdir()
    (project / "own.cu").touch()
    lines = """cmake_minimum_required(VERSION 3.24)
project(own LANGUAGES CXX)
add_library(nvinfer INTERFACE)
target_include_directories(nvinfer INTERFACE "$<BUILD_INTERFACE:{0}>")
add_library(common INTERFACE)
target_link_libraries(common INTERFACE nvinfer)
add_library(own SHARED own.cu)
target_link_libraries(own PRIVATE common)
find_package(pluginkit REQUIRED)
pluginkit_test_plugin(own)
"""
    (project / "CMakeLists.txt").write_text(lines.format(include), encoding="utf-8")
    done = configure(project)
    assert done.returncode == 0, done.stdout + done.stderr
    described = json.loads((tmp_path / "out/pluginkit-own_pluginkit.json").read_text(encoding="utf-8"))
    assert described["layouts"] == {"10": {"headers": str(include)}}


def test_what_is_given_stays(project: Path, tmp_path: Path) -> None:
    """The rest is found all the same; binutils are those that CMake knows, for they belong to the compiler."""
    own = tmp_path / "own"
    own.mkdir()
    (own / "libpluginkit_cpu.a").write_bytes((pluginkit.built_dir() / "libpluginkit_cpu.a").read_bytes())
    for name in ("other-ld", "other-ld.bfd", "other-objcopy"):
        (own / name).write_text("#!/bin/sh\n", encoding="utf-8")
        (own / name).chmod(0o755)
    binutils = [f"-DCMAKE_LINKER={own}/other-ld", f"-DCMAKE_OBJCOPY={own}/other-objcopy"]
    done = configure(project, f"-DPLUGINKIT_CPU_RUNTIME_DIR={own}", "-DCMAKE_CXX_FLAGS=-O3", *binutils)
    assert done.returncode == 0, done.stdout + done.stderr
    ninja = (tmp_path / "out/build.ninja").read_text(encoding="utf-8")
    assert str(own / "libpluginkit_cpu.a") in ninja
    assert cached(project, "CMAKE_CXX_FLAGS") == "-O3"
    assert set(re.findall(r" -O\d -g\d? (\S+)", ninja)) == {"-O3"}, "behind what is usual"
    assert " -Os -g1 " in ninja, "which is little for what is pluginkit's own"
    assert cached(project, "PLUGINKIT_CUDA_INCLUDE_DIRS") == ";".join(map(str, toolchain.cuda_include_dirs()))
    assert cached(project, "PLUGINKIT_LD") == f"{own}/other-ld.bfd"
    assert cached(project, "PLUGINKIT_OBJCOPY") == f"{own}/other-objcopy"
    for option, output in (
        (f"-DPLUGINKIT_CPU_RUNTIME_DIR={tmp_path / 'gone'}", f"{tmp_path / 'gone'}/libpluginkit_cpu.a does not exist"),
        ("-DPLUGINKIT_TARGET=gpu", "was configured for target cpu; give target gpu a build folder of its own"),
    ):
        done = configure(project, option)
        assert done.returncode == 1
        assert output in " ".join(done.stderr.split())
