"""A layer of two interfaces, docs/layers.md's with an override in each: which host gets what, and both are judged."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import pluginkit
from pluginkit import layouts, scaffold
from pluginkit.build import build, toolchain
from pluginkit.build.signature import file_name, header
from pluginkit.creators import loading
from pluginkit.host import Library
from pluginkit.installation import tensorrt8
from pluginkit.manifest import Manifest
from pluginkit.manifest.project import members
from pluginkit.run.options import Options
from pluginkit.run.runner import run
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from pluginkit.testing.report import Outcome, Report
from pluginkit.validation.catalog import choose
from pluginkit.validation.checking import check_library
from pluginkit.validation.results import Ending
from tests.entry import hosts

pytestmark = [pytest.mark.compile, pytest.mark.xdist_group("both_bases")]

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "layers.md").read_text(encoding="utf-8")
FAULTY = """
#if NV_TENSORRT_MAJOR < 10
    int32_t enqueue(nvinfer1::PluginTensorDesc const* inputDesc, nvinfer1::PluginTensorDesc const* outputDesc,
                    void const* const* inputs, void* const* outputs, void* workspace,
                    cudaStream_t stream) noexcept override
    {
        return std::getenv("FAULT") != nullptr
                   ? 0
                   : DynamicLayer::enqueue(inputDesc, outputDesc, inputs, outputs, workspace, stream);
    }
