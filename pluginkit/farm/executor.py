"""A run's items, executed by the workers of a farm."""

from __future__ import annotations

import asyncio
import platform
import queue
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from distributed import Future
from packaging.version import InvalidVersion, Version
from typing_extensions import Self

from pluginkit.errors import PluginkitError, ToolMissing
from pluginkit.farm import worker
from pluginkit.farm.conditions import GpuChoice
from pluginkit.farm.dispatch import Batch, Dispatcher
from pluginkit.farm.facts import Facts, Kind
from pluginkit.farm.fleet import FarmWorker, Fleet
from pluginkit.farm.gpus import FarmGpus, GpuPlace
from pluginkit.farm.parcels import LibraryParcel, SourceParcel, outline, pack
from pluginkit.judges import judges
from pluginkit.judges.host.cases import result
from pluginkit.judges.host.judge import JUDGE as HOST
from pluginkit.judges.protocol import Answers, Build, Item, Judge, RunWork
from pluginkit.manifest.project import root
from pluginkit.network.large import LargeCase
from pluginkit.run.executors import ItemSteps
from pluginkit.run.items import JudgePart, groups
from pluginkit.run.on_gpu import GpuSource
from pluginkit.run.options import Step
from pluginkit.testing.report import Outcome, Verdict

LOOK = 0.5
"""Seconds between two looks at who is there, at least."""
LOOKED_AT = 200
"""Workers that are looked at in a second: each takes time of the scheduler's."""
FETCH = 5.0
"""Seconds that one attempt to fetch a batch's answers takes: a dead worker's don't come."""
ANY_GPU = GpuChoice()
FETCHES = 8
"""Batches whose answers are fetched at once."""
ATTEMPTS = 3
"""How often the library of target gpu is begun anew where the workers that build it are gone."""
PATIENCE = 60.0
"""Seconds that a run waits for a worker of a kind that it had: a nanny starts a new one in a few."""


@dataclass(frozen=True)
class _Ended:
    """A batch's future has ended, in whatever way."""

    worker: str
    batch: Batch
    future: Future[Any]
    answers: Sequence[Answers] | None = None
    """Where it has finished and they were fetched."""
    error: Exception | None = None
    """What fetching them raised that asking again won't mend."""


