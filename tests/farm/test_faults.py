"""What becomes of a run whose workers die, come late, are of another version, or aren't there."""

from __future__ import annotations

import asyncio
import os
import platform
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from distributed import LocalCluster
from distributed.comm.core import CommClosedError

from pluginkit import evaluators, farm
from pluginkit.errors import FarmLost, ToolMissing
from pluginkit.evaluators.protocol import Answers, Item, RunWork
from pluginkit.farm.execution import Ended
from pluginkit.farm.executor import FarmExecutor, _Execution
from pluginkit.farm.facts import Kind
from pluginkit.farm.fleet import DASK, FarmWorker, Fleet, _problem
from pluginkit.farm.worker import Done
from pluginkit.manifest import Manifest
from pluginkit.network.plan import Plan
from pluginkit.paths import __version__
from pluginkit.run.items import EvaluatorPart
from tests.farm.cluster import PATIENT, Cluster, cluster

pytestmark = pytest.mark.xdist_group("faults")
HERE = Path(__file__).parent
MANIFEST = Manifest.load(HERE.parents[1] / "samples" / "bar_plugin")
KIND = Kind("sleeping", "1", "any")
PRELOAD = ("--preload", "tests.farm.sleeping_evaluator")


@pytest.fixture(scope="module")
def sleeping() -> Iterator[object]:
    """The evaluator of the tests' own, among the others."""
    before = evaluators.EVALUATORS
    from tests.farm import sleeping_evaluator

    yield sleeping_evaluator.EVALUATOR
    evaluators.EVALUATORS = before
    del sys.modules[sleeping_evaluator.__name__]


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("farm")) as made:
        made.add(*PRELOAD, "--nworkers", "3")
        other = "import pluginkit.farm.facts as f; f.__version__ = '0.0.1'"
        made.add("--preload", other, nanny=False, name="old")
        yield made


def work() -> RunWork:
    plan = Plan((), (), 0)
    return RunWork(MANIFEST, HERE, plan, plan)


def items(subjects: Sequence[float | str]) -> tuple[Item, ...]:
    return tuple(Item(f"case-{place}", "sleeping", "verdicts", subject=one) for place, one in enumerate(subjects))


def execute(fleet: Fleet, evaluator: object, subjects: Sequence[float | str]) -> list[Answers]:
    executor = FarmExecutor(fleet)
    asked = items(subjects)
    parts = [EvaluatorPart(evaluator, asked)]  # type: ignore[arg-type]
    found = executor.execute(work(), parts, {}, lambda *_: None)
    assert list(found) == list(asked), "the report's order"
    return [found[one] for one in asked]


def wait_for(fleet: Fleet, count: int) -> None:
    deadline = time.monotonic() + PATIENT
    while len(fleet.ready) < count:
        fleet.refresh()
        assert time.monotonic() < deadline
        time.sleep(0.1)


def pids(fleet: Fleet) -> list[int]:
    """Of the workers that take part, below their nannies. The old one has none, and wouldn't come again."""
    return list(fleet.client.run(os.getpid, workers=[one.address for one in fleet.ready]).values())


