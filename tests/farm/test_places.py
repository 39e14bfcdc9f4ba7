"""Each version of an evaluator's library, and each GPU's engines, is a place of its own: asked once, and told apart."""

from __future__ import annotations

import asyncio
import os
import platform
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from typing_extensions import Self

from pluginkit import farm
from pluginkit.build.gpus import Gpu
from pluginkit.errors import FarmLost
from pluginkit.evaluators.lean.evaluator import EVALUATOR as LEAN
from pluginkit.evaluators.protocol import Answers, Item, RunWork
from pluginkit.evaluators.rtx.engine_evaluator import EVALUATOR as ENGINES
from pluginkit.evaluators.rtx.evaluator import EVALUATOR as RTX
from pluginkit.evaluators.tensorrt.evaluator import EVALUATOR as TENSORRT
from pluginkit.farm import executor
from pluginkit.farm.arrays import WorkPayload
from pluginkit.farm.conditions import GpuChoice
from pluginkit.farm.executor import FarmExecutor, _Execution
from pluginkit.farm.facts import Kind
from pluginkit.farm.fleet import FarmWorker
from pluginkit.manifest import Manifest
from pluginkit.network.plan import Plan
from pluginkit.run import runner
from pluginkit.run.options import Options
from pluginkit.runtimes import Availability
from pluginkit.testing.report import Outcome, Verdict
from tests.farm.cluster import PATIENT, cluster
from tests.farm.test_gpus import H200, L4, facts

HERE = Path(__file__).parent
MANIFEST = Manifest.load(HERE.parents[1] / "samples" / "bar_plugin")
MACHINE = platform.machine()


def member(name: str, gpu: Gpu | None = None, **versions: str) -> FarmWorker:
    there = {
        evaluator.NAME: Availability(bool(versions.get(short)), version=versions.get(short, ""), reason="not here")
        for short, evaluator in {"rtx": RTX, "lean": LEAN, "engines": ENGINES, "full": TENSORRT}.items()
    }
    found = replace(facts(gpu), evaluators={"host": Availability(True), **there})
    return FarmWorker(f"tcp://{name}", name, name, 1, found)


OLD = member("old", L4, rtx="1.2.0.54", lean="10.13.0", engines="1.2.0.54")
NEW = member("new", H200, rtx="1.3.0.35", lean="10.13.0, 11.0.1", engines="1.3.0.35")
THIRD = member("third", rtx="1.3.0.35", lean="11.0.1")


class Slow:
    """A client whose workers answer at the third look, if ever; the last of them leaves at the `gone`-th."""

    def __init__(self, *there: FarmWorker, gone: int = 0) -> None:
        self.client, self.ready, self.workers = self, list(there), list(there)
        self.gone, self.looks, self.asked, self.cancelled = gone, 0, 0, 0

    def submit(self, function: object, *, workers: list[str], pure: bool) -> Slow:
        del function, pure
        assert workers, "Dask takes that for any worker"
        self.asked += 1
        return self

    def result(self, timeout: float) -> object:
        del timeout
        if self.looks < 3 or self.gone:
            raise asyncio.TimeoutError
        return (), "not here", ()

    def cancel(self) -> None:
        self.cancelled += 1

    def refresh(self) -> tuple[list[FarmWorker], list[FarmWorker]]:
        self.looks += 1
        if self.looks == self.gone:
            self.ready.clear()
        return [], []


def work() -> RunWork:
    plan = Plan((), (), 0)
    return RunWork(MANIFEST, HERE, plan, plan)


class Asked(FarmExecutor):
    """What workers of a kind would say, without them."""

    def _ask(self, kind: Kind, function: object) -> object:
        name = function.args[0]  # type: ignore[attr-defined]
        if name == LEAN.NAME:
            versions = {"10.13.0": ["10.13.0"], "11.0.1": ["10.13.0", "11.0.1"]}[kind.version]
            items = [Item(f"registry/{one}", name, "registries", subject=one) for one in versions]
        elif name == RTX.NAME:
            items = [Item(f"plain/{name}", name, "verdicts", "plain", needs=True)]
        else:
            items = [Item(name, name, "verdicts", whole=True)] if name == ENGINES.NAME else []
        return tuple(items), "", ()