class FarmExecutor:
    """An `pluginkit.run.executors.Executor` of a farm's workers: each judge is asked once for each kind of worker."""

    def __init__(self, fleet: Fleet, choice: GpuChoice = ANY_GPU) -> None:
        self._client = fleet.client
        self._fleet = fleet
        self._gpus = FarmGpus(fleet, choice, self._build if self._builders() else None)
        self._gpus.check()

    @property
    def gpus(self) -> GpuSource:
        """Those that `--on` chooses."""
        return self._gpus

    def ids(self, work: RunWork) -> Sequence[str]:
        """Those of the judges that some worker has, and of the host."""
        found = [*HOST.ids(work)]
        data = outline(work)
        for one in self._judges():
            kind = self._kind(one)
            if kind is not None:
                found += self._ask(kind, partial(worker.ask, one.NAME, data))[2]
        return found

    def parts(self, work: RunWork) -> Sequence[JudgePart]:
        """The host's, planned here, for its items have arrays; each other judge's as a worker that has it says."""
        found = [JudgePart(HOST, tuple(HOST.items(work)))]
        data = outline(work)
        for one in self._judges():
            kind = self._kind(one)
            if kind is None:
                found.append(JudgePart(one, (), self._absent(one)))
                continue
            items, absent, _ = self._ask(kind, partial(worker.ask, one.NAME, data))
            found.append(JudgePart(one, items, absent or ("" if items else "not selected")))
        return found

    def execute(
        self, work: RunWork, taking_part: Sequence[JudgePart], paths: Mapping[Build, Path], step: Step
    ) -> dict[Item, Answers]:
        """All items. A worker that dies loses nothing: what it had runs elsewhere.

        Raises:
            PluginkitError: a library can't be loaded; or no worker of a kind is left.
        """
        with _Execution(self._fleet, work, taking_part, paths, step, self._kind, self._gpus.places) as one:
            return one.run()

    def summary(self, part: JudgePart, work: RunWork, found: Sequence[Answers]) -> str:
        """The judge's own, as a worker says it; the host's with the machines that took part."""
        if part.judge is HOST:
            hosts = len({one.facts.host for one in self._fleet.ready if one.facts})
            count = len(self._fleet.ready)
            where = f"{count} worker{'s' * (count != 1)} on {hosts} machine{'s' * (hosts != 1)}"
            return f"{HOST.summary(work, found)}; by {where}"
        kind = self._kind(part.judge)
        if kind is None:
            return "its last worker is gone"
        text: str = self._ask(kind, partial(worker.summary, part.judge.NAME, outline(work), found))
        return text

    def _builders(self) -> list[str]:
        """Workers with nvcc, whose libraries are for machines of this one's kind."""
        ready = [one for one in self._fleet.ready if one.facts and one.facts.nvcc]
        return [one.address for one in ready if one.facts and one.facts.machine == platform.machine()]

    def _build(self, project: Path, archs: Sequence[str]) -> Path:
        """The library of target gpu, built on a worker that has nvcc, in the project's folder build/farm."""
        home = root(project.resolve())
        sources = SourceParcel.read(home)
        for _ in range(ATTEMPTS):
            asked = self._builders()
            if not asked:
                raise ToolMissing("The last worker with nvcc is gone, and the library isn't built.")
            future = self._client.submit(worker.build_library, sources, "gpu", archs, workers=asked, pure=False)
            try:
                # A nanny starts its worker anew at another address, where nothing of this would come.
                while not set(asked).isdisjoint(self._builders()):
                    with suppress(asyncio.TimeoutError):
                        made: LibraryParcel = future.result(timeout=LOOK)
                        return made.put(home / "build" / "farm")
                    self._fleet.refresh()
            finally:
                future.cancel()
        raise ToolMissing(
            f"The library isn't built: {ATTEMPTS} times the workers with nvcc died or left meanwhile.",
            hint="Have they memory enough for nvcc? pluginkit farm ADDRESS shows it.",
        )

    def _judges(self) -> list[Judge]:
        return [one for one in judges() if one is not HOST]

    def _kind(self, judge: Judge) -> Kind | None:
        """The newest of the kinds that the judge is there in, for libraries of this machine; None if there is none."""
        kinds = {kind for one in self._fleet.ready if one.facts for kind in one.facts.kinds}
        fit = [kind for kind in kinds if (kind.judge, kind.machine) == (judge.NAME, platform.machine())]
        return max(fit, key=lambda kind: _version(kind.version), default=None)

    def _absent(self, judge: Judge) -> str:
        said = {one.facts.judges[judge.NAME].reason for one in self._fleet.ready if one.facts}
        return "on no worker of the farm: " + "; ".join(sorted(filter(None, said)))

    def _ask(self, kind: Kind, function: Callable[[], Any]) -> Any:
        """What a worker of a kind says. Where it dies meanwhile, another one is asked."""
        places = [one.address for one in self._fleet.ready if one.facts and kind in one.facts.kinds]
        future = self._client.submit(function, workers=places, pure=False)
        try:
            return future.result(timeout=PATIENCE)
        except asyncio.TimeoutError:
            raise ToolMissing(f"No worker has answered for {kind} within {PATIENCE:g} s.") from None


