"""What `registry env` prints, run: by the programs that are on PyPI, else by what does as their documents say."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from pluginkit import cli
from pluginkit.build import gpus, toolchain
from pluginkit.build.artifact import library_path
from pluginkit.build.gpus import DriverInfo
from pluginkit.paths import built_dir, include_dir
from pluginkit.registry import deployment
from pluginkit.registry.bundles import variants
from pluginkit.registry.storage.store import Store
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from tests.compilers import default_cxx
from tests.entry import building, hosts

from .conftest import Make

ROOT = Path(__file__).parents[2]
REGISTER = built_dir() / deployment.REGISTER
needs_rtx = pytest.mark.skipif(not tensorrt_rtx.probe().found, reason="no TensorRT-RTX")
OPEN = """
import ctypes, sys
if sys.argv[2] == "rtx":
    import tensorrt_rtx as trt
else:
    import tensorrt_lean as trt
ctypes.CDLL(sys.argv[1])
print([one.name for one in trt.get_plugin_registry().all_creators if one.name == "Scale"])
"""


def text(program: str, *libraries: Path, target: str = "gpu") -> str:
    return next(one.text for one in deployment.forms(libraries, target) if one.program == program)


def test_each_form_has_a_page_and_names_the_library() -> None:
    libraries = [Path("/a b/it's"), Path("/c")]
    for one in (*deployment.forms(libraries, "gpu"), *deployment.forms(libraries, "cpu")):
        page = ROOT / "docs" / "deploying" / one.page
        assert "pluginkit registry env" in page.read_text()
        assert one.source.split(",", maxsplit=1)[0].split(" ")[0] in page.read_text().replace("\n", " ")
        if one.shell:
            words = shlex.split(one.text.replace("\\\n", " "))
            assert any("/a b/it's" in word for word in words)
            assert any("/c" in word for word in words)


def test_the_lines_are_for_a_shell(tmp_path: Path) -> None:
    lines = deployment.shell_lines({"gpu": [Path("/a b/it's"), Path("/c")]})
    script = "\n".join([*lines, "printenv PLUGINKIT_PLUGINS ORT_TENSORRT_EXTRA_PLUGIN_LIB_PATHS"])
    ran = subprocess.run(["sh", "-e", "-c", script], check=True, capture_output=True, text=True)
    assert ran.stdout.splitlines() == ["/a b/it's:/c", str(REGISTER)]


@needs_rtx
def test_the_python_form(scale_project: Path) -> None:
    form = text("Python", library_path(scale_project, "scale", "cpu"))
    program = f"import tensorrt_rtx as trt\nruntime = trt.Runtime(trt.Logger())\n{form}\n"
    program += "print([one.name for one in runtime.get_plugin_registry().all_creators if one.name == 'Scale'])"
    ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert ran.stdout.splitlines()[-1] == "['Scale']"


@needs_rtx
def test_the_form_of_polygraphy(scale_project: Path, tmp_path: Path) -> None:
    """With RTX's names in the places of TensorRT's, and `convert`, since nothing runs without a GPU."""
    node = helper.make_node("Scale", ["x"], ["y"], domain="acme", plugin_namespace="acme", plugin_version="1")
    tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xy"]
    graph = helper.make_graph([node], "g", tensors[:1], tensors[1:])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("acme", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), tmp_path / "MODEL.onnx")
    wheel = Path(tensorrt_rtx.probe().where)
    form = text("Polygraphy", library_path(scale_project, "scale", "cpu"))
    form = form.replace("libnvinfer.so.10", str(next(wheel.glob("libtensorrt_rtx.so.*"))))
    form = form.replace("run MODEL.onnx --trt", "convert MODEL.onnx -o MODEL.plan --convert-to trt")
    (tmp_path / "libtensorrt_rtx.so").symlink_to(next(wheel.glob("libtensorrt_rtx.so.*")))
    env = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path), "POLYGRAPHY_USE_TENSORRT_RTX": "1"}
    env["PATH"] = f"{Path(sys.executable).parent}:{env['PATH']}"
    ran = subprocess.run(["sh", "-c", form], check=False, capture_output=True, text=True, env=env, cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert b"Scale" in (tmp_path / "MODEL.plan").read_bytes()


STAND_IN = """#!{python}
import ctypes, sys
import tensorrt_rtx as trt

word = next(one for one in sys.argv[1:] if one.startswith({option!r}))
for path in word.removeprefix({option!r}).split(";"):
    if {load!r}:
        trt.get_plugin_registry().load_library(path)
    else:
        ctypes.CDLL(path)
