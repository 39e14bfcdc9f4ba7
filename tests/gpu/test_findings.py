"""What `pluginkit test --target gpu` finds: guards, poison, kernels that fault, and code for another GPU."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pluginkit import cli, scaffold
from pluginkit.build import build
from pluginkit.run import on_gpu
from pluginkit.run.options import Options
from pluginkit.run.runner import run
from pluginkit.testing.report import Outcome

pytestmark = [pytest.mark.gpu, pytest.mark.compile, pytest.mark.xdist_group("gpu")]


KERNEL = "src/my_plugin.cu"
STORE = "if (i < output.count)"


def in_float(statement: str) -> str:
    """Done by FP32's kernel alone."""
    return f"if (sizeof(T) == 4)\n    {{\n        {statement}\n    }}\n    {STORE}"


SPIN = "for (auto const begin = clock64(); clock64() - begin < 100000000000LL;)\n        {\n        }"
FAULTS = {
    "unwritten": ("if (i < output.count - 1)", "left unwritten: 1 of"),
    "beyond": (f"static_cast<T*>(output.data)[output.count] = T{{}};\n    {STORE}", "written beyond output 0"),
    "before": (f"static_cast<T*>(output.data)[-1] = T{{}};\n    {STORE}", r"bytes? before it"),
    "faults": (
        in_float("*reinterpret_cast<int*>(8) = 1;"),
        r"answered 0, but its work on the GPU failed: CUDA_ERROR_ILLEGAL_ADDRESS \(700\)",
    ),
    "traps": (in_float("__trap();"), r"its work on the GPU failed: CUDA_ERROR_"),
    "hangs": (in_float(SPIN), "no answer within 5 s"),
}


@pytest.fixture(scope="module", params=["dynamic", "ioext", "v3"])
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return scaffold.new("MyPlugin", directory=tmp_path_factory.mktemp(request.param), base=request.param, kernel="loop")


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults(project: Path, fault: str) -> None:
    """A kernel that faults poisons its process: the cases behind it run in another, and pass."""
    wrong, text = FAULTS[fault]
    file = project / KERNEL
    right = file.read_text()
    assert right.count(STORE) == 1
    file.write_text(right.replace(STORE, wrong))
    try:
        only = ("plain/float32/*", "plain/float16/*")
        limit = 5 if fault == "hangs" else 30
        report = run(Options(project=project, target="gpu", families=("plain",), only=only, jobs=1, timeout=limit))
    finally:
        file.write_text(right)
    first = [case for case in report.cases if case.precision.value == "float32"]
    then = [case for case in report.cases if case.precision.value == "float16"]
    assert first
    assert then
    for case in first:
        assert case.outcome is (Outcome.HUNG if fault == "hangs" else Outcome.FAILED)
        assert re.search(text, case.message)
    if fault in ("faults", "traps", "hangs"):
        assert {case.outcome for case in then} == {Outcome.PASSED}
        assert report.exit_code == (6 if fault == "hangs" else 1)


def test_code_for_another_gpu_is_said_before_a_launch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here = on_gpu.find()
    project = scaffold.new("MyPlugin", directory=tmp_path)
    other = "90a" if not here.gpu.capability.startswith("9") else "100"
    library = build(project, "gpu", archs=[other])[0].library
    assert cli.run(["test", str(project), "--library", str(library), "--network", "plain"]) == 1
    output = " ".join(capsys.readouterr().err.split())
    assert "no kernel image is available for execution on the device" in output
    assert f"sm_{other} SASS" in output
    assert f"compute capability {here.gpu.capability}" in output
    assert f"pluginkit build --target gpu --arch {here.gpu.arch}" in output
