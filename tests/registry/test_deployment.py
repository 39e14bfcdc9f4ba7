"""What `registry env` prints, run where the program is on PyPI: Python and Polygraphy."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from pluginkit.build.artifact import library_path
from pluginkit.paths import built_dir
from pluginkit.registry import deployment
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from tests.entry import building, hosts

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


def text(program: str, *libraries: Path) -> str:
    return next(one.text for one in deployment.forms(libraries) if one.program == program)


def test_each_form_has_a_page_and_names_the_library() -> None:
    for one in deployment.forms([Path("/a b/it's"), Path("/c")]):
        page = ROOT / "docs" / "deploying" / one.page
        assert "pluginkit registry env" in page.read_text()
        assert one.source.split(",", maxsplit=1)[0].split(" ")[0] in page.read_text().replace("\n", " ")
        if one.shell:
            words = shlex.split(one.text.replace("\\\n", " "))
            assert any("/a b/it's" in word for word in words)
            assert any("/c" in word for word in words)


def test_the_lines_are_for_a_shell(tmp_path: Path) -> None:
    lines = deployment.shell_lines([Path("/a b/it's"), Path("/c")])
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
    """TensorRT 8's has no loadLibrary where TensorRT 10's lies."""
    fake = building.fake_tensorrt(tmp_path, 8601, 10)
    code = f"import ctypes; ctypes.CDLL({str(fake)!r}); ctypes.CDLL({str(REGISTER)!r})"
    env = {**os.environ, deployment.VARIABLE: "/a"}
    ran = subprocess.run([sys.executable, "-S", "-c", code], check=True, capture_output=True, text=True, env=env)
    assert ran.stderr == "pluginkit: TensorRT 8601 is older than 10, so PLUGINKIT_PLUGINS is not followed there\n"
