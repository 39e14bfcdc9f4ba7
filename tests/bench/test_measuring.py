"""A whole measurement on target cpu, with a GPU that is none: values, launches, comparison, refusal. No speeds."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pluginkit import cli, gpu
from pluginkit.bench import baseline, bench_worker, plot, runner, values
from pluginkit.bench.cases import cases
from pluginkit.bench.measurements import BenchCase
from pluginkit.build import existing
from pluginkit.build.artifact import find_artifact
from pluginkit.build.gpus import DriverInfo, Gpu
from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed, UsageError
from pluginkit.host import Finding
from pluginkit.manifest import Manifest
from pluginkit.process.worker import WorkerCrashed, WorkerTimeout

from .fake_gpu import context

pytestmark = pytest.mark.compile


@pytest.fixture(scope="module")
def bar(bar: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what other tests build and read: the tests here change its files."""
    return Path(shutil.copytree(bar, tmp_path_factory.mktemp("bar") / bar.name))


@pytest.fixture
def on_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything happens in this process, on target cpu."""
    monkeypatch.setattr(gpu, "GpuContext", context())
    monkeypatch.setattr(runner, "find_driver", lambda: DriverInfo("13.0", (Gpu("no GPU", "9.0"),)))
    monkeypatch.setattr(runner, "Worker", InProcess)
    monkeypatch.setattr(runner, "_library", lambda options, arch: library(options.project))


class InProcess:
    """Looks like a worker."""

    def __init__(self, module: str, init: dict[str, Any], *, timeout: float) -> None:
        self.library = init["library"]
        self._served = bench_worker.BenchLibrary(**init)

    def call(self, method: str, *, timeout: float | None = None, **asked: Any) -> Any:
        return getattr(self._served, method)(**asked)

    def close(self) -> None:
        pass


def library(project: Path) -> Path:
    found = find_artifact(project, "cpu")
    assert found
    return found.library


def bench(project: Path, *args: str) -> tuple[int, dict[str, Any]]:
    # The project may be one that other workers of the run read at the same time.
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bench.json"
        code = cli.run(["bench", str(project), *args, "--json", str(file)])
        return code, json.loads(file.read_text())


def test_the_sample(bar: Path, tmp_path: Path, on_cpu: None, capsys: pytest.CaptureFixture[str]) -> None:
    code, output = bench(bar, "--only", "tiny/*", "--only", "small/*", "--plot", str(tmp_path / "bench.png"))
    assert code == 0
    message = capsys.readouterr().out
    assert [one["id"] for one in output["results"]] == [
        f"{shape}/{kind}" for shape in ("tiny", "small") for kind in ("float32", "float16", "bfloat16", "int8")
    ]
    for one in output["results"]:
        assert one["bytes"] == 5 * np.prod(list(one["symbols"].values())) * DType(one["precision"]).itemsize
        assert one["bandwidth"] == pytest.approx(one["bytes"] / one["times"]["median"])
        assert one["share_of_copy"] == pytest.approx(one["bandwidth"] / output["copy_rate"])
        assert one["turn_bytes"] > 4 * output["l2_bytes"]
        assert f"{one['id']} " in message
    assert (tmp_path / "bench.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert "no GPU, driver for CUDA 13.0" in message
    assert "bandwidth" in message
    if not baseline.importlib.util.find_spec("torch"):
        assert "torch is not installed" in message
        assert all("torch is not installed (" in one["baselines"][0]["problem"] for one in output["results"])


def test_a_plugin_with_scales(scale_project: Path, on_cpu: None) -> None:
    code, output = bench(scale_project, "--int8", "--fp16")
    assert code == 0
    assert {one["precision"] for one in output["results"]} == {"int8", "float16"}
    assert all(one["times"] and not one["problem"] and one["baselines"] == [] for one in output["results"])


def test_beside_another_library(
    bar: Path, on_cpu: None, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its times stand in a column; one that computes something else has none, and the plugin's stand all the same."""
    other = Path(shutil.copy(library(bar), tmp_path / "libother.so"))
    code, output = bench(bar, "--only", "tiny/float*", "--compare", str(other), "--compare", "torch.compile")
    assert code == 0
    for one in output["results"]:
        assert [beside["name"] for beside in one["baselines"]] == ["torch", "torch.compile", "libother.so"]
        assert one["baselines"][2]["expression"] == str(other)
        assert one["baselines"][2]["times"]["median"] > 0
    assert "(1.00 x)" in capsys.readouterr().out
    enqueue = bench_worker.BenchLayer.enqueue
    beside = {"libother.so": 0}

    def lazy(self: bench_worker.BenchLayer, *args: Any) -> None:
        if beside["libother.so"] == 0:
            enqueue(self, *args)

    class Counting(InProcess):
        def call(self, method: str, *, timeout: float | None = None, **asked: Any) -> Any:
            beside["libother.so"] = int(self.library == other)
            return super().call(method, timeout=timeout, **asked)

    monkeypatch.setattr(bench_worker.BenchLayer, "enqueue", lazy)
    monkeypatch.setattr(runner, "Worker", Counting)
    code, output = bench(bar, "--only", "tiny/float32", "--compare", str(other))
    assert code == 0
    found = output["results"][0]
    assert found["times"]
    assert "expected" in found["baselines"][-1]["problem"]
    assert "libother.so, none for tiny/float32" in capsys.readouterr().out


