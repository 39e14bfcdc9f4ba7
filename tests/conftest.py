"""What all tests share: where `make setup` puts NVIDIA's libraries, and projects and libraries that are built once."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.shared import Shared

NVIDIA = Path(__file__).resolve().parent.parent / ".venv-nvidia"

# tensorrt-lean 10 and 11 have one module name, so each lies in a folder of its own.
os.environ.setdefault("PLUGINKIT_LEAN10", str(NVIDIA / "lean10"))
os.environ.setdefault("PLUGINKIT_LEAN11", str(NVIDIA / "lean11"))
# A machine with TensorRT 8 has it for the tests that are marked real_tensorrt: the others see none.
if python := os.environ.pop("PLUGINKIT_TENSORRT8_PYTHON", ""):
    os.environ["PLUGINKIT_TESTS_TENSORRT8_PYTHON"] = python  # pytest-xdist's workers are told by it
SAMPLE = Path(__file__).resolve().parent.parent / "samples" / "bar_plugin"


pytest_plugins = ["tests.skips"]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A group's tests stay in one worker: what they share is built there, and nowhere else."""
    if getattr(config.option, "loadgroup", False):
        grouped = [item for item in items if item.get_closest_marker("xdist_group")]
        assert all("@" in item.nodeid.rpartition("::")[2] for item in grouped), "pytest-xdist knows no groups"
    _skip_what_the_machine_lacks(items)


def _skip_what_the_machine_lacks(items: list[pytest.Item]) -> None:
    """Tests on a GPU need one, and nvcc; those of RTX its wheel; those that name a compiler need that one."""
    for marker, obstacle in (("gpu", _without_gpu), ("rtx", _without_rtx)):
        marked = [item for item in items if item.get_closest_marker(marker)]
        if marked and (why := obstacle()):
            for item in marked:
                item.add_marker(pytest.mark.skip(reason=why))
    for compiler in ("g++", "clang++"):
        if shutil.which(compiler):
            continue
        skip = pytest.mark.skip(reason=f"{compiler} is not installed")
        for item in items:
            # Parameters are of any type; a NumPy array's == is not a bool.
            callspec = getattr(item, "callspec", None)
            if callspec and any(isinstance(value, str) and value == compiler for value in callspec.params.values()):
                item.add_marker(skip)


def _without_gpu() -> str:
    """Why nothing can be run on a GPU here; empty if it can."""
    from pluginkit.run import on_gpu

    why = on_gpu.obstacle()
    return why and f"target gpu: {why}"


def _without_rtx() -> str:
    """Why TensorRT-RTX can't be asked here, as where it has no wheel for this Python; empty if it can."""
    from pluginkit.runtimes.rtx import session as tensorrt_rtx

    return "" if tensorrt_rtx.probe().found else tensorrt_rtx.probe().reason


def _own_variables() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith("PLUGINKIT_")}


@pytest.fixture(autouse=True)
def _variables_stay() -> Iterator[None]:
    """A variable of pluginkit's that a test leaves behind changes what later tests of its process see."""
    before = _own_variables()
    yield
    assert _own_variables() == before, "the test left a variable of the environment changed"


@pytest.fixture(autouse=True)
def _tensorrt8(request: pytest.FixtureRequest, _variables_stay: None) -> Iterator[None]:
    """The Python that has TensorRT 8, for tests that are marked for it."""
    python = os.environ.get("PLUGINKIT_TESTS_TENSORRT8_PYTHON")
    if not python or not request.node.get_closest_marker("real_tensorrt"):
        yield
        return
    os.environ["PLUGINKIT_TENSORRT8_PYTHON"] = python
    yield
    del os.environ["PLUGINKIT_TENSORRT8_PYTHON"]


@pytest.fixture(scope="session")
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Shared:
    """pytest-xdist's workers have their folders in the run's."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if hasattr(request.config, "workerinput") else own) / "shared"
    folder.mkdir(exist_ok=True)
    return Shared(folder)


@pytest.fixture(scope="session")
def bar(shared: Shared, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """samples/bar_plugin, copied and built for target cpu."""
    copy = tmp_path_factory.mktemp("bar") / "bar_plugin"
    return shared.project(Path(shutil.copytree(SAMPLE, copy, ignore=shutil.ignore_patterns("build"))))


@pytest.fixture(scope="session")
def my_plugin(shared: Shared, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `pluginkit new MyPlugin` writes, built for target cpu."""
    from pluginkit import scaffold

    return shared.project(scaffold.new("MyPlugin", directory=tmp_path_factory.mktemp("new")))


