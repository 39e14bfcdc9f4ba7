"""Which target a run takes, and whether a library has code for a GPU: decided before anything is launched."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from pluginkit.build import Artifact
from pluginkit.build.gpus import DriverInfo, Gpu
from pluginkit.cli import table
from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed, ToolMissing, UsageError
from pluginkit.library import gpu_code
from pluginkit.library.gpu_code import GpuCode, GpuCodes
from pluginkit.run import libraries, messages, on_gpu
from pluginkit.run.on_gpu import OnGpu
from pluginkit.run.options import Options
from pluginkit.testing.report import CaseResult, Outcome, Report

H100 = OnGpu(Gpu("NVIDIA H100", "9.0"), "13.0")


@pytest.mark.parametrize(("code", "capability", "runs"), [
    (GpuCode("SASS", 90), "9.0", True),
    (GpuCode("SASS", 80), "8.6", True),
    (GpuCode("SASS", 86), "8.0", False),
    (GpuCode("SASS", 80), "9.0", False),
    (GpuCode("SASS", 100), "9.0", False),
    (GpuCode("PTX", 80), "9.0", True),
    (GpuCode("PTX", 90), "8.9", False),
    (GpuCode("PTX", 90), "12.0", True),
    (GpuCode("SASS", 90, "a"), "9.0", True),
    (GpuCode("PTX", 90, "a"), "10.0", False),
    (GpuCode("SASS", 100, "f"), "10.3", True),
    (GpuCode("PTX", 100, "f"), "12.0", False),
])  # fmt: skip
def test_what_runs_where(code: GpuCode, capability: str, runs: bool) -> None:
    assert on_gpu.runs_on(code, capability) is runs


def found(*codes: GpuCode, known: bool = True) -> GpuCodes:
    return GpuCodes(codes, known)


def test_a_library_without_code_for_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = found(GpuCode("SASS", 80), GpuCode("SASS", 100), GpuCode("PTX", 100))
    monkeypatch.setattr(gpu_code, "read", lambda _: wrong)
    with pytest.raises(CheckFailed, match="no kernel image is available") as error:
        on_gpu.check(Path("lib.so"), H100)
    assert "it has sm_80 SASS, sm_100 SASS, compute_100 PTX, and NVIDIA H100 has compute capability 9.0" in str(
        error.value
    )
    assert error.value.hint == "pluginkit build --target gpu --arch 90 (or --arch native)"
    for right in (None, found(known=False), found(GpuCode("PTX", 75))):
        monkeypatch.setattr(gpu_code, "read", lambda _, one=right: one)
        on_gpu.check(Path("lib.so"), H100)


def test_a_library_of_a_toolkit_that_is_newer_than_the_driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = Artifact(tmp_path / "lib.so", {"cuda_compiler": {"version": "13.0.88"}})
    monkeypatch.setattr(on_gpu, "build", lambda *_, archs: [made])
    monkeypatch.setattr(gpu_code, "read", lambda _: None)
    assert on_gpu.library(tmp_path, [H100]) == made.library
    with pytest.raises(ToolMissing, match=r"made by nvcc 13\.0\.88, and this machine's driver is for CUDA 12\.4"):
        on_gpu.library(tmp_path, [OnGpu(H100.gpu, "12.4")])


def test_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_gpu, "find_driver", lambda: DriverInfo(problem="no NVIDIA device here"))
    assert on_gpu.obstacle() == "there is none that can be used: no NVIDIA device here"
    with pytest.raises(ToolMissing, match=r"Target gpu needs a GPU, and there is none .*: no NVIDIA device") as error:
        on_gpu.find()
    assert "--target cpu" in error.value.hint
    monkeypatch.setattr(on_gpu, "find_driver", lambda: DriverInfo("13.0", ()))
    assert on_gpu.obstacle() == "the driver lists none"


@pytest.mark.parametrize(("options", "obstacle", "targets", "message"), [
    (Options(), "", ("cpu",), ""),
    (Options(target="gpu"), "", ("gpu",), ""),
    (Options(target="auto"), "", ("cpu", "gpu"), ""),
    (Options(target="auto"), "the driver lists none", ("cpu",), "target gpu took no part: the driver lists none"),
    (Options(target="auto", sanitize=("thread",)), "", ("cpu",), "target gpu took no part: --sanitize is for target"),
    (Options(target="auto", schedules=2), "", ("cpu",), "target gpu took no part: --schedules is for target cpu"),
])  # fmt: skip
def test_targets(
    monkeypatch: pytest.MonkeyPatch, options: Options, obstacle: str, targets: tuple[str, ...], message: str
) -> None:
    monkeypatch.setattr(on_gpu, "obstacle", lambda: obstacle)
    got, output = libraries.targets(options)
    assert got == targets
    assert output.startswith(message)
    assert bool(output) == bool(message)


@pytest.mark.parametrize(("exports", "codes", "asked", "target"), [
    ({"pluginkit_cpu_control"}, None, "auto", "cpu"),
    (set(), found(GpuCode("SASS", 90)), "auto", "gpu"),
    (set(), None, "auto", "cpu"),
    (set(), None, "gpu", "gpu"),  # a plugin without kernels of its own
    ({"pluginkit_cpu_control"}, None, "gpu", "is built for target cpu"),
    (set(), found(GpuCode("SASS", 90)), "cpu", "is built for target gpu"),
])  # fmt: skip
def test_a_library_runs_where_it_was_built_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, exports: set[str], codes: GpuCodes | None, asked: str, target: str
) -> None:
    file = tmp_path / "lib.so"
    file.touch()
    monkeypatch.setattr(libraries, "exported", lambda _: exports)
    monkeypatch.setattr(gpu_code, "read", lambda _: codes)
    options = Options(library=file, target=asked)  # type: ignore[arg-type]
    if target in ("cpu", "gpu"):
        assert libraries.targets(options) == ((target,), "")
        return
    with pytest.raises(UsageError, match=target):
        libraries.targets(options)


def test_target_gpu_and_checks_of_target_cpu() -> None:
    with pytest.raises(UsageError, match="--schedules is for target cpu"):
        libraries.targets(Options(target="gpu", schedules=1))
    with pytest.raises(UsageError, match="address"):
        libraries.make(Options(target="gpu", sanitize=("address",)), ("gpu",), lambda *_: None)
    assert libraries.targets(Options(target="gpu", sanitize=("memcheck",))) == (("gpu",), "")


def test_a_report_says_where_each_case_ran() -> None:
    def case(target: str, outcome: Outcome) -> CaseResult:
        name = "plain/float32/opt"
        return CaseResult(
            name,
            "plain/float32",
            "plain",
            DType.FLOAT32,
            "opt",
            "n=2",
            outcome,
            target=target,  # type: ignore[arg-type]
        )

    report = Report("P", "lib.so", "0", 0, (case("cpu", Outcome.PASSED), case("gpu", Outcome.FAILED)), ())
    message = StringIO()
    table.show(report, Console(file=message, width=120), command="pluginkit test", detail=1)
    text = message.getvalue()
    assert "target" in text
    rows = [line.split() for line in text.splitlines() if "plain FP32" in line]
    assert [("gpu" in row, "cpu" in row) for row in rows] == [(False, True), (True, False)]
    assert "again: pluginkit test --only plain/float32/opt --seed 0 --target gpu" in text
    assert messages.failure(report.cases[0], report, "pluginkit test").again.endswith("--seed 0 --target cpu")
    assert [one["target"] for one in report.to_json()["cases"]] == ["cpu", "gpu"]


def test_junit_has_a_suite_for_each_target(tmp_path: Path) -> None:
    cases = tuple(
        CaseResult("a", "n", "plain", DType.FLOAT32, "opt", "", Outcome.PASSED, target=target)  # type: ignore[arg-type]
        for target in ("cpu", "gpu")
    )
    Report("P", "lib.so", "0", 0, cases, ()).write_junit(tmp_path / "j.xml")
    text = (tmp_path / "j.xml").read_text()
    assert 'testsuite name="host"' in text
    assert 'testsuite name="host gpu"' in text
