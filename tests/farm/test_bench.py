"""`pluginkit bench --farm`: which GPU is measured, what is sent there, and that nothing else runs on it meanwhile.

No GPU is needed: what measures is a stand-in. Workers are threads of this process.
"""

from __future__ import annotations

import fcntl
import logging
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from distributed import Client, LocalCluster

from pluginkit import cli
from pluginkit.bench import BenchOptions, BenchReport, runner
from pluginkit.bench.measurements import Machine
from pluginkit.build.gpus import NO_GPU, DriverInfo, Gpu
from pluginkit.errors import CheckFailed, PluginkitError, ToolMissing, UsageError
from pluginkit.farm import benching, facts, gpu_lock, worker
from pluginkit.farm import gpus as farm_gpus
from pluginkit.farm.conditions import GpuChoice
from pluginkit.farm.fleet import Fleet

H200 = Gpu("NVIDIA H200", "9.0", 140 << 30, "GPU-11111111-0")
H200B = Gpu("NVIDIA H200", "9.0", 140 << 30, "GPU-22222222-0")
L4 = Gpu("NVIDIA L4", "8.9", 22 << 30, "GPU-33333333-0")
RTX_4090 = Gpu("NVIDIA GeForce RTX 4090", "8.9", 24 << 30, "GPU-44444444-0")
MACHINE = Machine("stand-in", "9.0", "13.0", 1, 1.0, 1)


@contextmanager
def fleet(folder: Path) -> Iterator[Fleet]:
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=2,
            processes=False,
            dashboard_address=None,
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
            silence_logs=logging.CRITICAL,
            local_directory=str(folder / "dask"),
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        found = Fleet(client, "inproc")
        found.refresh()
        yield found


@pytest.fixture
def on_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(facts, "find_driver", lambda: DriverInfo("13.0", (H200,), version="580"))
    monkeypatch.setattr(gpu_lock, "gpu", lambda: "pluginkit-test-gpu")
    monkeypatch.setattr(worker, "IDLE", 0.4)
    monkeypatch.setattr(benching, "check_code", lambda *_: None)
    yield
    monkeypatch.setattr("tempfile.tempdir", None)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    home = tmp_path / "project"
    (home / "src").mkdir(parents=True)
    (home / "pluginkit.toml").touch()
    (home / "reference.py").write_text("one")
    (home / "lib.so").write_bytes(b"library")
    return home


