"""A farm's GPUs: which `--on` chooses, which worker is given what, and for what the library is built."""

from __future__ import annotations

import asyncio
import hashlib
import io
import os
import platform
import tarfile
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from pluginkit.build.gpus import Gpu
from pluginkit.cli import table
from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed, ToolMissing, UsageError
from pluginkit.evaluators.host.evaluator import EVALUATOR as HOST
from pluginkit.evaluators.protocol import ON_CPU, Build, Item, RunWork
from pluginkit.farm import executor
from pluginkit.farm import gpus as farm_gpus
from pluginkit.farm.conditions import GpuChoice
from pluginkit.farm.executor import FarmExecutor, _Execution
from pluginkit.farm.facts import Facts, Kind
from pluginkit.farm.fleet import FarmWorker
from pluginkit.farm.gpus import FarmGpus
from pluginkit.farm.payloads import LibraryPayload, SourcePayload
from pluginkit.library import gpu_code
from pluginkit.library.gpu_code import GpuCode, GpuCodes
from pluginkit.manifest import Manifest
from pluginkit.network.plan import Plan
from pluginkit.run import libraries, messages
from pluginkit.run.items import EvaluatorPart
from pluginkit.run.options import Options
from pluginkit.runtimes import Availability
from pluginkit.testing.report import CaseResult, Outcome, Report

HERE = Path(__file__).parent
MANIFEST = Manifest.load(HERE.parents[1] / "samples" / "bar_plugin")
H200 = Gpu("NVIDIA H200", "9.0", 140 << 30, "GPU-11111111-0")
OTHER_H200 = Gpu("NVIDIA H200", "9.0", 140 << 30, "GPU-22222222-0")
L4 = Gpu("NVIDIA L4", "8.9", 22 << 30, "GPU-33333333-0")
T4 = Gpu("Tesla T4", "7.5", 15 << 30)


def facts(gpu: Gpu | None, host: str = "here", machine: str = platform.machine(), nvcc: bool = False) -> Facts:
    there = {"host": Availability(True)}
    return Facts(
        host, machine, "3.11.2", "0.1.0", 4, 1 << 30, (gpu,) if gpu else (), "13.0", "580.82.07", nvcc, evaluators=there
    )


def worker(name: str, gpu: Gpu | None, **other: object) -> FarmWorker:
    return FarmWorker(f"tcp://{name}", name, name, 1, facts(gpu, **other))  # type: ignore[arg-type]


def fleet(*workers: FarmWorker) -> SimpleNamespace:
    return SimpleNamespace(ready=list(workers), client=None)


FLEET = fleet(worker("a", H200), worker("b", OTHER_H200), worker("c", L4), worker("d", T4), worker("e", None))


def chosen(*on: str) -> list[str]:
    return [one.key for one in FarmGpus(FLEET, GpuChoice.parse(on)).places]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("on", "keys"),
    [
        ((), ["sm_75", "sm_89", "sm_90"]),
        (("sm>=80",), ["sm_89", "sm_90"]),
        (("sm>=8.0, sm<9.0",), ["sm_89"]),
        (("sm>=80", "memory>=40"), ["sm_90"]),
        (("name==nvidia l4",), ["sm_89"]),
        (("name!=*h200*",), ["sm_75", "sm_89"]),
        (("cuda>=13",), ["sm_75", "sm_89", "sm_90"]),
        (("driver<580",), []),
        (("each-gpu", "sm>=80"), ["GPU-33333333-0", "GPU-11111111-0", "GPU-22222222-0"]),
        # A driver that gives no number: the machine has one.
        (("each-gpu", "sm<80"), ["GPU of here"]),
    ],
)
def test_what_on_chooses(on: tuple[str, ...], keys: list[str]) -> None:
    assert chosen(*on) == keys


@pytest.mark.parametrize("text", ["", "sm", "sm>=", "sm>=new", "cores>=2", "name>=a", "sm=>80", "each", "sm>=80,"])
def test_what_is_no_condition(text: str) -> None:
    with pytest.raises(UsageError) as error:
        GpuChoice.parse([text])
    assert "each-gpu" in error.value.hint


