"""A run's items, executed by the workers of a farm."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.version import InvalidVersion, Version

from pluginkit.errors import FarmLost
from pluginkit.evaluators import evaluators
from pluginkit.evaluators.host.cases import result
from pluginkit.evaluators.host.evaluator import EVALUATOR as HOST
from pluginkit.evaluators.protocol import Answers, Build, Evaluator, Item, RunWork
from pluginkit.evaluators.rtx.engine_evaluator import EVALUATOR as ENGINES
from pluginkit.evaluators.tensorrt.evaluator import EVALUATOR as TENSORRT
from pluginkit.farm import worker
from pluginkit.farm.arrays import Packed, WorkPayload
from pluginkit.farm.arrivals import Arrivals
from pluginkit.farm.conditions import GpuChoice
from pluginkit.farm.dispatch import Batch, Dispatcher
from pluginkit.farm.execution import LOOK, WHO_IS_THERE, Execution, WorkerCall
from pluginkit.farm.facts import Facts, Kind
from pluginkit.farm.fleet import FarmWorker, Fleet
from pluginkit.farm.gpus import FarmGpus, GpuPlace
from pluginkit.farm.payloads import LibraryPayload, SourcePayload
from pluginkit.manifest.project import root
from pluginkit.network.large import LargeCase
from pluginkit.run.executors import ItemSteps
from pluginkit.run.items import EvaluatorPart, groups
from pluginkit.run.options import Step
from pluginkit.testing.report import Outcome, Verdict

if TYPE_CHECKING:
    from pluginkit.validation.asking import Asker

ANY_GPU = GpuChoice()
ATTEMPTS = 3
"""How often the library of target gpu is begun again where the workers that build it are gone."""

ON_GPUS = (ENGINES.NAME, TENSORRT.NAME)
"""Evaluators that run engines: what they find is of one GPU."""


class _NoneLeft(Exception):
    """Of the workers that were asked."""


class FarmExecutor:
    """A `pluginkit.run.executors.Executor` of a farm's workers: each evaluator is asked once for each kind of place
    where it is: a version of TensorRT or a GPU."""

    def __init__(self, fleet: Fleet, choice: GpuChoice = ANY_GPU) -> None:
        self._client = fleet.client
        self._fleet = fleet
        self._gpus = FarmGpus(fleet, choice, self._build if self._builders() else None)
        self._gpus.check()
        self._packed: tuple[RunWork, WorkPayload] | None = None
        self._asked: dict[str, Kind] = {}

    @property
    def gpus(self) -> FarmGpus:
        """Those that `--on` chooses."""
        return self._gpus

    @property
    def places(self) -> Sequence[GpuPlace]:
        """Where cases of target gpu run."""
        return self._gpus.places

    def ids(self, work: RunWork) -> Sequence[str]:
        """Those of the evaluators that some worker has, and of the host."""
        found = [*HOST.ids(work)]
        payload = self._payload(work).sent()
        for one in self._evaluators():
            for kind in self._kinds(one):
                found += self._ask(kind, partial(worker.ask, one.NAME, payload))[2]
        return list(dict.fromkeys(found))

    def parts(self, work: RunWork, names: Sequence[str] | None = None) -> Sequence[EvaluatorPart]:
        """The host's, planned here, for its items have arrays; each other evaluator's as workers that have it say."""
        found = [EvaluatorPart(HOST, tuple(HOST.items(work)))]
        self._asked.update((str(kind), kind) for kind in self._kinds(HOST))
        payload = self._payload(work).sent()
        for one in self._evaluators():
            if names is not None and one.NAME not in names:
                found.append(EvaluatorPart(one, (), "not asked"))
                continue
            kinds = self._kinds(one)
            if not kinds:
                found.append(EvaluatorPart(one, (), self._absent(one)))
                continue
            asked = [self._part(one, kind, kinds, payload) for kind in kinds]
            mine = [part for part in asked if part.items] or [EvaluatorPart(one, (), asked[0].absent)]
            if any(item.section == "registries" for part in mine for item in part.items):
                # Each has an id of its own.
                mine = [EvaluatorPart(one, tuple(item for part in mine for item in part.items))]
            found += mine
        return found

    def _part(self, evaluator: Evaluator, kind: Kind, kinds: Sequence[Kind], payload: WorkPayload) -> EvaluatorPart:
        """What a kind of worker is asked; of several kinds the newest has the evaluator's name alone."""
        self._asked[str(kind)] = kind
        items, absent, _ = self._ask(kind, partial(worker.ask, evaluator.NAME, payload))
        mine = [one for one in items if one.section != "registries" or one.id.endswith(f"/{kind.version}")]
        gpus = {one.gpu for one in kinds}
        names = [kind.gpu] * (len(gpus) > 1) + [kind.version] * (kind.version != kinds[0].version)
        placed = tuple(replace(one, on=str(kind)) for one in mine)
        return EvaluatorPart(
            evaluator, placed, absent or ("" if placed else "not selected"), ", ".join(filter(None, names))
        )

    def execute(
        self, work: RunWork, taking_part: Sequence[EvaluatorPart], paths: Mapping[Build, Path], step: Step
    ) -> dict[Item, Answers]:
        """All items. A worker that dies loses nothing: what it had runs elsewhere.

        Raises:
            PluginkitError: a library can't be loaded.
            FarmLost: no worker of a kind is left.
        """
        # The last worker of a kind that has been asked may be gone since: another one is waited for.
        kinds = {**self._asked, **{str(kind): kind for one in evaluators() for kind in self._kinds(one)}}
        payload = self._payload(work)
        with _Execution(self._fleet, work, taking_part, paths, step, kinds, self._gpus.places, payload) as one:
            return one.run()

    @contextmanager
    def asker(self, library: Path, *, jobs: int = 0) -> Iterator[Asker]:
        """What asks a library what `pluginkit check` asks: the workers.

        Raises:
            FarmLost: none is left.
        """
        del jobs
        from pluginkit.farm.questions import FarmAsker

        kinds = self._kinds(HOST)
        if not kinds:
            raise FarmLost("No worker is left to ask the library.", hint=WHO_IS_THERE)
        with FarmAsker(self._fleet, kinds[0], library) as found:
            yield found

    def summary(self, part: EvaluatorPart, work: RunWork, found: Sequence[Answers]) -> str:
        """The evaluator's own, as a worker says it; the host's with the machines that took part."""
        if part.evaluator is HOST:
            hosts = len({one.facts.host for one in self._fleet.ready if one.facts})
            count = len(self._fleet.ready)
            where = f"{count} worker{'s' * (count != 1)} on {hosts} machine{'s' * (hosts != 1)}"
            return f"{HOST.summary(work, found)}; by {where}"
        asked = part.items[0].on if part.items else ""
        kind = next((one for one in self._kinds(part.evaluator) if asked in ("", str(one))), None)
        if kind is None:
            return "its last worker is gone"
        payload = self._payload(work).sent()
        text: str = self._ask(kind, partial(worker.summary, part.evaluator.NAME, payload, found))
        return text

    def _payload(self, work: RunWork) -> WorkPayload:
        """Packed once; of work that is a selection from that before, the arrays need no second look."""
        if self._packed is None or self._packed[0] is not work:
            self._packed = work, WorkPayload.of(work, self._packed[1] if self._packed else None)
        return self._packed[1]

    def _builders(self) -> list[str]:
        """Workers with nvcc, whose libraries are for machines of this one's kind."""
        ready = [one for one in self._fleet.ready if one.facts and one.facts.nvcc]
        return [one.address for one in ready if one.facts and one.facts.machine == platform.machine()]

    def _build(self, project: Path, archs: Sequence[str]) -> Path:
        """The library of target gpu, built on a worker that has nvcc, in the project's folder build/farm."""
        home = root(project.resolve())
        build = partial(worker.build_library, SourcePayload.read(home), "gpu", archs)
        for _ in range(ATTEMPTS):
            if not self._builders():
                raise FarmLost("The last worker with nvcc is gone, and the library isn't built.")
            with suppress(_NoneLeft):
                made: LibraryPayload = self._awaited(build, self._builders)
                return made.put(Arrivals(home / "build" / "farm"))
        raise FarmLost(
            f"The library isn't built: {ATTEMPTS} times the workers with nvcc died or left meanwhile.",
            hint="Do they have enough memory for nvcc? pluginkit farm ADDRESS shows it.",
        )

    def _evaluators(self) -> list[Evaluator]:
        return [one for one in evaluators() if one is not HOST]

    def _kinds(self, evaluator: Evaluator) -> list[Kind]:
        """Those that the evaluator is there in, for libraries of this machine, the newest first; each GPU's of
        one that runs engines."""
        ready = [one.facts for one in self._fleet.ready if one.facts]
        fit = {
            replace(kind, gpu=key)
            for facts in ready
            for kind in facts.kinds
            if (kind.evaluator, kind.machine) == (evaluator.NAME, platform.machine())
            for key in (self._gpu_keys(facts) if evaluator.NAME in ON_GPUS else [""])
        }
        return sorted(sorted(fit, key=lambda one: one.gpu), key=lambda one: _version(one.version), reverse=True)

    def _gpu_keys(self, facts: Facts) -> list[str]:
        return [place.key for place in self._gpus.places if place.takes(facts)]

    def _absent(self, evaluator: Evaluator) -> str:
        said = {one.facts.evaluators[evaluator.NAME].reason for one in self._fleet.ready if one.facts}
        return "on no worker of the farm: " + "; ".join(sorted(filter(None, said)))

    def _ask(self, kind: Kind, function: Callable[[], Any]) -> Any:
        """What a worker of a kind says, whatever it has to do before. Where it dies meanwhile, another one is asked.

        Raises:
            FarmLost: none is left of those that there were.
        """
        try:
            return self._awaited(function, partial(self._addresses, kind))
        except _NoneLeft:
            raise FarmLost(f"No worker is left to ask about {kind}.", hint=WHO_IS_THERE) from None

    def _awaited(self, function: Callable[[], Any], addresses: Callable[[], Collection[str]]) -> Any:
        """What one of the workers at these addresses answers, as long as one of those that are there now is left.

        Raises:
            _NoneLeft: none is. A nanny starts its worker again at another address, where nothing of this would come.
            FarmLost: the scheduler is gone.
        """
        if asked := set(addresses()):
            future = self._client.submit(function, workers=sorted(asked), pure=False)
            try:
                while not asked.isdisjoint(addresses()):
                    with suppress(asyncio.TimeoutError):
                        return future.result(timeout=LOOK)
                    self._fleet.refresh()
            finally:
                future.cancel()
        raise _NoneLeft

    def _addresses(self, kind: Kind) -> set[str]:
        plain = replace(kind, gpu="")
        return {
            one.address
            for one in self._fleet.ready
            if one.facts and plain in one.facts.kinds and (not kind.gpu or kind.gpu in self._gpu_keys(one.facts))
        }