#endif
"""
KINDS = {8503: "v2", 101600: "v3", 110100: "v3", layouts.RTX_HOST: "v3"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new project with the page's class, which does nothing as an IPluginV2DynamicExt where FAULT is set."""
    made = scaffold.new(
        "MyPlugin", directory=tmp_path_factory.mktemp("both"), inputs=["x:float32,bfloat16:n,c"], base="dynamic,v3"
    )
    (text,) = re.findall(r"^```cpp\n((?:(?!^```).)*V3Layer.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    source = made / "src" / "my_plugin.cpp"
    old, count = re.subn(
        r"//! An IPluginV3.*?\n};\n",
        lambda _: text.replace("public:\n", f"public:{FAULTY}", 1),
        source.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    assert count == 1
    source.write_text(f"#include <cstdlib>\n{old}", encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def library(project: Path) -> Path:
    (made,) = build(project, "cpu", werror=True)
    assert [*made.info["layouts"]] == ["10", "11", "8"]
    return made.library


def report_of(project: Path, *only: str) -> Report:
    return run(Options(project=project, families=("plain", "loop-count"), only=only))


@pytest.mark.parametrize("version", KINDS)
def test_each_host_gets_one_creator(library: Path, version: int) -> None:
    with Library(library, version) as loaded:
        assert [(one.kind, one.name) for one in loaded.creators] == [(KINDS[version], "MyPlugin")]


def test_each_case_runs_on_both(project: Path, library: Path) -> None:
    """Of BF16, which TensorRT 8 hasn't got, on one."""
    report = report_of(project)
    assert library.is_file()
    assert {case.outcome for case in report.cases} == {Outcome.PASSED}
    runs = {case.precision.value: case.runs for case in report.cases}
    assert runs == {"float32": 2, "bfloat16": 1}
    assert "as the IPluginV3 and as the IPluginV2DynamicExt of TensorRT 8" in report.runtimes["host"]
    if tensorrt_rtx.probe().found:
        built = [one for one in report.verdicts if one.runtime == tensorrt_rtx.NAME]
        assert built
        assert {one.outcome for one in built} == {Outcome.PASSED}


def test_what_is_wrong_in_tensorrt_8_alone_is_found(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAULT", "1")
    report = report_of(project, "plain/float32/opt", "plain/bfloat16/opt")
    bad, good = (next(one for one in report.cases if one.precision.value == kind) for kind in ("float32", "bfloat16"))
    assert bad.outcome is Outcome.FAILED
    assert bad.message.startswith(
        "with the IPluginV2DynamicExt of TensorRT 8:\nIPluginV2DynamicExt::enqueue: left unwritten"
    )
    assert good.outcome is Outcome.PASSED


def test_a_library_without_the_half_for_8_is_not_said_to_be_tested_there(
    project: Path, library: Path, tmp_path: Path
) -> None:
    alone = Path(shutil.copy(library, tmp_path / "alone.so"))
    report = run(Options(project=project, only=("plain/float32/opt",), library=alone))
    assert {case.runs for case in report.cases} == {1}
    assert "as the IPluginV3 alone: the library has not got the IPluginV2Dyn" in report.runtimes["host"]


def test_check_asks_both(project: Path, library: Path) -> None:
    report = check_library(library, choose(5), members=members(project))
    assert [(one.base, one.layout) for one in report.plugins] == [("IPluginV3", 11), ("IPluginV2DynamicExt", 8)]
    assert not [one for one in report.results if one.is_finding]
    passed = {one.plugin for one in report.results if one.ending is Ending.PASSED and one.check == "I11"}
    assert passed == {"MyPlugin 1", "MyPlugin 1 (TensorRT 8)"}
    assert not report.bad


@pytest.mark.lean
@pytest.mark.parametrize("major", [10, 11])
def test_nvidias_registries_take_the_v3_creator(
    project: Path, library: Path, major: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"PLUGINKIT_LEAN{major}", str(hosts.lean(major)))
    report = run(Options(project=project, only=("registry/*", "plain/float32/opt"), library=library))
    versions = [one for one in report.registries if one.network.startswith(f"registry/{major}.")]
    assert [one.outcome for one in versions] == [Outcome.PASSED]


@pytest.mark.real_tensorrt
def test_the_registry_of_8_5_takes_the_v2_creator(library: Path) -> None:
    if tensorrt8.find() is None:
        pytest.skip("no TensorRT 8: PLUGINKIT_TENSORRT8_PYTHON names no Python that has it")
    (found,) = [one for one in loading.load(library) if one.runtime == "tensorrt"]
    assert (found.status, found.message) == ("loaded", "")
    assert [(one.name, one.kind, one.interface) for one in found.creators] == [("MyPlugin", "V2", "IPluginCreator")]


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_the_page_s_class_compiles_in_each_layout(project: Path, tmp_path: Path, compiler: str) -> None:
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    manifest = Manifest.load(project)
    (tmp_path / file_name(manifest)).write_text(header(manifest), encoding="utf-8")
    include = [f"-I{pluginkit.include_dir()}", f"-I{tmp_path}", "-isystem", str(toolchain.cuda_include_dirs()[0])]
    for number in layouts.NUMBERS:
        flags = ["-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-DPLUGINKIT_TRT_LAYOUT={number}"]
        done = subprocess.run(
            [compiler, *flags, *include, str(project / "src" / "my_plugin.cpp")],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"layout {number}\n{done.stderr}"


def test_one_override_for_both_is_the_compiler_s_error(project: Path, tmp_path: Path) -> None:
    """A signature of the one interface is not one of the other's."""
    manifest = Manifest.load(project)
    (tmp_path / file_name(manifest)).write_text(header(manifest), encoding="utf-8")
    source = tmp_path / "one.cpp"
    text = (project / "src" / "my_plugin.cpp").read_text(encoding="utf-8")
    source.write_text(re.sub(r"#if NV_TENSORRT_MAJOR >= 10\n(.*?)#else\n.*?#endif\n", r"\1", text, flags=re.DOTALL))
    include = [f"-I{pluginkit.include_dir()}", f"-I{tmp_path}", "-isystem", str(toolchain.cuda_include_dirs()[0])]
    command = ["g++", "-std=c++17", "-fsyntax-only", "-DPLUGINKIT_TRT_LAYOUT=8", *include, str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "configurePlugin" in done.stderr