def asked(*there: FarmWorker, on: str = "") -> FarmExecutor:
    fleet = SimpleNamespace(ready=list(there), workers=list(there), client=None)
    return Asked(fleet, GpuChoice.parse([on] if on else []))  # type: ignore[arg-type]


def test_each_version_and_each_gpu_is_asked_once() -> None:
    parts = {one.name: one for one in asked(OLD, NEW, THIRD).parts(work())}
    assert [item.on for item in parts["tensorrt-rtx"].items] == [f"tensorrt-rtx 1.3.0.35 on {MACHINE}"]
    assert [item.on for item in parts["tensorrt-rtx (1.2.0.54)"].items] == [f"tensorrt-rtx 1.2.0.54 on {MACHINE}"]
    assert [(item.id, item.on) for item in parts[LEAN.NAME].items] == [
        ("registry/11.0.1", f"{LEAN.NAME} 11.0.1 on {MACHINE}"),
        ("registry/10.13.0", f"{LEAN.NAME} 10.13.0 on {MACHINE}"),
    ]
    assert [name for name in parts if name.startswith(ENGINES.NAME)] == [
        f"{ENGINES.NAME} (sm_90)", f"{ENGINES.NAME} (sm_89, 1.2.0.54)",
    ]  # fmt: skip
    assert parts["tensorrt"].absent.startswith("on no worker of the farm")


def test_one_version_is_called_as_on_one_machine() -> None:
    names = [one.name for one in asked(NEW, THIRD).parts(work())]
    assert names == ["host", RTX.NAME, ENGINES.NAME, LEAN.NAME, "tensorrt"]
    assert {one.name: one.absent for one in asked(NEW).parts(work(), ("host",))}[RTX.NAME] == "not asked"


def test_engines_run_on_the_gpus_that_on_chooses() -> None:
    names = [one.name for one in asked(OLD, NEW, on="sm<90").parts(work())]
    assert [one for one in names if one.startswith(ENGINES.NAME)] == [ENGINES.NAME]
    parts = [one for one in asked(OLD, NEW, on="sm<90").parts(work()) if one.evaluator is ENGINES]
    assert [item.on for item in parts[0].items] == [f"{ENGINES.NAME} 1.2.0.54 on sm_89"]


def test_what_is_of_a_place_goes_there_and_its_verdict_says_so() -> None:
    there = asked(OLD, NEW, THIRD)
    parts = there.parts(work())
    kinds = {str(kind): kind for one in (RTX, LEAN, ENGINES, executor.HOST) for kind in there._kinds(one)}
    run = _Execution(
        there._fleet, work(), parts, {}, lambda *_: None, kinds, there.places, WorkPayload.of(work())
    )  # fmt: skip
    for one in (OLD, NEW, THIRD):
        run._joined(one)
    given: dict[str, set[str]] = {}
    while assigned := run._dispatcher.assignments():
        for name, batch in assigned:
            given.setdefault(name.split()[1], set()).update(run._names[place] for place in batch.items)
            run._dispatcher.finished(name, batch)
            for place in batch.items:
                item = run._items[place]
                run._answered(place, Answers((Verdict(item.network, item.evaluator, Outcome.PASSED),)), name)
    assert {"tensorrt-rtx (1.2.0.54)", f"{ENGINES.NAME} (sm_89, 1.2.0.54)"} <= given["old"]
    assert f"{ENGINES.NAME} (sm_90)" in given["new"]
    others = {name for one, names in given.items() if one != "old" for name in names}
    assert not any("1.2.0.54" in name for name in others)
    names = [one.runtime for place in range(len(run._items)) for one in run._found[place].results]  # type: ignore[union-attr]
    assert sorted(names) == sorted(run._names)