def _version(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:
        return Version("0")


class _Execution(Execution):
    """One run's items on their way through the farm."""

    def __init__(
        self,
        fleet: Fleet,
        work: RunWork,
        taking_part: Sequence[EvaluatorPart],
        paths: Mapping[Build, Path],
        step: Step,
        kinds: Mapping[str, Kind],
        places: Sequence[GpuPlace] = (),
        payload: WorkPayload | None = None,
    ) -> None:
        self._whole = payload or WorkPayload.of(work)
        super().__init__(fleet, self._whole, paths)
        self.work = work
        self._taking_part = taking_part
        self._places = places
        self._known_kinds = kinds
        self._items = [item for part in taking_part for item in part.items]
        self._names = [part.name for part in taking_part for _ in part.items]
        self._found: dict[int, Answers] = {}
        self._steps = ItemSteps(step, len(self._items))
        self._dispatcher = Dispatcher(self._batches())

    def run(self) -> dict[Item, Answers]:
        """Until all items have their answers."""
        self.execute()
        return dict(zip(self._items, (self._found[place] for place in range(len(self._items))), strict=True))

    @property
    def _progress(self) -> str:
        return f"{len(self._found)} of {len(self._items)} items are done"

    def _batches(self) -> list[Batch]:
        """One for each group of items, in the report's order."""
        places = {id(item): place for place, item in enumerate(self._items)}
        first: dict[str, int] = {}
        found = []
        for part in self._taking_part:
            for group in groups(part.items):
                network, members = group[0].network, tuple(places[id(item)] for item in group)
                after = (first[network],) if group[0].needs and network in first else ()
                found.append(Batch(members, self._kind_of(group[0]), after))
                if network and part is self._taking_part[0]:
                    first.setdefault(network, members[-1])
        return found

    def _kind_of(self, item: Item) -> Kind | None:
        """Of a case of target gpu, its GPU's; of another evaluator's item, that which was asked for it."""
        if item.on:
            return self._known_kinds[item.on]
        usual = next((kind for kind in self._known_kinds.values() if kind.evaluator == item.evaluator), None)
        if usual is None or item.evaluator != HOST.NAME or item.build.target != "gpu":
            return usual
        place = next(one for one in self._places if one.here.description == item.build.where)
        return replace(usual, gpu=place.key)

    def _kinds(self, facts: Facts) -> list[Kind]:
        """What a worker can be asked, first what only few can be."""
        kinds = sorted(facts.kinds, key=lambda one: (one.evaluator == HOST.NAME, one.evaluator, one.version))
        there = [place.key for place in self._places if place.takes(facts)]
        of_gpus = [replace(one, gpu=key) for one in kinds for key in there if one.evaluator in (HOST.NAME, *ON_GPUS)]
        return [*of_gpus, *kinds]

    def _call(self, there: FarmWorker, batch: Batch) -> WorkerCall:
        items = [self._items[place] for place in batch.items]
        known = {}
        for item in batch.after:
            network, first = self._items[item].network, self._found[item]
            # Of what its worker died of nothing is known; the evaluator asks for it itself.
            if not _crashed(first):
                known[network] = first.configured
            elif self.work.builds[0].target == "gpu":
                known[network] = ()  # not every worker could ask a GPU again
        self._steps.begin(items[0].label)
        packed = Packed.of(items, self._whole)
        more = self._whole.arrays if any(one.whole for one in items) else {}
        there.lay({**packed.arrays, **more})
        sent = {name: data for name, data in more.items() if name not in there.held}
        brought = {*packed.arrays, *more}
        return WorkerCall(worker.work_on, (packed.without(there.held), sent, known), brought)

    def _answered(self, item: int, answer: Answers, place: str) -> None:
        name = self._names[item]
        results = tuple(
            replace(one, place=place, runtime=name)
            if isinstance(one, Verdict) and one.runtime == self._items[item].evaluator
            else replace(one, place=place)
            for one in answer.results
        )
        self._record(item, replace(answer, results=results))

    def _killed(self, item: int, places: Sequence[str]) -> None:
        self._record(item, _killer(self._items[item], self.work, places, self._names[item]))

    def _record(self, item: int, answers: Answers) -> None:
        self._found[item] = answers
        self._steps.end()


def _crashed(answers: Answers) -> bool:
    return any(one.outcome is Outcome.CRASHED for one in answers.results)


def _killer(item: Item, work: RunWork, places: Sequence[str], runtime: str) -> Answers:
    """What is said of an item that workers died of."""
    message = (
        f"{' and '.join(places)} died while it ran, the last time with nothing else to do: the plugin ends processes "
        "that aren't its own, or takes all memory"
    )
    if item.section == "cases":
        network = item.subject.network if isinstance(item.subject, LargeCase) else work.network(item.network)
        found = result(network, item.subject, Outcome.CRASHED, item.build.instrumentation, item.build.target)
        return Answers((replace(found, message=message, place=places[-1]),))
    name = item.network or item.id
    return Answers((Verdict(name, runtime, Outcome.CRASHED, message, place=places[-1]),))