@given(st.text(max_size=12), st.sampled_from(["sm>=", "memory==", "name==", "driver!=", ""]))
def test_any_text_is_a_choice_or_refused(text: str, lead: str) -> None:
    try:
        choice = GpuChoice.parse([lead + text])
    except UsageError:
        return
    FarmGpus(FLEET, choice)  # type: ignore[arg-type]


def test_gpus_of_machines_that_libraries_here_are_not_for() -> None:
    jetson = fleet(worker("a", H200, machine="another"))
    with pytest.raises(ToolMissing, match="No worker of the farm has a GPU; it has NVIDIA H200, sm_90"):
        FarmGpus(jetson, GpuChoice()).find()  # type: ignore[arg-type]
    (place,) = FarmGpus(fleet(worker("a", H200)), GpuChoice()).places  # type: ignore[arg-type]
    assert place.takes(facts(OTHER_H200))
    assert not place.takes(facts(OTHER_H200, machine="another"))


def work(*builds: Build) -> RunWork:
    plan = Plan((), (), 0)
    return RunWork(MANIFEST, HERE, plan, plan, builds=builds)


def execution(gpus: FarmGpus, builds: list[Build]) -> _Execution:
    items = tuple(Item(f"case-{place}", HOST.NAME, "cases", "net", one) for place, one in enumerate(builds))
    return _Execution(
        FLEET,  # type: ignore[arg-type]
        work(*builds),
        [EvaluatorPart(HOST, items)],
        {},
        lambda *_: None,
        {"": Kind(HOST.NAME, "", platform.machine())},
        gpus.places,
    )


@pytest.mark.parametrize("on", ["each-gpu", "sm>=75"])
def test_each_case_runs_on_a_worker_with_the_gpu_that_it_is_for(on: str) -> None:
    gpus = FarmGpus(FLEET, GpuChoice.parse([on]))  # type: ignore[arg-type]
    builds = [ON_CPU, *(Build("gpu", where=one.description) for one in gpus.find())]
    run = execution(gpus, builds)
    for one in FLEET.ready:
        run._joined(one)
    given_to = {run._items[batch.items[0]].build: name for name, batch in run._dispatcher.assignments()}
    # Who runs what needs no GPU is open.
    given_to.pop(ON_CPU)
    assert len(given_to) == len(builds) - 1
    for build, name in given_to.items():
        gpu = run._there[name].facts.gpu  # type: ignore[union-attr]
        assert gpu is not None
        assert build.where.startswith(gpu.name)
        assert gpu.uuid[:12] in build.where or on != "each-gpu"


def test_a_gpus_place_is_not_another_workers() -> None:
    """Its case waits: who has another GPU must not run it."""
    gpus = FarmGpus(FLEET, GpuChoice.parse(["each-gpu", "name==*H200*"]))  # type: ignore[arg-type]
    run = execution(gpus, [Build("gpu", where=gpus.find()[0].description)])
    for one in FLEET.ready[1:]:
        run._joined(one)
    assert run._dispatcher.assignments() == []
    assert [str(one) for one in run._dispatcher.wanted()] == ["host on GPU-11111111-0"]
    run._joined(FLEET.ready[0])
    assert len(run._dispatcher.assignments()) == 1