def test_workers_with_other_work_are_waited_for_until_none_is_left() -> None:
    there = Slow(NEW)
    patient = FarmExecutor(there, GpuChoice())  # type: ignore[arg-type]
    (kind,) = patient._kinds(RTX)
    assert patient._ask(kind, lambda: None) == ((), "not here", ())
    there = Slow(NEW, gone=2)
    with pytest.raises(FarmLost, match=r"No worker is left to ask about tensorrt-rtx 1\.3"):
        FarmExecutor(there, GpuChoice())._ask(kind, lambda: None)  # type: ignore[arg-type]
    assert there.asked == there.cancelled == 1
    with pytest.raises(FarmLost):
        FarmExecutor(there, GpuChoice())._ask(kind, lambda: None)  # type: ignore[arg-type]
    assert there.asked == 1


def test_a_scheduler_that_dies_meanwhile_is_said_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not a worker that has left, and no build that is tried again."""

    class Dying(Slow):
        def refresh(self) -> None:
            raise FarmLost("The farm's scheduler at tcp://here:1 no longer answers (OSError).")

    there = FarmExecutor(Dying(NEW), GpuChoice())  # type: ignore[arg-type]
    (kind,) = there._kinds(RTX)
    with pytest.raises(FarmLost, match="scheduler at tcp://here:1 no longer answers"):
        there._ask(kind, lambda: None)
    dying = Dying(NEW)
    there = FarmExecutor(dying, GpuChoice())  # type: ignore[arg-type]
    monkeypatch.setattr(there, "_builders", lambda: ["tcp://new:1"])
    (tmp_path / "pluginkit.toml").touch()
    with pytest.raises(FarmLost, match="scheduler at tcp://here:1 no longer answers"):
        there._build(tmp_path, ())
    assert dying.asked == 1


def test_who_leaves_after_planning_is_waited_for_and_before_the_checks_is_said() -> None:
    there = asked(NEW)
    parts = there.parts(work())
    given: list[dict[str, Kind]] = []

    class Run:
        def __init__(self, *arguments: object) -> None:
            given.append(arguments[5])  # type: ignore[arg-type]

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None: ...

        def run(self) -> dict[Item, Answers]:
            return {}

    there._fleet.ready.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(executor, "_Execution", Run)
        there.execute(work(), parts, {}, lambda *_: None)
    wanted = {item.on for part in parts for item in part.items if item.on}
    assert wanted
    assert {*wanted, f"host on {MACHINE}"} <= set(given[0])
    with pytest.raises(FarmLost, match="No worker is left to ask the library"), there.asker(HERE):
        pass


@pytest.mark.slow
@pytest.mark.compile
def test_two_registries_on_two_machines(bar: Path, tmp_path: Path) -> None:
    """tensorrt-lean 10 on one worker, 11 on another: a run asks both, each where it is."""
    folders = {name: os.environ[name] for name in ("PLUGINKIT_LEAN10", "PLUGINKIT_LEAN11")}
    with cluster(tmp_path / "farm") as own:
        for name, other in zip(folders, reversed(folders), strict=True):
            own.add(name=name.lower(), **{other: "/nowhere"})
        deadline = time.monotonic() + PATIENT
        with farm.open_fleet(own.address) as fleet:
            while len(fleet.ready) < 2:
                assert time.monotonic() < deadline
                time.sleep(0.2)
                fleet.refresh()
            found = FarmExecutor(fleet)
            only = ("registry/*", "plain/float32/opt")
            options = Options(project=bar, target="cpu", families=("plain",), only=only, timeout=PATIENT)
            report = runner.run(options, executor=found)
    where = {one.network.partition("/")[2].split(".")[0]: one.place.rpartition("/")[2] for one in report.registries}
    assert where == {"10": "pluginkit_lean10", "11": "pluginkit_lean11"}
    assert all(one.outcome is Outcome.PASSED for one in report.registries)