def test_torch_and_another_library_end_no_run(
    bar: Path, on_cpu: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever comes in their way, the plugin's times stay; a library that can't be loaded is said first."""

    class Crashing(InProcess):
        def call(self, method: str, *, timeout: float | None = None, **asked: Any) -> Any:
            if method == "baseline" and asked["compiled"]:
                raise WorkerCrashed("SIGSEGV", "triton", True, "")
            return super().call(method, **asked)

    monkeypatch.setattr(runner, "Worker", Crashing)
    code, output = bench(bar, "--only", "tiny/float32", "--compare", "torch.compile")
    assert code == 0
    assert output["results"][0]["times"]
    assert [bool(one["problem"]) for one in output["results"][0]["baselines"]] == [True, True]
    assert "SIGSEGV" in output["results"][0]["baselines"][1]["problem"]
    text = tmp_path / "libtext.so"
    text.write_text("no library")
    with pytest.raises(UsageError, match=r"--compare libtext.so: .*libtext.so is not an ELF"):
        runner.run(runner.BenchOptions(bar, only=("tiny/float32",), compare=(str(text),)))


def test_a_reference_that_takes_too_long_is_no_crash(bar: Path, on_cpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(InProcess):
        def call(self, method: str, *, timeout: float | None = None, **asked: Any) -> Any:
            if method == "prepare":
                raise WorkerTimeout(600.0, "", inside=False, log_tail="")
            return super().call(method, **asked)

    monkeypatch.setattr(runner, "Worker", Slow)
    code, output = bench(bar, "--only", "tiny/float32")
    assert code == 1
    assert "reference.py was not done after 600 s" in output["results"][0]["problem"]


def test_libraries_of_one_name(bar: Path, on_cpu: None, tmp_path: Path) -> None:
    """Each has its column."""
    (tmp_path / "old").mkdir()
    others = [shutil.copy(library(bar), tmp_path / place) for place in ("old/lib.so", "lib.so", "torch")]
    code, output = bench(bar, "--only", "tiny/float32", *(word for one in others for word in ("--compare", str(one))))
    assert code == 0
    names = [one["name"] for one in output["results"][0]["baselines"]]
    assert names == ["torch", "lib.so", str(others[1]), str(others[2])]


def test_what_there_is_nothing_to_compare_with(scale_project: Path, bar: Path, on_cpu: None) -> None:
    for project, what, message in (
        (scale_project, "torch", "--compare torch needs an expression of torch"),
        (bar, "libnone.so", "--compare libnone.so: there is no such library."),
    ):
        with pytest.raises(UsageError, match=message):
            runner.run(runner.BenchOptions(project, compare=(what,)))
    assert cli.run(["bench", str(bar), "--compare", "libnone.so", "--farm", "local:1"]) == 2
    # Said here: a farm at this address would not be reached.
    assert cli.run(["bench", str(bar), "--sweep", "z=1..2", "--farm", "tcp://127.0.0.1:1"]) == 2


def test_a_sweep(bar: Path, on_cpu: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each size beside a copy of as many bytes, in the table, in JSON and in the picture."""
    picture = tmp_path / "sweep.png"
    code, output = bench(bar, "--sweep", "16KiB..256KiB", "--fp16", "--plot", str(picture))
    assert code == 0
    assert [one["id"] for one in output["results"]] == ["16KiB/float16", "64KiB/float16", "256KiB/float16"]
    for one in output["results"]:
        assert one["share_of_copy"] == pytest.approx(one["copy"]["median"] / one["times"]["median"])
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert "of a copy of as many bytes at least, at " in capsys.readouterr().out
    code, output = bench(bar, "--sweep", "c=1..5", "--fp16", "--only", "c=4/*")
    assert [one["symbols"]["c"] for one in output["results"]] == [4]


def test_a_shapes_own_limits(bar: Path, on_cpu: None) -> None:
    """They are obeyed, and told in JSON."""
    kept = (bar / "reference.py").read_text(), (bar / "pluginkit.toml").read_text()
    try:
        (bar / "reference.py").write_text(kept[0].replace("return b,", "return b + 0.25,"))
        (bar / "pluginkit.toml").write_text(
            kept[1].replace('name = "tiny"', 'name = "tiny"\nallowed = { float32 = { atol = 0.3 } }')
        )
        code, output = bench(bar, "--only", "tiny/float*")
    finally:
        (bar / "reference.py").write_text(kept[0])
        (bar / "pluginkit.toml").write_text(kept[1])
    assert code == 1
    assert [bool(one["times"]) for one in output["results"]] == [True, False]
    assert [one["allowed"] for one in output["results"]] == [{"rtol": 0.0, "atol": 0.3, "steps": 0}, None]


def test_a_wrong_output_has_no_time(
    bar: Path, on_cpu: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (bar / "reference.py").read_text()
    try:
        (bar / "reference.py").write_text(text.replace("return b,", "b[-1, -1, -1, -1] += 1; return b,"))
        code, output = bench(bar, "--only", "tiny/*")
    finally:
        (bar / "reference.py").write_text(text)
    assert code == 1
    assert all(one["times"] is None and one["bandwidth"] is None for one in output["results"])
    message = capsys.readouterr().out
    assert "tiny/float32: not measured" in message
    assert "IPluginV2DynamicExt::enqueue: output 'copy' is " in message
    assert "at [0, 3, 15, 15], expected" in message
    assert "GB/s by copies" in message
    assert message.count("GB/s") == 1, "no bandwidth but the copy's"


def test_only_the_timed_launches_count(bar: Path, on_cpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin that writes the right output in the warm-up, and then nothing."""
    calls = iter(range(10**9))
    enqueue = bench_worker.BenchLayer.enqueue

    def lazy(self: bench_worker.BenchLayer, *args: Any) -> None:
        if next(calls) < 12:
            enqueue(self, *args)

    monkeypatch.setattr(bench_worker.BenchLayer, "enqueue", lazy)
    code, output = bench(bar, "--only", "tiny/float32")
    assert code == 1
    assert "expected" in output["results"][0]["problem"]
    assert "nan" in output["results"][0]["problem"]


def test_a_crash_is_told_and_the_next_case_runs(
    bar: Path, on_cpu: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Crashing(InProcess):
        def call(self, method: str, *, timeout: float | None = None, **asked: Any) -> Any:
            if method == "measure" and asked["case"].precision is DType.FLOAT16:
                raise WorkerCrashed("SIGSEGV", "IPluginV2DynamicExt::enqueue", True, "")
            return super().call(method, **asked)

    monkeypatch.setattr(runner, "Worker", Crashing)
    code, output = bench(bar, "--only", "tiny/float*")
    assert code == 6
    assert [bool(one["times"]) for one in output["results"]] == [True, False]
    assert "SIGSEGV in IPluginV2DynamicExt::enqueue" in capsys.readouterr().out


def test_no_gpu(bar: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "find_driver", lambda: DriverInfo(problem="no NVIDIA device here"))
    assert cli.run(["bench", str(bar)]) == 4
    output = " ".join(capsys.readouterr().err.split())
    assert "pluginkit bench measures on a GPU, and there is none here: no NVIDIA device here." in output


def test_the_library_that_another_build_makes_is_measured(
    bar: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`[library]` in pluginkit.toml: nothing is built here, and one of target cpu is not a library to measure."""
    made = library(bar)
    project = tmp_path / "theirs"
    project.mkdir()
    shutil.copy(bar / "reference.py", project)
    toml = (bar / "pluginkit.toml").read_text() + f"\n[library]\npath = {json.dumps(str(made))}\n"
    (project / "pluginkit.toml").write_text(toml)
    monkeypatch.setattr(runner, "find_driver", lambda: DriverInfo("13.0", (Gpu("no GPU", "9.0"),)))
    assert cli.run(["bench", str(project)]) == 2
    assert "is built for target cpu, but target gpu was requested" in capsys.readouterr().err
    monkeypatch.setattr(existing, "CONTROL", "no library exports this")
    monkeypatch.setattr(existing.gpu_code, "read", lambda file: object())
    monkeypatch.setattr(gpu, "GpuContext", context())
    monkeypatch.setattr(runner, "Worker", InProcess)
    code, output = bench(project, "--only", "tiny/float32")
    assert (code, output["library"]) == (0, str(made.resolve()))


def test_a_plot_needs_matplotlib(
    bar: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(plot.importlib.util, "find_spec", lambda name: None)
    assert cli.run(["bench", str(bar), "--plot", str(tmp_path / "x.png")]) == 4
    assert "--plot needs matplotlib, which isn't installed." in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "x.png").exists()


def test_files_that_can_not_be_written_are_refused_first(bar: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["bench", str(bar), "--json", "/nowhere/x.json"]) == 2
    assert "/nowhere/x.json cannot be written" in " ".join(capsys.readouterr().err.split())


# What the values are, and how they are compared.


def case_of(project: Path, name: str) -> tuple[Manifest, BenchCase]:
    manifest = Manifest.load(project)
    return manifest, next(case for case in cases(manifest) if case.id == name)


def test_scales_of_fields_are_taken_and_others_found() -> None:
    manifest, case = case_of(Path("samples/pool_int8"), "tiny/int8")
    reference = values.Reference.load(Path("samples/pool_int8"), manifest)
    message = values.make(manifest, reference, case, 0)
    assert message.scales == {"x": float(np.float32(0.05)), "y": float(np.float32(0.05))}
    found = values.make(manifest, reference, SimpleNamespace(**{**vars(case), "fields": {}, "id": "id"}), 0)
    assert found.scales["x"] > found.scales["y"] * 1.1
    assert {int(message.inputs[0].min()), int(message.inputs[0].max())} == {-128, 127}


LIMITS = values.Limits(rtol=0.1, atol=0.5, steps=1)


def test_what_is_within_limits_is_right() -> None:
    for got, want in (
        (np.array([1.0, np.nan, np.inf, 10.0]), np.array([1.4, np.nan, np.inf, 10.9])),
        (np.array([1, -128], np.int8), np.array([2, -127], np.int8)),
        (np.zeros((0, 3)), np.zeros((0, 3))),
        (np.array(3), np.array(3)),
        (np.array([7, 2]), np.ma.MaskedArray([0, 2], [True, False])),
    ):
        values.check("y", got, want, LIMITS, "enqueue")


def test_what_is_not_is_told_with_its_place() -> None:
    for got, want, message in (
        ([1.0, 3.0, 0.0], [1.0, 2.0, 9.0], r"'y' is 0 at \[0, 2\], expected 9: off by 9 \(2 of 3 values are off\)"),
        ([np.nan, 1.0, 1.0], [1.0, 1.0, 1.0], r"'y' is nan at \[0, 0\], expected 1: off by inf"),
        ([np.inf, 1.0, 1.0], [-np.inf, 1.0, 1.0], r"'y' is inf at \[0, 0\], expected -inf"),
    ):
        with pytest.raises(Finding, match=message):
            values.check("y", np.array([got]), np.array([want]), LIMITS, "enqueue")
    with pytest.raises(Finding, match=r"is 3 at \[\], expected 1: off by 2 "):
        values.check("y", np.array(3), np.array(1), LIMITS, "enqueue")
    with pytest.raises(Finding, match=r"is 3 at \[1\], expected 1: off by 2 steps"):
        values.check("y", np.array([1, 3], np.int8), np.array([1, 1], np.int8), LIMITS, "enqueue")
    with pytest.raises(Finding, match="off by 1 "):
        values.check("y", np.array([1], np.int32), np.array([2], np.int32), LIMITS, "enqueue")


def test_a_difference_far_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "PIECE", 100)
    want = np.zeros(1000, np.float32)
    got = want.copy()
    got[250], got[730] = 2, 5
    with pytest.raises(CheckFailed, match=r"is 5 at \[730\], expected 0: off by 5 \(2 of 1000"):
        values.check("y", got, want, LIMITS, "enqueue")