def test_the_library_is_one_for_all_architectures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[object] = []
    library = tmp_path / "lib.so"
    library.with_suffix(".json").write_text('{"cuda_compiler": {"version": "13.0.88"}}')

    def build(project: Path, archs: object) -> Path:
        asked.append((project, archs))
        return library

    monkeypatch.setattr(farm_gpus, "_has_nvcc", lambda: False)
    codes = GpuCodes((GpuCode("SASS", 75), GpuCode("SASS", 89), GpuCode("SASS", 90)), True)
    monkeypatch.setattr(gpu_code, "read", lambda _: codes)
    gpus = FarmGpus(FLEET, GpuChoice(), build)  # type: ignore[arg-type]
    made = libraries.make(Options(project=tmp_path, target="gpu"), ("gpu",), lambda *_: None, gpus)
    assert asked == [(tmp_path, ["75", "89", "90"])]
    assert [one.path for one in made] == [library] * 3
    assert [one.build.where for one in made] == [
        "Tesla T4, sm_75, driver for CUDA 13.0",
        "NVIDIA L4, sm_89, driver for CUDA 13.0",
        "NVIDIA H200, sm_90, driver for CUDA 13.0",
    ]
    monkeypatch.setattr(gpu_code, "read", lambda _: GpuCodes(codes.codes[1:], True))
    with pytest.raises(CheckFailed, match=r"Tesla T4 has compute capability 7\.5"):
        gpus.library(tmp_path)
    library.with_suffix(".json").write_text('{"cuda_compiler": {"version": "14.0"}}')
    with pytest.raises(ToolMissing, match="driver is for CUDA 13"):
        gpus.library(tmp_path)


def test_nobody_can_build_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(farm_gpus, "_has_nvcc", lambda: False)
    gpus = FarmGpus(FLEET, GpuChoice())  # type: ignore[arg-type]
    assert libraries.targets(Options(target="auto"), gpus) == (
        ("cpu",), "target gpu took no part: nvcc is neither here nor on a worker of the farm",
    )  # fmt: skip
    monkeypatch.setattr(farm_gpus, "_has_nvcc", lambda: True)
    assert libraries.targets(Options(target="auto"), gpus) == (("cpu", "gpu"), "")