def test_workers_that_are_killed_lose_nothing_and_blame_nobody(started: Cluster, sleeping: object) -> None:
    with farm.open_fleet(started.address) as fleet:
        wait_for(fleet, 3)
        first = pids(fleet)

        def kill() -> None:
            time.sleep(0.7)
            # Both at once: an item that ran again, alone, where the second died later would be blamed, and rightly.
            for pid in first[:2]:
                os.kill(pid, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        answers = execute(fleet, sleeping, [0.02] * 150)
        killer.join()
        assert all(one.results[0].outcome.value == "passed" for one in answers)


def test_what_kills_its_workers_is_a_finding_after_the_second(started: Cluster, sleeping: object) -> None:
    with farm.open_fleet(started.address) as fleet:
        wait_for(fleet, 3)
        seconds = [0.01] * 20
        seconds[7] = -0.01
        answers = execute(fleet, sleeping, seconds)
        (bad,) = [one.results[0] for one in answers if one.results[0].outcome.bad]
        assert (bad.outcome.value, bad.network) == ("crashed", "case-7")  # type: ignore[union-attr]
        assert "died while it ran" in bad.message


@pytest.mark.slow
def test_a_late_worker_takes_part(sleeping: object, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    with cluster(tmp_path / "farm") as own:
        own.add(*PRELOAD, name="early")
        with farm.open_fleet(own.address) as fleet:
            wait_for(fleet, 1)
            late = threading.Timer(0.2, lambda: own.add(*PRELOAD, name="late", bound=False))
            late.start()
            # The first item ends when one of the last is executed, which the early worker can't begin before.
            answers = execute(fleet, sleeping, [f"wait for {flag}", *[f"make {flag}"] * 8])
            late.join()
        places = {one.results[0].place.partition("/")[2] for one in answers}
    assert places == {"early", "late"}


@pytest.mark.slow
def test_a_frozen_worker_is_given_up(sleeping: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("pluginkit.farm.fleet.SILENT", 3.0)
    with cluster(tmp_path) as own:
        frozen = own.add(*PRELOAD, nanny=False, name="frozen")
        own.add(*PRELOAD, name="other")
        with farm.open_fleet(own.address) as fleet:
            wait_for(fleet, 2)
            threading.Timer(0.3, lambda: os.kill(frozen.pid, signal.SIGSTOP)).start()
            answers = execute(fleet, sleeping, [0.05] * 40)
    assert all(one.results[0].outcome.value == "passed" for one in answers)


def test_a_scheduler_without_workers_is_said_at_once() -> None:
    with (
        LocalCluster(n_workers=0, dashboard_address=None, scheduler_kwargs={"dashboard_address": "127.0.0.1:0"}) as own,
        pytest.raises(ToolMissing, match="has no workers"),
        farm.open_executor(own.scheduler_address),
    ):
        pytest.fail("a run began")


def bare_scheduler(folder: Path) -> Cluster:
    """Of a cluster whose scheduler's Python has no pluginkit."""
    program = folder / "dask"
    program.write_text("import sys\nsys.modules['pluginkit'] = None\nfrom dask.__main__ import main\nmain()\n")
    return Cluster(folder, scheduler_program=str(program))


@pytest.mark.slow
def test_a_scheduler_without_pluginkit(tmp_path: Path) -> None:
    """It unpickles what is sent to the workers, so nothing would get to them."""
    own = bare_scheduler(tmp_path)
    own.start()
    try:
        own.add()
        with farm.open_fleet(own.address) as fleet:
            wait_for(fleet, 1)
        with (
            pytest.raises(ToolMissing, match=r"(?s)The scheduler .* no pluginkit .* there \(ModuleNotFoundError"),
            farm.open_executor(own.address),
        ):
            pytest.fail("a run began")
    finally:
        own.stop()


def scheduler(versions: tuple[str, str] | BaseException, distributed: str = DASK) -> Fleet:
    """A fleet of one worker whose scheduler answers so."""

    def run_on_scheduler(_: object, callback_timeout: float) -> tuple[str, str]:
        assert callback_timeout > 0
        if isinstance(versions, BaseException):
            raise versions
        return versions

    def get_versions() -> object:
        return {"scheduler": {"packages": {"distributed": distributed}}}

    client = SimpleNamespace(run_on_scheduler=run_on_scheduler, get_versions=get_versions)
    fleet = Fleet(client, "tcp://here:1")  # type: ignore[arg-type]
    facts = SimpleNamespace(machine=platform.machine())
    there = FarmWorker("tcp://there:2", "process", "w0", 1, facts)  # type: ignore[arg-type]
    fleet._members[there.address] = there
    return fleet


def test_a_scheduler_that_dies_or_has_another_dask() -> None:
    with pytest.raises(FarmLost, match=r"scheduler at tcp://here:1 no longer answers \(CommClosedError\)"):
        scheduler(CommClosedError("gone")).check()
    with pytest.raises(ToolMissing, match=f"distributed 1.2.3 there, {DASK} here"):
        scheduler((sys.version.split()[0], __version__), "1.2.3").check()


@pytest.mark.parametrize(
    ("versions", "problem"),
    [
        (("3.1.4", __version__), "Python 3.1.4 there"),
        ((sys.version.split()[0], "0.0.1"), f"pluginkit 0.0.1 there, {__version__} here"),
        (
            ModuleNotFoundError("No module named 'pluginkit'"),
            f"no pluginkit {__version__} there (ModuleNotFoundError: No module named 'pluginkit')",
        ),
        (AttributeError("no _installed"), f"no pluginkit {__version__} there (AttributeError: no _installed)"),
        ((sys.version.split()[0], __version__), ""),
    ],
)
def test_what_a_scheduler_lacks(versions: tuple[str, str] | BaseException, problem: str) -> None:
    fleet = scheduler(versions)
    if not problem:
        fleet.check()
        return
    with pytest.raises(ToolMissing, match="The scheduler of the farm at tcp://here:1 can't read") as caught:
        fleet.check()
    assert problem in str(caught.value)


def test_another_pluginkit_on_a_worker_is_refused_with_both_versions(started: Cluster) -> None:
    with farm.open_fleet(started.address) as fleet:
        deadline = time.monotonic() + PATIENT
        while not (old := [one for one in fleet.workers if one.name == "old"]):
            assert time.monotonic() < deadline
            fleet.refresh()
        assert old[0].problem == f"pluginkit 0.0.1 there, {__version__} here"
        assert old[0] not in fleet.ready


@pytest.mark.parametrize("gone", [False, True])
def test_a_batch_that_the_scheduler_forgets(gone: bool, sleeping: object) -> None:
    """As after `Client.restart`: where the worker is gone too, its batch runs elsewhere; else nobody would run it."""
    here = FarmWorker("tcp://there:2", "process", "w0", 1)
    name = f"{here.address} {here.process}"
    fleet = SimpleNamespace(refresh=lambda: ([], [here] if gone else []))
    parts = [EvaluatorPart(sleeping, items([0.1]))]  # type: ignore[arg-type]
    execution = _Execution(fleet, work(), parts, {}, lambda *_: None, {str(KIND): KIND})  # type: ignore[arg-type]
    execution._there[name] = here
    execution._dispatcher.joined(name, {KIND}, 1)
    ((_, batch),) = execution._dispatcher.assignments()
    ended = Ended(name, batch, SimpleNamespace(status="cancelled"))  # type: ignore[arg-type]
    if not gone:
        with pytest.raises(ToolMissing, match="forgotten the run; 0 of 1 items"):
            execution._take(ended)
        return
    execution._take(ended)
    execution._dispatcher.joined("another", {KIND}, 1)
    assert [worker for worker, _ in execution._dispatcher.assignments()] == ["another"]


def fetched(error: Exception | None, done: Done | None = None) -> Callable[[], _Execution]:
    """An execution of one item, whose answers were asked for once; gives it when they, or the error, are taken."""
    here = FarmWorker("tcp://there:2", "process", "w0", 1)
    name = f"{here.address} {here.process}"
    parts = [EvaluatorPart(SimpleNamespace(NAME="sleeping"), items([0.1]))]  # type: ignore[arg-type]
    execution = _Execution(SimpleNamespace(), work(), parts, {}, lambda *_: None, {str(KIND): KIND})  # type: ignore[arg-type]
    execution._there[name] = here
    execution._dispatcher.joined(name, {KIND}, 1)
    ((_, batch),) = execution._dispatcher.assignments()

    def result(timeout: float) -> Done:
        del timeout
        if error is not None:
            raise error
        return done or Done((), 0.0)

    future = SimpleNamespace(status="finished", result=result)
    execution._futures[name] = [future]  # type: ignore[list-item]
    execution._take(Ended(name, batch, future))  # type: ignore[arg-type]

    def take() -> _Execution:
        execution._take(execution._ended.get(timeout=60))
        return execution

    return take


def test_answers_that_cannot_be_read_end_the_run() -> None:
    """Nobody waits for them for ever."""
    take = fetched(ValueError("damaged"))
    with pytest.raises(ValueError, match="damaged"):
        take()


def test_answers_that_come_late_are_asked_for_again() -> None:
    take = fetched(TimeoutError() if sys.version_info >= (3, 11) else asyncio.TimeoutError())
    assert not take()._dispatcher.done
    assert not take()._dispatcher.done
    assert fetched(None, Done((Answers(),), 0.1))()._dispatcher.done


@pytest.mark.parametrize(
    ("versions", "problem"),
    [
        ({"Python": "3.1.4.final.0", "distributed": DASK}, "Python 3.1.4 there"),
        ({"Python": sys.version.split()[0], "distributed": "2020.1.0"}, f"distributed 2020.1.0 there, {DASK} here"),
        ({"Python": sys.version.split()[0], "distributed": DASK}, "it doesn't answer"),
    ],
)
def test_who_cannot_read_what_is_sent_takes_no_part(versions: dict[str, str], problem: str) -> None:
    assert _problem(versions, None).startswith(problem)


def test_a_farm_of_other_versions_alone_is_no_farm() -> None:
    fleet = Fleet(None, "tcp://here:1")  # type: ignore[arg-type]
    old = FarmWorker("tcp://there:2", "process", "w0", 1, None, "pluginkit 0.0.1 there, 0.2 here")
    fleet._members[old.address] = old
    with pytest.raises(ToolMissing, match=r"(?s)No worker .* can take part.*w0: pluginkit 0\.0\.1 there"):
        fleet.check()