print([one.name for one in trt.get_plugin_registry().all_creators if one.name == "Scale"])
"""


@needs_rtx
@pytest.mark.parametrize(
    ("program", "command", "option", "load"),
    [
        ("trtexec", "trtexec", "--dynamicPlugins=", True),
        ("Triton", "tritonserver", "--backend-config=tensorrt,plugins=", False),
    ],
)
def test_the_forms_of_programs_that_need_a_gpu(
    scale_project: Path, tmp_path: Path, program: str, command: str, option: str, load: bool
) -> None:
    """By a program of that name that takes the option as the form's source says."""
    library = shutil.copy(library_path(scale_project, "scale", "cpu"), tmp_path / "a scale's.so")
    stand_in = tmp_path / "bin" / command
    stand_in.parent.mkdir()
    stand_in.write_text(STAND_IN.format(python=sys.executable, option=option, load=load))
    stand_in.chmod(0o755)
    env = {**os.environ, "PATH": f"{stand_in.parent}:{os.environ['PATH']}"}
    form = text(program, Path(library))
    ran = subprocess.run(["sh", "-e", "-c", form], check=True, capture_output=True, text=True, env=env)
    assert ran.stdout.splitlines()[-1] == "['Scale']"


@needs_rtx
def test_the_form_of_onnxruntime(scale_project: Path) -> None:
    form = text("onnxruntime", library_path(scale_project, "scale", "cpu"))
    script = f'{form}\n"$@" "$ORT_TENSORRT_EXTRA_PLUGIN_LIB_PATHS" rtx'
    command = ["sh", "-e", "-c", script, "sh", sys.executable, "-c", OPEN]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    assert ran.stdout.splitlines()[-1] == "['Scale']"


CPP = """
#include <NvInfer.h>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>

struct Runtime
{
    nvinfer1::IPluginRegistry& getPluginRegistry()
    {
        void* const loaded = dlopen(LIBRARY, RTLD_NOW);
        return *reinterpret_cast<nvinfer1::IPluginRegistry* (*)()>(dlsym(loaded, "getPluginRegistry"))();
    }
};

int main()
{
    Runtime own;
    Runtime* const runtime = &own;
    FORM
    std::puts(own.getPluginRegistry().getCreator("Scale", "1", "acme") != nullptr ? "Scale" : "none");
}
"""


@needs_rtx
@pytest.mark.compile
def test_the_cpp_form(scale_project: Path, tmp_path: Path) -> None:
    (library,) = Path(tensorrt_rtx.probe().where).glob("libtensorrt_rtx.so.*")
    form = text("C++", library_path(scale_project, "scale", "cpu"))
    (tmp_path / "main.cpp").write_text(CPP.replace("LIBRARY", f'"{library}"').replace("FORM", form))
    folders = [include_dir(), *toolchain.cuda_include_dirs()]
    flags = ["-std=c++17", "-DPLUGINKIT_TRT_LAYOUT=11", *(f"-I{one}" for one in folders), "-o", tmp_path / "main"]
    subprocess.run([default_cxx(), *flags, tmp_path / "main.cpp", "-ldl"], check=True)
    assert subprocess.run([tmp_path / "main"], check=True, capture_output=True, text=True).stdout.endswith("Scale\n")


def printed(output: str) -> list[str]:
    """The commands in comments of `registry env`'s output."""
    return [line.removeprefix("#     ") for line in output.splitlines() if line.startswith("#     ")]


@pytest.fixture
def store(scale_project: Path, tmp_path: Path) -> Path:
    """A store, in a folder with a space, with the library of target cpu."""
    place = tmp_path / "my store"
    assert cli.run(["registry", "add", str(scale_project), "--store", str(place)]) == 0
    return place