def test_sources_travel_without_what_was_made_of_them(tmp_path: Path) -> None:
    project = tmp_path / "project"
    for name in ("src/a.cu", "build/gpu/lib.so", ".git/config", "src/__pycache__/x.pyc", "pluginkit.toml"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(name)
    (project / "link.h").symlink_to(project / "src" / "a.cu")
    payload = SourcePayload.read(project)
    (project / "src" / "a.cu").touch()
    assert SourcePayload.read(project) == payload, "the same, whenever it was written"
    there = payload.put(tmp_path / "there")
    found = {str(one.relative_to(there)): one.read_text() for one in there.rglob("*") if one.is_file()}
    assert found == {"src/a.cu": "src/a.cu", "pluginkit.toml": "pluginkit.toml", "link.h": "src/a.cu"}
    assert not (there / "link.h").is_symlink()
    (project / "src" / "a.cu").write_text("changed")
    assert SourcePayload.read(project).put(tmp_path / "there") != there
    with pytest.raises(ValueError, match="another digest"):
        SourcePayload(payload.sha256, payload.data[:-1]).put(tmp_path)


def test_sources_of_any_folder_travel(tmp_path: Path) -> None:
    """With links that lead nowhere, as editors make them for a lock, or round; a pipe; folders called as ours are."""
    project = tmp_path / "project"
    other = tmp_path / "other"
    for name in ("src/dist/a.cu", "zstd/build/cmake/CMakeLists.txt", "two parts/b.h", "pluginkit.toml"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(name)
    (project / "empty").mkdir()
    (project / "src" / ".#a.cu").symlink_to("someone@here.1234")
    (project / "src" / "up").symlink_to(project)
    os.mkfifo(project / "pipe")
    other.mkdir()
    (other / "c.h").write_text("c")
    (other / "back").symlink_to(project)
    for name in ("one", "two"):
        (project / name).symlink_to(other)
    (project / "src" / "dist" / "a.cu").chmod(0o444)
    payload = SourcePayload.read(project)
    there = payload.put(tmp_path / "there")
    found = {str(one.relative_to(there)) for one in there.rglob("*") if one.is_file()}
    assert found == {
        "src/dist/a.cu", "zstd/build/cmake/CMakeLists.txt", "two parts/b.h", "pluginkit.toml", "one/c.h", "two/c.h",
    }  # fmt: skip
    assert (there / "empty").is_dir()
    assert (there / "src" / "dist" / "a.cu").stat().st_mode & 0o200, "it can be written when it comes again"
    assert payload.put(tmp_path / "there") == there


@pytest.mark.parametrize("gone", [1, 5])
def test_a_build_whose_worker_died_is_begun_anew(gone: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A nanny's new worker has another address, so what was sent to the old one never ends."""
    (tmp_path / "pluginkit.toml").touch()
    monkeypatch.setattr(executor, "LOOK", 0.0)
    library = tmp_path / "lib.so"
    library.write_bytes(b"library")
    asked: list[list[str]] = []

    class Client:
        def submit(self, *_: object, workers: list[str], pure: bool) -> SimpleNamespace:
            asked.append(workers)

            def result(timeout: float) -> LibraryPayload:
                if len(asked) <= gone:
                    raise asyncio.TimeoutError
                return LibraryPayload.read((), library)

            return SimpleNamespace(result=result, cancel=lambda: None)

    def ready() -> list[FarmWorker]:
        return [worker(str(len(asked)), H200, nvcc=True)]

    there = SimpleNamespace(client=Client(), ready=ready(), workers=[])
    there.refresh = lambda: setattr(there, "ready", ready())
    farm = FarmExecutor(there)  # type: ignore[arg-type]
    if gone == 1:
        assert farm._build(tmp_path, ["90"]).read_bytes() == b"library"
        assert len(asked) == 2
        assert asked[0] != asked[1]
    else:
        with pytest.raises(ToolMissing, match=f"{executor.ATTEMPTS} times"):
            farm._build(tmp_path, ["90"])


@pytest.mark.parametrize("name", ["../outside", "/outside", "src/../../outside"])
def test_sources_that_would_be_written_elsewhere_are_refused(tmp_path: Path, name: str) -> None:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as tar:
        tar.addfile(tarfile.TarInfo(name), io.BytesIO())
    payload = SourcePayload(hashlib.sha256(raw.getvalue()).hexdigest(), raw.getvalue())
    with pytest.raises(ValueError, match="not a file in their folder"):
        payload.put(tmp_path / "there")


def test_a_library_travels_once_for_all_its_builds(tmp_path: Path) -> None:
    file = tmp_path / "lib.so"
    file.write_bytes(b"library")
    builds = [Build("gpu", where="a"), Build("gpu", where="b")]
    items = tuple(Item(f"case-{place}", HOST.NAME, "cases", "net", one) for place, one in enumerate(builds))
    run = _Execution(
        fleet(),  # type: ignore[arg-type]
        work(*builds),
        [EvaluatorPart(HOST, items)],
        dict.fromkeys(builds, file),
        lambda *_: None,
        {},
    )
    assert run._libraries == (LibraryPayload.read(builds, file),)


def test_a_report_tells_two_gpus_apart(tmp_path: Path) -> None:
    """Each has a suite of JUnit and rows of the table."""

    def case(gpu: str, outcome: Outcome) -> CaseResult:
        return CaseResult(
            "plain/float32/opt", "plain/float32", "plain", DType.FLOAT32, "opt", "n=2", outcome, target="gpu", gpu=gpu
        )

    first, second = (f"NVIDIA H200, here {one}, sm_90, driver for CUDA 13.0" for one in ("GPU-1", "GPU-2"))
    report = Report("P", "lib.so", "0", 0, (case(first, Outcome.PASSED), case(second, Outcome.FAILED)), ())
    text = StringIO()
    table.show(report, Console(file=text, width=140), command="pluginkit test", detail=1)
    rows = [line for line in text.getvalue().splitlines() if "plain FP32" in line]
    assert ["H200, here GPU-1, sm_90" in row for row in rows] == [True, False]
    assert ["H200, here GPU-2, sm_90" in row for row in rows] == [False, True]
    assert messages.failure(report.cases[1], report, "pluginkit test").head == f"plain/float32/opt on {second}: failed"
    report.write_junit(tmp_path / "j.xml")
    suites = [line for line in (tmp_path / "j.xml").read_text().splitlines() if "<testsuite " in line]
    assert [f"host gpu ({one})" in line for one, line in zip((first, second), suites, strict=True)] == [True, True]
    assert [one["gpu"] for one in report.to_json()["cases"]] == [first, second]
