"""`--farm local:N`: workers that are forks, what they have in common with the client, and that none is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from pluginkit import farm
from pluginkit.build.gpus import find_driver
from pluginkit.errors import PluginkitError, ToolMissing
from pluginkit.farm.arrivals import Arrivals
from pluginkit.farm.conditions import NO_GPU
from pluginkit.farm.executor import FarmExecutor
from pluginkit.farm.fleet import Fleet
from pluginkit.farm.local import opening
from pluginkit.process import fork_server
from pluginkit.run import runner
from pluginkit.run.options import Options
from tests.farm.cluster import PATIENT
from tests.farm.test_run import compared

pytestmark = pytest.mark.xdist_group("farm")


@pytest.fixture(scope="module")
def two() -> Iterator[Fleet]:
    with farm.open_fleet("local:2") as fleet:
        yield fleet


def pids(fleet: Fleet) -> list[int]:
    # The scheduler may not know yet that one is dead.
    return list(fleet.client.run(os.getpid, on_error="ignore").values())


def server() -> int:
    """Of the worker's own server."""
    (one,) = fork_server._running.values()
    assert one.owner == os.getpid()
    return one._process.pid


def gone(processes: Sequence[psutil.Process]) -> None:
    assert not psutil.wait_procs(processes, PATIENT)[1]


@pytest.mark.compile
def test_the_report_is_the_local_one_and_nothing_is_sent(two: Fleet, bar: Path) -> None:
    options = Options(project=bar, target="cpu", families=("plain",), only=("*/float32*",), evaluators=("host",))
    here = compared(runner.run(options))
    there = compared(runner.run(options, executor=FarmExecutor(two)))
    assert there["cases"] == here["cases"]
    (folder,) = {one.shared for one in two.ready}
    assert folder is not None
    held = Arrivals(folder).held()
    assert held
    assert any(one.held for one in two.ready)
    assert all(one.held <= held for one in two.ready), "all of it lies in the one folder"
    sent = [folder for one in two.workers for folder in Path(one.process).glob("pluginkit")]
    assert sent == [], "and nothing in a worker's own"


def test_a_worker_has_its_server_by_fork_and_is_replaced_where_it_dies(two: Fleet) -> None:
    first = pids(two)
    servers = [psutil.Process(pid) for pid in two.client.run(server).values()]
    assert sorted(one.ppid() for one in servers) == sorted(first)
    (mother,) = {psutil.Process(pid).ppid() for pid in first}
    commands = {tuple(one.cmdline()) for one in (*servers, psutil.Process(mother))}
    assert len(commands) == 1, "none is a program of its own"
    below = [one for one in servers if one.ppid() == first[0]]
    assert len(below) == 1
    os.kill(first[0], signal.SIGKILL)
    gone(below)
    deadline = time.monotonic() + PATIENT
    while True:
        two.refresh()
        now = pids(two)
        if len(two.ready) == 2 and first[0] not in now:
            break
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert first[1] in now


FAILS = """
import os, sys, time
from pluginkit.farm.local import dask_worker
forks = []
def fork(real=os.fork):
    forks.append(real)
    if len(forks) == 2:
        raise BlockingIOError("no process is left")
    return real()
async def work(*_):
    if len(forks) == 1:
        raise OSError("no descriptor is left")
os.fork, dask_worker._work, dask_worker.fork_server.branch, dask_worker.PAUSE = fork, work, lambda: None, 0.01
mother = os.getpid()
try:
    workers, deadline = dask_worker.LocalWorkers("", "", 1), time.monotonic() + 60
    while (workers._living or workers._due) and time.monotonic() < deadline:
        time.sleep(0.01)
    print(len(forks), "forks")
except Exception as error:
    print(error, "in the mother" if os.getpid() == mother else "in a worker")
"""


def test_a_worker_that_fails_has_a_successor_though_a_fork_fails_too() -> None:
    done = subprocess.run([sys.executable, "-c", FAILS], capture_output=True, text=True, timeout=PATIENT, check=True)
    assert done.stdout == "3 forks\n", done.stderr
    assert "OSError: no descriptor is left" in done.stderr
    assert "BlockingIOError: no process is left" in done.stderr


def test_why_a_worker_does_not_start_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DASK_DISTRIBUTED__WORKER__PRELOAD", "import nowhere_to_be_found")
    with pytest.raises(ToolMissing) as caught, farm.open_fleet("local:1"):
        pytest.fail("without workers")
    said = caught.value.message
    assert said.startswith("This machine's workers end as soon as they are started.\n")
    assert "ModuleNotFoundError: No module named 'nowhere_to_be_found'" in said
    assert "worker 0 ended with exit code 1" in said


class Waits:
    """An executor that is there when it is let."""

    def __init__(self) -> None:
        self.let, self.ended = threading.Event(), False

    @contextmanager
    def opened(self, error: PluginkitError | None = None) -> Iterator[Any]:
        assert self.let.wait(PATIENT)
        if error:
            raise error
        yield self
        self.ended = True

    def ids(self, work: object) -> list[object]:
        return [work]


def test_a_farm_that_is_opened_meanwhile_is_waited_for() -> None:
    waits = Waits()
    with opening.meanwhile(waits.opened()) as there:
        if not find_driver().gpus:
            assert there.gpus.obstacle() == NO_GPU, "said before it is there"
        waits.let.set()
        assert there.ids("work") == ["work"]  # type: ignore[arg-type]
    assert waits.ended
    with opening.meanwhile(waits.opened(ToolMissing("no memory"))) as there, pytest.raises(ToolMissing, match="no mem"):
        there.ids("work")  # type: ignore[arg-type]


HOLD = """
import os, sys, time
from pluginkit import farm
with farm.open_fleet("local:2") as fleet:
    print(*fleet.client.run(os.getpid).values(), flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize(
    "number", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)], ids=lambda one: one.name
)
def test_no_process_outlives_the_client(number: signal.Signals, tmp_path: Path) -> None:
    heard = "import signal; signal.signal(2, signal.default_int_handler)\n"
    with subprocess.Popen(
        [sys.executable, "-c", heard + HOLD],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as client:
        try:
            assert client.stdout is not None
            workers = [int(pid) for pid in client.stdout.readline().split()]
            assert len(workers) == 2
            below = psutil.Process(client.pid).children(recursive=True)
            assert {*workers} < {one.pid for one in below}
            client.send_signal(number)
            client.wait(PATIENT)
            gone(below)
        finally:
            client.kill()
    if number == signal.SIGINT:
        # Dask's scheduler leaves its folder with two locks, as it always does.
        assert [one.name for one in tmp_path.iterdir() if one.name != "dask-scratch-space"] == []
