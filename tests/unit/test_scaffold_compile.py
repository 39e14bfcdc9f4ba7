"""What `pluginkit new` writes compiles without a warning: g++, clang++ and nvcc, both layouts of TensorRT's classes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import pluginkit
from pluginkit import scaffold
from pluginkit.build import toolchain
from pluginkit.build.signature import file_name, header
from pluginkit.layouts import BEFORE_V3
from pluginkit.manifest import Manifest
from tests.compilers import nvcc

pytestmark = pytest.mark.compile

WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Werror"]

SIGNATURES: dict[str, dict[str, Any]] = {
    "default": {},
    "three in, two out": {
        "inputs": ["x:float32,float16,int8:n,c", "w:float32,float16:c", "index:int32:n"],
        "outputs": ["y:float32,float16,int8:n,c", "z:float32,float16:n,2"],
        "fields": ["alpha:float32=0.1", "bias:float32=-2.5", "shift:int32=3"],
    },
    "index input": {"inputs": ["x:float32,float16:n,c", "index:int32:n,c"]},
    "no fields": {"inputs": ["x:float32,float16:n", "b:float32,float16:n"], "fields": []},
    "arithmetic": {
        "inputs": ["x:int32,float32,float16,int8:n,c", "b:float32,int8:m,3"],
        "outputs": ["y:float32,int8:n+m*2,min(c, 3)", "z:int32:ceil_div(n + m, 2)*(m-1+1)//1,max(c,2),4"],
        "fields": ["k:int32", "beta:float32=1e-5"],
        "namespace": 'a"c\\me',
    },
    "fields in shapes": {
        "inputs": ["x:float32:n,c", "b:float32:m"],
        "outputs": ["y:float32:broadcast(n,m),min(c,k),1 if keep", "z:float32:k*k*2 if k > keep + 1 else c,c//(k-1)+1"],
        "fields": ["k:int32=3", "keep:int32=1"],
    },
    "any rank": {
        "inputs": ["x:float32:n,...,c", "b:float32:...,1", "w:float32:...", "s:float32:c"],
        "outputs": ["y:float32:n,...,c", "z:float32:1,...,c,min(n,k),1 if k", "v:float32:"],
        "fields": ["k:int32=3"],
    },
    "constant shape": {"inputs": ["x:float16:2,3"], "outputs": ["y:float16:6"]},
    "formats": {
        "inputs": ["x:float32,float16,bfloat16,int8:n,6,h,w", "b:float32,bfloat16,int8:6,h,w", "k:int32:6"],
        "outputs": ["y:float32,float16,bfloat16,int8:n,6,h,w", "z:float32,bfloat16:n,h,w"],
        "formats": ["chw2", "chw4", "chw32", "hwc8", "hwc16", "hwc"],
    },
    "scalar": {"inputs": ["x:float16:"], "outputs": ["y:float16:"]},
    "one word": {"name": "Round", "inputs": ["x:int8:n"]},
    "a scale a channel, and no other field": {
        "base": "v3",
        "inputs": ["x:float32,int8:n,c,h:scale=each"],
        "outputs": ["y:float32,int8:n,c,h:scale=each"],
        "fields": ["each:float32[c]"],
    },
    "both": {"base": "dynamic,v3"},
    "ioext": {"base": "ioext"},
    "ioext, fields in shapes": {
        "base": "ioext",
        "inputs": ["x:float32:n,c", "b:float32:m"],
        "outputs": ["y:float32:broadcast(n,m),min(c,k),1 if keep", "z:float32:k*k*2 if k > keep + 1 else c,c//(k-1)+1"],
        "fields": ["k:int32=3", "keep:int32=1"],
    },
    "ioext, no batch": {
        "base": "ioext",
        "inputs": ["x:float32,int8:n,c", "i:int64:n"],
        "outputs": ["y:float32,int8:n+1,c*(n+2)", "z:int64:max(n,ceil_div(c,2)),7,c//2-1"],
        "fields": ["a:float32", "b:int32=3"],
    },
}


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = {}
    for case, options in SIGNATURES.items():
        rest = {"name": "MyPlugin", **options}
        made[case] = scaffold.new(rest.pop("name"), directory=tmp_path_factory.mktemp("project"), **rest)
    return made


def signature(project: Path, folder: Path) -> list[str]:
    """The include folder of the header that a build makes of pluginkit.toml."""
    manifest = Manifest.load(project)
    (folder / file_name(manifest)).write_text(header(manifest), encoding="utf-8")
    return [f"-I{folder}"]


def compile_with(command: list[str | Path]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stderr}"
    assert "warning" not in done.stderr


@pytest.mark.parametrize("case", SIGNATURES)
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_the_plugin_compiles(compiler: str, case: str, projects: dict[str, Path], tmp_path: Path) -> None:
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    include = [f"-I{pluginkit.include_dir()}", *signature(projects[case], tmp_path)]
    include += ["-isystem", str(toolchain.cuda_include_dirs()[0])]
    in_8 = Manifest.load(projects[case]).plugin.base_in(BEFORE_V3) is not None
    for source in sorted((projects[case] / "src").glob("*.cpp")):
        for layout in ([], ["-DPLUGINKIT_TRT_LAYOUT=10"], *([["-DPLUGINKIT_TRT_LAYOUT=8"]] if in_8 else [])):
            compile_with([compiler, "-std=c++17", "-fsyntax-only", *WARNINGS, *layout, *include, source])


@pytest.mark.parametrize("case", SIGNATURES)
def test_the_kernel_compiles_with_nvcc(case: str, projects: dict[str, Path], tmp_path: Path) -> None:
    (source,) = (projects[case] / "src").glob("*.cu")
    flags = ["-std=c++17", "-Werror", "all-warnings", "-Xcompiler", ",".join(WARNINGS)]
    include = [f"-I{pluginkit.include_dir()}", *signature(projects[case], tmp_path)]
    compile_with([nvcc(), *flags, *include, "-c", source, "-o", tmp_path / "kernel.o"])