@pytest.fixture(scope="session")
def scale_project(shared: Shared, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin Scale of the namespace acme, with the fields factor and mode.

    It computes right, and does wrong besides: where factor is 13 it launches on the default stream, where it is 17
    enqueue allocates, where it is 19 a kernel traps.
    """
    from pluginkit import scaffold

    project = scaffold.new(
        "Scale",
        directory=tmp_path_factory.mktemp("scale"),
        inputs=["x:float32,float16,int8:n,c"],
        fields=["factor:float32=2.0", "mode:int32=1"],
        namespace="acme",
        kernel="loop",
    )
    kernel = project / "src" / "scale.cu"
    text, launch, sum_ = kernel.read_text(), "    int64_t const wanted", "        float sum = 0.0F;\n"
    assert (text.count(launch), text.count(sum_)) == (1, 1)
    faults = "    cudaStream_t const stream = run.fields.factor == 13.0F ? nullptr : run.stream;\n"
    faults += "    if (run.fields.factor == 17.0F)\n    {\n        void* more = nullptr;\n"
    faults += "        static_cast<void>(cudaMalloc(&more, 4));\n        static_cast<void>(cudaFree(more));\n    }\n"
    trap = "        if (fields.factor == 19.0F)\n        {\n            __trap();\n        }\n"
    text = text.replace("0, run.stream>>>", "0, stream>>>")
    kernel.write_text(text.replace(launch, faults + launch).replace(sum_, trap + sum_))
    return shared.project(project)


FILLED = """public:
    size_t getWorkspaceSize(nvinfer1::DynamicPluginTensorDesc const*, int32_t, nvinfer1::DynamicPluginTensorDesc const*,
                            int32_t) const noexcept override
    {
        return 4096;
    }

    int32_t enqueue(nvinfer1::PluginTensorDesc const* in, nvinfer1::PluginTensorDesc const* out,
                    void const* const* inputs, void* const* outputs, void* workspace,
                    cudaStream_t stream) noexcept override
    {
        bool const filled = cudaMemsetAsync(workspace, 255, 4096, stream) == cudaSuccess;
        return filled ? V3Layer::enqueue(in, out, inputs, outputs, workspace, stream) : 1;
    }
"""


@pytest.fixture(scope="session")
def three_plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of three plugins, one of each base, for its Python module; not built yet.

    Scale is an IPluginV2DynamicExt, whose kernels trap where factor is 13; Shift an IPluginV3 with a workspace, which
    its enqueue fills; Still an IPluginV2IOExt.
    """
    from pluginkit import scaffold

    project = scaffold.new(
        "Scale",
        directory=tmp_path_factory.mktemp("three"),
        inputs=["x:float32,float16,bfloat16,int8,float8:n,c"],
        fields=["factor:float32=2.0", "mode:int32=1"],
        kernel="loop",
    )
    scaffold.add(
        "Shift", project=project, base="v3", inputs=["a:float32,float16:n,c", "b:float32,float16:n,c"],
        outputs=["y:float32,float16:n,c", "z:float32,float16:n,c"], fields=["slope:float32"], namespace="acme",
    )  # fmt: skip
    scaffold.add("Still", project=project, base="ioext", inputs=["x:float32,int8:n,c,4"], namespace="acme")
    kernel, shift = project / "src" / "scale.cu", project / "plugins" / "shift" / "src" / "shift.h"
    for path, old, new in (
        (kernel, "float sum = 0.0F;", "float sum = 0.0F; if (fields.factor == 13.0F) { __trap(); }"),
        (shift, "Layer<Shift, Signature>\n{\n", f"Layer<Shift, Signature>\n{{\n{FILLED}"),
    ):  # fmt: skip
        text = path.read_text()
        assert text.count(old) == 1, (path, old)
        path.write_text(text.replace(old, new))
    return project
