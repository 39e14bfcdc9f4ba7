"""Handles of NVIDIA's libraries that a plugin is given by attachToContext, as TensorRT 10 with their tactics gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from pluginkit import scaffold
from pluginkit.run import runner
from pluginkit.run.options import Options
from pluginkit.testing.report import CaseResult, Outcome
from tests.gpu import planted

pytestmark = [pytest.mark.gpu, pytest.mark.compile, pytest.mark.xdist_group("gpu")]

INITIALIZE = "int32_t MyPlugin::initialize() noexcept\n{\n"
ATTACH = """extern "C" int cublasGetVersion_v2(cublasContext*, int*);

void MyPlugin::attachToContext(cudnnContext*, cublasContext* cublas, nvinfer1::IGpuAllocator*) noexcept
{
    int version = 0;
    if (cublas != nullptr && cublasGetVersion_v2(cublas, &version) == 0 && version > 0 && mParameters.fault != 0)
    {
        mParameters.alpha = 0.25F;
    }
}

"""
DECLARED = "    void attachToContext(cudnnContext*, cublasContext*, nvinfer1::IGpuAllocator*) noexcept override;\n"
BEFORE = "    int32_t initialize() noexcept override;\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plugin that links cuBLAS, and computes something else with a handle that cuBLAS takes, if `fault` isn't 0."""
    library = planted.cublas()
    if library is None:
        pytest.skip("no libcublas on this machine")
    fields = ["alpha:float32=0.5", "fault:int32=0"]
    written = scaffold.new("MyPlugin", directory=tmp_path_factory.mktemp("handles"), fields=fields)
    for name, right, new in (
        ("src/my_plugin.cpp", INITIALIZE, ATTACH + INITIALIZE),
        ("src/my_plugin.h", BEFORE, DECLARED + BEFORE),
    ):
        file = written / name
        text = file.read_text()
        assert text.count(right) == 1
        file.write_text(text.replace(right, new))
    with (written / "CMakeLists.txt").open("a") as file:
        file.write(
            'if(PLUGINKIT_TARGET STREQUAL "gpu")\n'
            f'    target_link_libraries(my_plugin PRIVATE "{library}")\n'
            f'    target_link_options(my_plugin PRIVATE "LINKER:-rpath,{library.parent}")\n'
            "endif()\n"
        )
    return written


def run(project: Path, fault: int) -> CaseResult:
    planted.choose(project, fault)
    report = runner.run(Options(project=project, only=("plain/float32/opt",), target="gpu"))
    (case,) = report.cases
    return case


def test_the_plugin_is_given_a_handle_that_the_library_takes(project: Path) -> None:
    case = run(project, 1)
    assert case.outcome is Outcome.FAILED
    assert "as TensorRT 10 with tactics of cuDNN and cuBLAS: attachToContext is given their handles" in case.message


def test_with_handles_a_right_plugin_passes_and_leaks_nothing(project: Path) -> None:
    case = run(project, 0)
    assert (case.outcome, case.message) == (Outcome.PASSED, "")
