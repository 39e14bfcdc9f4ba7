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

CLASS = "Layer<MyPlugin, Signature>\n{\n"
ATTACH = """public:
    void attachToContext(cudnnContext*, cublasContext* cublas, nvinfer1::IGpuAllocator*) noexcept override
    {
        int version = 0;
        if (cublas != nullptr && cublasGetVersion_v2(cublas, &version) == 0 && version > 0 && fields().fault != 0)
        {
            mFields.alpha = 0.25F;
        }
    }
"""
DECLARED = 'extern "C" int cublasGetVersion_v2(cublasContext*, int*);\n\n'


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plugin that links cuBLAS, and computes something else with a handle that cuBLAS takes, if `fault` isn't 0."""
    library = planted.cublas()
    if library is None:
        pytest.skip("no libcublas on this machine")
    fields = ["alpha:float32=0.5", "fault:int32=0"]
    written = scaffold.new("MyPlugin", directory=tmp_path_factory.mktemp("handles"), fields=fields)
    file = written / "src/my_plugin.cpp"
    text = file.read_text()
    assert text.count(CLASS) == 1
    space = "namespace my_plugin\n"
    file.write_text(text.replace(CLASS, CLASS + ATTACH).replace(space, DECLARED + space, 1))
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
