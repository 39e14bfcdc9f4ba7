"""Where a run's items are executed: on this machine, by a pool of threads. `pluginkit.farm` has another executor."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from pluginkit.evaluators import evaluators
from pluginkit.evaluators.protocol import Answers, Build, Item, RunWork
from pluginkit.process.worker_pool import Sessions, WorkerPool
from pluginkit.run import libraries
from pluginkit.run.execution import LocalWorkplace, execute
from pluginkit.run.items import EvaluatorPart, groups, parts
from pluginkit.run.on_gpu import GpuSource
from pluginkit.run.options import Options, Step
from pluginkit.runtimes import Configured

if TYPE_CHECKING:
    # It brings all checks, which few runs ask.
    from pluginkit.validation.asking import Asker

ON_GPU = 8
"""Processes at once that share the GPU: each has a context of its own, some hundred megabytes of its memory.
On an H100 with 16 cores 4 were as fast as 16."""

Given: TypeAlias = "Future[dict[Item, Answers]]"


class Executor(Protocol):
    """What a run leaves to the place where its items are executed."""

    @property
    def gpus(self) -> GpuSource:
        """Where the cases of target gpu run."""

    def ids(self, work: RunWork) -> Sequence[str]:
        """What `--only` finds by the evaluators that are there, besides the plan's cases."""

    def parts(self, work: RunWork, names: Sequence[str] | None) -> Sequence[EvaluatorPart]:
        """Each evaluator's part, pluginkit's host first; only those of these names are asked, if there are any."""

    def execute(
        self, work: RunWork, taking_part: Sequence[EvaluatorPart], paths: Mapping[Build, Path], step: Step
    ) -> dict[Item, Answers]:
        """All items of all parts. What comes out doesn't depend on which ends first.

        Args:
            work: what the items were made from.
            taking_part: the evaluators' parts.
            paths: the file of each build.
            step: called with each step of the progress.
        """

    def summary(self, part: EvaluatorPart, work: RunWork, found: Sequence[Answers]) -> str:
        """An evaluator's part in a line: `found` is what came of all its items."""

    def asker(self, library: Path, *, jobs: int) -> AbstractContextManager[Asker]:
        """What asks a library what `pluginkit check` asks."""


class ItemSteps:
    """Reports how far a run is, from any thread."""

    def __init__(self, step: Step, total: int) -> None:
        self._step = step
        self._lock = threading.Lock()
        self._done, self._total = 0, total

    def begin(self, what: str) -> None:
        """This begins."""
        with self._lock:
            self._step(what, self._done, self._total or None)

    def end(self, count: int = 1) -> None:
        """So many are done."""
        with self._lock:
            self._done += count


class LocalExecutor:
    """This machine: as many threads as there are cores, each with sessions of its own."""

    def __init__(self, options: Options) -> None:
        self._options = options

    @property
    def gpus(self) -> GpuSource:
        """The machine's first."""
        return libraries.FIRST_GPU

    def ids(self, work: RunWork) -> Sequence[str]:
        """Those of the evaluators that are installed here."""
        return [name for evaluator in evaluators() if evaluator.probe().found for name in evaluator.ids(work)]

    def parts(self, work: RunWork, names: Sequence[str] | None) -> Sequence[EvaluatorPart]:
        """Those of the evaluators that are installed here."""
        return list(parts(work, names))

    def execute(
        self, work: RunWork, taking_part: Sequence[EvaluatorPart], paths: Mapping[Build, Path], step: Step
    ) -> dict[Item, Answers]:
        """All items, several at once."""
        steps = ItemSteps(step, sum(len(part.items) for part in taking_part))
        gpu = threading.Lock()

        def gpu_library() -> Path:
            with gpu:
                return libraries.gpu_library(self._options)

        def task(group: Sequence[Item], waits: Given | None, own: Sessions) -> dict[Item, Answers]:
            place = LocalWorkplace(own, paths.__getitem__, gpu_library, steps.begin)

            def known() -> dict[str, tuple[Configured, ...]]:
                return {one.network: findings.configured for one, findings in waits.result().items()} if waits else {}

            found = {}
            for item in group:
                found[item] = execute(item, work, place, known)
                steps.end()
            return found

        on_gpu = any(build.target == "gpu" for build in work.builds)
        with WorkerPool(self._options.jobs or (min(cores(), ON_GPU) if on_gpu else cores())) as pool:
            # All is given to the pool before anything is waited for.
            given: list[Given] = []
            first: dict[str, Given] = {}
            for part in taking_part:
                for group in groups(part.items):
                    network = group[0].network
                    waits = first.get(network) if group[0].needs else None
                    future = pool.submit(partial(task, group, waits))
                    given.append(future)
                    if network and part is taking_part[0]:
                        first.setdefault(network, future)
            return {item: findings for one in given for item, findings in one.result().items()}

    def summary(self, part: EvaluatorPart, work: RunWork, found: Sequence[Answers]) -> str:
        """The evaluator's own."""
        return part.evaluator.summary(work, found)

    def asker(self, library: Path, *, jobs: int) -> AbstractContextManager[Asker]:
        """Threads of this process."""
        from pluginkit.validation.asking import pool_asker

        return pool_asker(library, jobs)


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0))
