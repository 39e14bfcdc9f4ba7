"""`pluginkit bench` on a farm: one of its GPUs is measured, by a worker that has nothing else to do meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pluginkit.bench import BenchOptions, BenchReport
from pluginkit.errors import PluginCrashed, UsageError
from pluginkit.evaluators.protocol import Build
from pluginkit.farm import worker
from pluginkit.farm.conditions import GpuChoice
from pluginkit.farm.dispatch import Batch, Dispatcher
from pluginkit.farm.execution import Execution, WorkerCall
from pluginkit.farm.executor import FarmExecutor
from pluginkit.farm.facts import Facts
from pluginkit.farm.fleet import FarmWorker, Fleet
from pluginkit.farm.gpus import GpuPlace
from pluginkit.farm.payloads import SourcePayload
from pluginkit.manifest.project import root
from pluginkit.run.on_gpu import check as check_code
from pluginkit.run.options import Step


def measure(fleet: Fleet, choice: GpuChoice, options: BenchOptions, step: Step = lambda *_: None) -> BenchReport:
    """Measure a plugin on a farm's GPU.

    Args:
        fleet: the workers.
        choice: which GPU; all that it leaves must be of one name.
        options: what is measured, as of `bench.run`.
        step: called with each step of the progress.

    Raises:
        ToolMissing: no worker has such a GPU, or nvcc; or none is left.
        UsageError: GPUs of several kinds are there.
        PluginkitError: as of `bench.run`.
    """
    executor = FarmExecutor(fleet, choice)
    gpus = executor.gpus
    there = gpus.find()
    # One architecture has GPUs of several speeds.
    there_are = [one.facts for one in fleet.ready if one.facts and any(place.takes(one.facts) for place in gpus.places)]
    names = sorted({f"{facts.gpu.name}, sm_{facts.gpu.arch}" for facts in there_are if facts.gpu})
    kinds = max(names, [one.description for one in there], key=len)
    if len(kinds) > 1:
        raise UsageError(
            f"A measurement is of one GPU, and the farm has {len(kinds)} kinds: {'; '.join(kinds)}.",
            hint="Choose one: --on 'sm==90', or --on 'name==*H200*'.",
        )
    home = root(options.project.resolve())
    step("building", 0, None)
    library = options.library.resolve() if options.library else gpus.library(options.project, options.archs)
    check_code(library, there[0])
    sources = SourcePayload.read(home)
    # The worker has a copy of the project.
    asked = replace(options, project=options.project.resolve().relative_to(home.resolve()), library=None)
    with _Measurement(fleet, executor.places[0], {Build("gpu", where=there[0].description): library}) as one:
        step(f"measuring on {there[0].description}", 0, None)
        return replace(one.run(sources, asked), library=str(library))


class _Measurement(Execution):
    """One batch with one item."""

    def __init__(self, fleet: Fleet, place: GpuPlace, paths: Mapping[Build, Path]) -> None:
        super().__init__(fleet, None, paths)
        self._place = place
        self._report: BenchReport | None = None

    def run(self, sources: SourcePayload, options: BenchOptions) -> BenchReport:
        """Until it is measured."""
        self._asked = (sources, options)
        self._dispatcher = Dispatcher([Batch((0,), self._place.key)])
        self.execute()
        assert self._report is not None
        return self._report

    def _kinds(self, facts: Facts) -> Sequence[str]:
        wanted = self._place.here.gpu.name
        return [self._place.key] if self._place.takes(facts) and facts.gpu and facts.gpu.name == wanted else []

    @property
    def _progress(self) -> str:
        return "nothing is measured"

    def _call(self, there: FarmWorker, batch: Batch) -> WorkerCall:
        del there, batch
        return WorkerCall(worker.bench, self._asked)

    def _answered(self, item: int, answer: Any, place: str) -> None:
        del item, place
        self._report = answer

    def _killed(self, item: int, places: Sequence[str]) -> None:
        del item
        raise PluginCrashed(f"{' and '.join(places)} died while the plugin was measured.")