def _version(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:
        return Version("0")


@dataclass
class _Execution:
    """One run's items on their way through the farm."""

    fleet: Fleet
    work: RunWork
    taking_part: Sequence[JudgePart]
    paths: Mapping[Build, Path]
    step: Step
    kind: Callable[[Judge], Kind | None]
    places: Sequence[GpuPlace] = ()
    _run: str = field(default_factory=lambda: uuid.uuid4().hex)
    _ended: queue.SimpleQueue[_Ended] = field(default_factory=queue.SimpleQueue)
    _futures: dict[str, list[Future[Any]]] = field(default_factory=dict)
    _begun: dict[str, Future[Any]] = field(default_factory=dict)
    _there: dict[str, FarmWorker] = field(default_factory=dict)
    _order: int = 0
    _fetching: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(FETCHES, "pluginkit fetch"))

    def __post_init__(self) -> None:
        self._items = [item for part in self.taking_part for item in part.items]
        self._parcel = outline(self.work)
        files: dict[Path, list[Build]] = {}
        for build, path in self.paths.items():
            files.setdefault(path, []).append(build)
        self._libraries = tuple(LibraryParcel.read(builds, path) for path, builds in files.items())
        self._found: dict[int, Answers] = {}
        self._steps = ItemSteps(self.step, len(self._items))
        self._dispatcher = Dispatcher(self._batches())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self._fetching.shutdown(wait=False, cancel_futures=True)
        client, mine = (
            self.fleet.client,
            [*self._begun.values(), *(one for some in self._futures.values() for one in some)],
        )
        # A scheduler that is gone has forgotten the run.
        # Dask's timeouts are asyncio's, which Python 3.10 doesn't take for its own.
        with suppress(OSError, asyncio.TimeoutError):
            client.cancel(mine)
            there = [self._there[name].address for name in self._dispatcher.workers]
            client.run(worker.end, self._run, kill=kind is not None, workers=there, on_error="ignore")

    def run(self) -> dict[Item, Answers]:
        """Until all items have their answers."""
        looked = unserved = 0.0
        for one in self.fleet.ready:
            self._joined(one)
        while not self._dispatcher.done:
            for name, batch in self._dispatcher.assignments():
                self._submit(name, batch)
            with suppress(queue.Empty):
                self._take(self._ended.get(timeout=LOOK))
            now = time.monotonic()
            if now - looked > max(LOOK, len(self._there) / LOOKED_AT):
                self._look()
                looked = time.monotonic()
            unserved = self._check_served(unserved or now) if self._dispatcher.wanted() else 0.0
        return dict(zip(self._items, (self._found[place] for place in range(len(self._items))), strict=True))

    @property
    def _progress(self) -> str:
        return f"{len(self._found)} of {len(self._items)} items are done"

    def _batches(self) -> list[Batch]:
        """One for each group of items, in the report's order."""
        places = {id(item): place for place, item in enumerate(self._items)}
        first: dict[str, int] = {}
        found = []
        for part in self.taking_part:
            usual = self.kind(part.judge)
            for group in groups(part.items):
                network, members = group[0].network, tuple(places[id(item)] for item in group)
                after = first.get(network) if group[0].needs else None
                kind = self._kind_of(group[0], usual)
                found.append(Batch(members, kind, after))
                if network and part is self.taking_part[0]:
                    first.setdefault(network, members[-1])
        return found

    def _kind_of(self, item: Item, usual: Kind | None) -> Kind | None:
        """Of a case of target gpu, its GPU's."""
        if usual is None or item.judge != HOST.NAME or item.build.target != "gpu":
            return usual
        place = next(one for one in self.places if one.here.description == item.build.where)
        return replace(usual, gpu=place.key)

    def _kinds(self, facts: Facts) -> list[Kind]:
        """What a worker can be asked, first what only few can be."""
        kinds = sorted(facts.kinds, key=lambda one: (one.judge == HOST.NAME, one.judge, one.version))
        usual = [one for one in kinds if one.judge == HOST.NAME]
        return [*(replace(one, gpu=place.key) for one in usual for place in self.places if place.takes(facts)), *kinds]

    def _joined(self, one: FarmWorker) -> None:
        name = f"{one.address} {one.process}"
        self._there[name] = one
        if not one.problem and one.facts:
            self._dispatcher.joined(name, self._kinds(one.facts), one.threads)

    def _look(self) -> None:
        come, gone = self.fleet.refresh()
        for one in gone:
            self._left(f"{one.address} {one.process}")
        for one in come:
            self._joined(one)

    def _left(self, name: str) -> None:
        """What a worker had goes back into the queue, or is a finding."""
        for future in (*self._futures.pop(name, []), *filter(None, [self._begun.pop(name, None)])):
            future.cancel()
        _, findings = self._dispatcher.left(name)
        for batch in findings:
            places = [self._there[death].place for death in batch.deaths]
            for place in batch.items:
                self._record(place, _killer(self._items[place], self.work, places))

    def _check_served(self, since: float) -> float:
        """Raises where a kind that batches wait for has had no worker for long."""
        if time.monotonic() - since < PATIENCE:
            return since
        wanted = ", ".join(sorted(map(str, self._dispatcher.wanted())))
        raise ToolMissing(
            f"No worker is left for {wanted}; {self._progress}.",
            hint="pluginkit farm ADDRESS shows who is there.",
        )

    def _submit(self, name: str, batch: Batch) -> None:
        there = [self._there[name].address]
        if name not in self._begun:
            self._begun[name] = self.fleet.client.submit(
                worker.begin, self._run, self._parcel, self._libraries, workers=there, pure=False
            )
        items = [self._items[place] for place in batch.items]
        first = self._found.get(batch.after) if batch.after is not None else None
        # Of what its worker died of nothing is known; the judge asks for it itself.
        known = {items[0].network: first.configured} if first and not _crashed(first) else {}
        if first and not known and self.work.builds[0].target == "gpu":
            known = {items[0].network: ()}  # not every worker could ask a GPU again
        self._steps.begin(items[0].label)
        # In the order in which they are given: what of them a worker dies of is known by that.
        self._order -= 1
        future = self.fleet.client.submit(
            worker.work_on,
            self._run,
            pack(items),
            known,
            self._begun[name],
            workers=there,
            pure=False,
            priority=self._order,
        )
        self._futures.setdefault(name, []).append(future)
        future.add_done_callback(lambda done: self._ended.put(_Ended(name, batch, done)))

    def _take(self, ended: _Ended) -> None:
        """A batch's answers, unless its worker is gone and others have it now."""
        if ended.worker not in self._dispatcher.workers:
            return
        if ended.error is not None:
            raise ended.error
        if ended.answers is None and ended.future.status != "finished":
            error = ended.future.exception(timeout=FETCH) if ended.future.status == "error" else None
            if isinstance(error, PluginkitError):
                raise error
            if error is not None and not isinstance(error, CancelledError):
                raise ToolMissing(
                    f"{self._there[ended.worker].place} can't execute what it is asked: {type(error).__name__}: {error}"
                ) from error
            self._look()
            if ended.worker in self._dispatcher.workers:
                raise ToolMissing(
                    f"The farm's scheduler has forgotten the run; {self._progress}.",
                    hint="Was it started anew? Run again.",
                )
            return
        if ended.answers is None:
            self._dispatcher.executed(ended.worker, ended.batch)
            self._fetching.submit(self._fetch, ended)
            return
        answers = ended.answers
        self._futures[ended.worker].remove(ended.future)
        if self._dispatcher.finished(ended.worker, ended.batch):
            place = self._there[ended.worker].place
            for item, found in zip(ended.batch.items, answers, strict=True):
                self._record(item, replace(found, results=tuple(replace(one, place=place) for one in found.results)))

    def _fetch(self, ended: _Ended) -> None:
        """Brings a batch's answers here. Several at once: each takes a round trip to the scheduler and the worker."""
        try:
            ended = replace(ended, answers=ended.future.result(timeout=FETCH))
        except (asyncio.TimeoutError, CancelledError):
            pass  # They lay on a worker that has died, or they are large: whether it is there is looked at in between.
        except Exception as error:  # noqa: BLE001 - it is raised in the thread that waits for the answers
            ended = replace(ended, error=error)
        self._ended.put(ended)

    def _record(self, item: int, answers: Answers) -> None:
        self._found[item] = answers
        self._steps.end()


def _crashed(answers: Answers) -> bool:
    return any(one.outcome is Outcome.CRASHED for one in answers.results)


def _killer(item: Item, work: RunWork, places: Sequence[str]) -> Answers:
    """What is said of an item that workers died of."""
    message = (
        f"{' and '.join(places)} died while it ran, the last time with nothing else to do: the plugin ends processes "
        "that aren't its own, or takes all memory"
    )
    if item.section == "cases":
        network = item.subject.network if isinstance(item.subject, LargeCase) else work.network(item.network)
        found = result(network, item.subject, Outcome.CRASHED, item.build.flavour, item.build.target)
        return Answers((replace(found, message=message, place=places[-1]),))
    name = item.network or item.id
    return Answers((Verdict(name, item.judge, Outcome.CRASHED, message, place=places[-1]),))