def test_it_runs_there_and_the_report_is_the_local_one(
    on_gpu: None, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[BenchOptions] = []

    def run(options: BenchOptions) -> BenchReport:
        asked.append(options)
        assert options.library is not None
        assert options.library.read_bytes() == b"library"
        assert options.project != project
        assert (options.project / "reference.py").read_text() == "one"
        return BenchReport("P", str(options.library), "0", MACHINE)

    monkeypatch.setattr(runner, "run", run)
    options = BenchOptions(project, only=("opt/*",), library=project / "lib.so", seed=3, timeout=7.0)
    with fleet(tmp_path) as there:
        found = benching.measure(there, GpuChoice(), options)
    assert found == BenchReport("P", str(project / "lib.so"), "0", MACHINE), "with this machine's path"
    assert asked == [replace(options, project=asked[0].project, library=asked[0].library)]


def test_what_it_raises_there_it_raises_here(
    on_gpu: None, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(_: BenchOptions) -> BenchReport:
        raise CheckFailed("no such kernel", hint="build it")

    monkeypatch.setattr(runner, "run", run)
    with fleet(tmp_path) as there, pytest.raises(CheckFailed, match="no such kernel"):
        benching.measure(there, GpuChoice(), BenchOptions(project, library=project / "lib.so"))


@pytest.mark.parametrize(
    ("gpus", "on", "error", "message"),
    [
        ((), (), ToolMissing, "No worker of the farm has a GPU"),
        ((H200,), ("sm<80",), ToolMissing, "No worker of the farm has a GPU of sm<80"),
        ((H200, L4), (), UsageError, "the farm has 2 kinds"),
        ((L4, RTX_4090), (), UsageError, "the farm has 2 kinds: NVIDIA GeForce RTX 4090, sm_89; NVIDIA L4, sm_89"),
        ((H200, H200B), ("each-gpu",), UsageError, "the farm has 2 kinds"),
        ((H200,), (), ToolMissing, "nvcc"),
    ],
)
def test_refusals_are_said_at_once(
    gpus: tuple[Gpu, ...],
    on: tuple[str, ...],
    error: type[PluginkitError],
    message: str,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tests.farm.test_gpus import fleet as pretended
    from tests.farm.test_gpus import worker as member

    def library(*_: object) -> Path:
        raise ToolMissing("nvcc is not here")

    monkeypatch.setattr(farm_gpus.on_gpu, "library", library)
    there = pretended(*(member(gpu.name, gpu) for gpu in gpus))
    with pytest.raises(error, match=message):
        benching.measure(there, GpuChoice.parse(on), BenchOptions(project))  # type: ignore[arg-type]


def test_another_gpu_of_the_architecture_or_machine_is_not_measured(project: Path) -> None:
    """Nor one that comes later."""
    from tests.farm.test_gpus import facts as had
    from tests.farm.test_gpus import fleet as pretended
    from tests.farm.test_gpus import worker as member

    there = pretended(member("a", L4))
    (place,) = farm_gpus.FarmGpus(there, GpuChoice()).places  # type: ignore[arg-type]
    one = benching._Measurement(there, place, {})  # type: ignore[arg-type]
    assert one._kinds(had(L4)) == ["sm_89"]
    assert one._kinds(had(RTX_4090)) == []
    assert one._kinds(had(L4, machine="another")) == []


def test_on_without_a_farm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("bench", "check"):
        assert cli.run([command, str(tmp_path), "--on", "sm>=80"]) == 2
        assert "--on chooses among a farm's GPUs" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--jobs=2", "--in-process", "--fuzz=10s", "--fuzz-input=1"])
def test_what_of_check_does_not_go_with_a_farm(option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["check", str(tmp_path), "--farm", "tcp://127.0.0.1:9", option]) == 2
    assert f"--farm and {option.partition('=')[0]} don't go together" in capsys.readouterr().err


def begun(turn: Callable[[], object]) -> tuple[threading.Event, threading.Event, threading.Thread]:
    """A thread that takes a turn, until it is told to end."""
    there, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with turn():  # type: ignore[attr-defined]
            there.set()
            leave.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    return there, leave, thread


def wait_at_the_door(folder: Path) -> None:
    """Until somebody holds it."""
    handle = os.open(folder / "pluginkit-test-gpu-door.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            fcntl.flock(handle, fcntl.LOCK_UN)
            time.sleep(0.01)
        pytest.fail("nobody is at the door")
    finally:
        os.close(handle)


def test_a_measurement_is_alone_on_its_gpu(on_gpu: None, tmp_path: Path) -> None:
    """Batches that run end first; those that come later wait, so that they can't keep it waiting."""
    one, one_leaves, first = begun(gpu_lock.together)
    two, two_leaves, second = begun(gpu_lock.together)
    assert one.wait(60)
    assert two.wait(60), "batches share it"
    measuring, measured, third = begun(gpu_lock.alone)
    wait_at_the_door(tmp_path)
    one_leaves.set()
    first.join()
    assert not measuring.wait(0.2), "one batch is still there"
    late, late_leaves, fourth = begun(gpu_lock.together)
    assert not late.wait(0.2), "who comes later waits"
    two_leaves.set()
    assert measuring.wait(60)
    assert not late.wait(0.2)
    measured.set()
    assert late.wait(60)
    late_leaves.set()
    for thread in (second, third, fourth):
        thread.join()


def test_without_a_gpu_nobody_waits_and_nothing_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_lock, "gpu", lambda: "")
    with gpu_lock.together(), gpu_lock.together():
        pass
    with pytest.raises(ToolMissing, match="no longer reports a GPU"), gpu_lock.alone():
        pass


def test_a_driver_that_was_too_slow_once_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [DriverInfo(problem="no answer within 20 s"), DriverInfo(problem=NO_GPU), DriverInfo("13.0", (H200,))]
    monkeypatch.setattr(gpu_lock, "find_driver", lambda: answers.pop(0))
    monkeypatch.setattr(gpu_lock, "_DRIVER", gpu_lock._Driver())
    assert gpu_lock.gpu() == ""
    assert (gpu_lock.gpu(), len(answers)) == ("", 1), "the slow one was asked again"
    assert (gpu_lock.gpu(), len(answers)) == ("", 1), "not at every batch of a worker that has none"
    gpu_lock._DRIVER._again = 0.0
    assert gpu_lock.gpu().endswith(f"-{H200.uuid}")
    assert gpu_lock.gpu().endswith(f"-{H200.uuid}"), "it isn't asked a third time"


def test_a_worker_of_many_threads_asks_the_driver_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each asks a process of its own: fifty at once have been slower than the driver's time limit."""
    asked = []
    together = threading.Barrier(8)

    def find() -> DriverInfo:
        asked.append(1)
        time.sleep(0.05)
        return DriverInfo("13.0", (H200,))

    monkeypatch.setattr(gpu_lock, "find_driver", find)
    monkeypatch.setattr(gpu_lock, "_DRIVER", gpu_lock._Driver())

    def name(_: int) -> str:
        together.wait(60)
        return gpu_lock.gpu()

    with ThreadPoolExecutor(8) as pool:
        names = set(pool.map(name, range(8)))
    assert (len(asked), len(names)) == (1, 1)


def test_the_machine_is_asked_as_it_is() -> None:
    """The stand-ins above are of this machine's kind."""
    assert facts.of_this_machine().machine == platform.machine()
