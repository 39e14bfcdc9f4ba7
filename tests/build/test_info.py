"""`pluginkit info`: what it finds, what it stars, what it says of what is missing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import pluginkit
from pluginkit import info
from pluginkit.build import gpus, toolchain
from pluginkit.build.gpus import DriverInfo, Gpu
from pluginkit.cli.inspection.info import command


@pytest.fixture(autouse=True)
def no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(info, "find_driver", lambda: DriverInfo(problem="no driver in this test"))


def find(items: list[info.SurveyItem], name: str) -> list[info.SurveyItem]:
    return [item for item in items if item.name == name]


def test_every_kind_of_thing_is_looked_for() -> None:
    items = info.survey()
    names = {item.name for item in items}
    assert names >= {
        "pluginkit", "Python", "C++ compiler", "CMake", "Ninja", "nvcc", "CUDA", "TensorRT, pluginkit's own",
        "host", "tensorrt-rtx", "tensorrt-lean", "tensorrt", "onnxruntime", "polygraphy", "pycuda", "NVIDIA GPU",
    }  # fmt: skip
    for item in items:
        assert item.found or item.note or item.remedy, item  # what is missing is explained
        assert not item.found or item.version, item


def test_one_of_each_tool_is_used_and_it_is_the_one_that_build_takes() -> None:
    items = info.survey()
    for name, tool in (("C++ compiler", toolchain.cxx_compiler()), ("CMake", toolchain.cmake())):
        used = [item for item in find(items, name) if item.used]
        assert [item.where for item in used] == [str(tool.best().path)]


def test_a_missing_compiler_and_headers_are_rows_and_no_errors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    monkeypatch.setattr(toolchain, "_wheel_roots", lambda: [tmp_path])
    monkeypatch.setattr(toolchain, "_cuda_homes", lambda: [tmp_path])
    items = info.survey()
    (compiler,) = find(items, "C++ compiler")
    assert not compiler.found
    assert "no-such-compiler" in compiler.note
    missing = [item for item in find(items, "CUDA") if not item.found]
    assert "pip install" in missing[0].remedy


def test_an_sdk_is_listed_and_says_whether_it_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, version in (("a", 10), ("b", 8)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "NvInfer.h").write_text("")
        text = f"#define NV_TENSORRT_MAJOR {version}\n#define NV_TENSORRT_MINOR 1\n#define NV_TENSORRT_PATCH 2\n"
        (tmp_path / name / "NvInferVersion.h").write_text(text)
    monkeypatch.setenv("TENSORRT_ROOT", str(tmp_path / "a"))
    monkeypatch.setenv("TENSORRT_DIR", str(tmp_path / "b"))
    items = {item.where: item for item in find(info.survey(), "TensorRT SDK")}
    assert items[str(tmp_path / "a")].used
    assert items[str(tmp_path / "a")].version == "10.1.2"
    assert not items[str(tmp_path / "b")].used
    (own,) = find(info.survey(), "TensorRT, pluginkit's own")
    assert own.note == "for layout 8, 11"


def test_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(info, "find_driver", lambda: DriverInfo("13.0", (Gpu("NVIDIA H100", "9.0"),)))
    (gpu,) = find(info.survey(), "NVIDIA H100")
    assert gpu.version == "SM 90"
    assert "9.0" in gpu.note


def test_the_driver_is_asked_in_a_process_that_may_die(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(gpus, "_DEVICES", (str(tmp_path),))
    script = tmp_path / "ask.py"
    monkeypatch.setattr(gpus, "__file__", str(script))
    script.write_text("import os; os.kill(os.getpid(), 11)")
    assert "signal SIGSEGV" in gpus.find_driver().problem
    script.write_text("import time; time.sleep(60)")
    assert "stopped after 0.5 s" in gpus.find_driver(timeout=0.5).problem
    facts = {"cuda": "13.0", "gpus": [{"name": "X", "capability": "12.0"}], "problem": "", "version": "580.159"}
    script.write_text(f"print({json.dumps(json.dumps(facts))})")
    assert gpus.find_driver() == DriverInfo("13.0", (Gpu("X", "12.0"),), "", "580.159")
    assert gpus.find_driver().gpus[0].arch == "120"


def test_every_extra_is_explained() -> None:
    text = (Path(pluginkit.__file__).parent.parent / "pyproject.toml").read_text()
    section = text.split("[project.optional-dependencies]")[1].split("\n[")[0]
    declared = {line.split("=")[0].strip() for line in section.splitlines() if line and line[0].isalpha()}
    assert declared == set(info.EXTRAS)


def test_the_command() -> None:
    result = CliRunner().invoke(command, [])
    assert result.exit_code == 0
    for message in (
        "C++ compiler",
        "tensorrt-rtx",
        "-m pip install 'tensorrt-rtx>=",
        "no driver in this test",
        sys.executable,
    ):
        assert message in result.output
    text = json.loads(CliRunner().invoke(command, ["--json"]).output)
    assert {item["group"] for item in text["items"]} == {"tools", "headers", "runtimes", "packages", "gpus"}
    assert set(text["extras"]) == set(info.EXTRAS)


def test_no_heavy_package_is_imported() -> None:
    heavy = ["onnxruntime", "polygraphy", "onnx", "tensorrt", "tensorrt_rtx", "tensorrt_lean"]
    code = f"import sys; from pluginkit import info; info.survey(); print([m for m in {heavy} if m in sys.modules])"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output == "[]\n"