def test_what_is_printed_of_a_library_for_the_cpu_runs_there(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And nothing is that needs a GPU."""
    monkeypatch.setattr(gpus, "find_driver", DriverInfo)
    node = helper.make_node("Scale", ["x"], ["y"], domain="acme", plugin_namespace="acme", plugin_version="1")
    tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xy"]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("acme", 1)]
    onnx.save(
        helper.make_model(helper.make_graph([node], "g", tensors[:1], tensors[1:]), opset_imports=opsets, ir_version=8),
        tmp_path / "MODEL.onnx",
    )
    capsys.readouterr()
    assert cli.run(["resolve", str(tmp_path / "MODEL.onnx"), "--store", str(store)]) == 0
    output = capsys.readouterr().out
    assert not {"trtexec", "tritonserver", "export"} & set(output.split())
    command = output.partition("To load it in other programs: pluginkit ")[2].splitlines()[0]
    assert cli.run(shlex.split(command)) == 0
    output = capsys.readouterr().out
    assert not {"trtexec", "tritonserver", "export"} & set(output.split())
    (build, polygraphy, *python) = printed(output)
    assert build.startswith("pluginkit build --target all && ")
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    ran = subprocess.run(["sh", "-c", polygraphy], check=False, capture_output=True, text=True, env=env, cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    program = "\n".join([*python, "import numpy as np", "print(opened.run(None, {'x': np.ones((2, 3), np.float32)}))"])
    ran = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "array" in ran.stdout


def test_a_library_for_gpus_is_named_by_a_command_that_finds_it(
    store: Path, make: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gpus, "find_driver", DriverInfo)
    monkeypatch.setattr(variants, "check", lambda *_: None)  # it has no GPU code: the slow test's has
    other = make(
        name="other", release="0.0.0.dev1", target="gpu", gpu_code=({"kind": "SASS", "arch": 90},), cuda="13.0"
    )
    with Store.open(store) as opened:
        opened.add(other)
    assert cli.run(["registry", "env", "acme::Scale", "--store", str(store)]) == 0
    command, *_ = printed(capsys.readouterr().out)
    assert cli.run(shlex.split(command)[1:]) == 0
    output = capsys.readouterr().out
    assert "target gpu" in output
    assert "trtexec --onnx=MODEL.onnx" in output


@pytest.mark.slow
@pytest.mark.skipif(not any(one.usable for one in toolchain.nvcc().found()), reason="nvcc is not on this machine")
def test_the_commands_that_make_a_library_for_gpus(store: Path, scale_project: Path, tmp_path: Path) -> None:
    project = tmp_path / "scale"
    shutil.copytree(scale_project, project, ignore=shutil.ignore_patterns("build"))
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PLUGINKIT_STORE": str(store)}
    asked = [sys.executable, "-m", "pluginkit", "registry", "env", "acme::Scale"]
    before = subprocess.run(asked, check=True, capture_output=True, text=True, env=env).stdout
    command = printed(before)[0].replace("BUNDLE", "scale-0.0.0.bundle.tar.gz")
    subprocess.run(["sh", "-c", command], check=True, env=env, cwd=project)
    after = subprocess.run([*asked, "--for", "sm=none"], check=True, capture_output=True, text=True, env=env).stdout
    found = subprocess.run(["sh", "-c", printed(after)[0]], check=True, capture_output=True, text=True, env=env).stdout
    assert "target gpu" in found
    assert "trtexec --onnx=MODEL.onnx" in found


@needs_rtx
def test_opening_it_registers(scale_project: Path, tmp_path: Path) -> None:
    library = library_path(scale_project, "scale", "cpu")
    command = [sys.executable, "-c", OPEN, str(REGISTER), "rtx"]
    env = {**os.environ, deployment.VARIABLE: f"{library}::{tmp_path / 'none.so'}"}
    ran = subprocess.run(command, check=True, capture_output=True, text=True, env=env)
    assert ran.stdout.splitlines()[-1] == "['Scale']"
    assert f"does not load {tmp_path / 'none.so'} of PLUGINKIT_PLUGINS" in ran.stderr


@pytest.mark.lean
@pytest.mark.parametrize("major", [10, 11])
def test_opening_it_registers_with_either_layout(
    scale_project: Path, major: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "open.py"
    program.write_text(OPEN)
    monkeypatch.setenv(deployment.VARIABLE, str(library_path(scale_project, "scale", "cpu")))
    assert hosts.in_lean(major, program, str(REGISTER), "lean").splitlines()[-1] == "['Scale']"


@pytest.mark.parametrize(
    ("plugins", "message"),
    [
        ("", "PLUGINKIT_PLUGINS names no plugin library"),
        ("/a", "no TensorRT library is loaded in this process, so PLUGINKIT_PLUGINS is not followed"),
    ],
)
def test_nothing_to_do(plugins: str, message: str) -> None:
    command = [sys.executable, "-S", "-c", f"import ctypes; ctypes.CDLL({str(REGISTER)!r})"]
    env = {**os.environ, deployment.VARIABLE: plugins}
    assert message in subprocess.run(command, check=True, capture_output=True, text=True, env=env).stderr


@pytest.mark.compile
def test_a_registry_of_another_binary_interface_is_not_called(tmp_path: Path) -> None:
    """TensorRT 8.5's has no loadLibrary."""
    fake = building.fake_tensorrt(tmp_path, 8503, 8)
    code = f"import ctypes; ctypes.CDLL({str(fake)!r}); ctypes.CDLL({str(REGISTER)!r})"
    env = {**os.environ, deployment.VARIABLE: "/a"}
    ran = subprocess.run([sys.executable, "-S", "-c", code], check=True, capture_output=True, text=True, env=env)
    assert ran.stderr == (
        "pluginkit: the registry of TensorRT 8503 has no loadLibrary, so PLUGINKIT_PLUGINS is not followed there\n"
    )
