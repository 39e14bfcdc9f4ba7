"""A farm of this machine's own workers, opened while what runs on it is built and planned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pluginkit.build.gpus import find_driver
from pluginkit.evaluators.protocol import Answers, Build, Item, RunWork
from pluginkit.farm.conditions import NO_GPU
from pluginkit.process.worker_pool import WorkerPool
from pluginkit.run.executors import Executor
from pluginkit.run.items import EvaluatorPart
from pluginkit.run.on_gpu import GpuSource, OnGpu
from pluginkit.run.options import Step

if TYPE_CHECKING:
    from pluginkit.validation.asking import Asker


@contextmanager
def meanwhile(opened: AbstractContextManager[Executor]) -> Iterator[Executor]:
    """What opens an executor, entered in a thread of its own: who asks the executor something waits for it.

    Raises:
        PluginkitError: what `opened` raised, where it is first asked.
    """
    with ExitStack() as stack, WorkerPool(1) as pool:
        # What is to end it all ends the workers' process too, whatever the thread waits for.
        future = pool.submit(lambda _: stack.enter_context(opened))
        yield _Opening(future.result)


class _Opening:
    """An `Executor` that will be there."""

    def __init__(self, there: Callable[[], Executor]) -> None:
        self._there = there

    @property
    def gpus(self) -> GpuSource:
        return _Gpus(self._there)

    def ids(self, work: RunWork) -> Sequence[str]:
        return self._there().ids(work)

    def parts(self, work: RunWork, names: Sequence[str] | None) -> Sequence[EvaluatorPart]:
        return self._there().parts(work, names)

    def execute(
        self, work: RunWork, taking_part: Sequence[EvaluatorPart], paths: Mapping[Build, Path], step: Step
    ) -> dict[Item, Answers]:
        return self._there().execute(work, taking_part, paths, step)

    def summary(self, part: EvaluatorPart, work: RunWork, found: Sequence[Answers]) -> str:
        return self._there().summary(part, work, found)

    def asker(self, library: Path, *, jobs: int) -> AbstractContextManager[Asker]:
        return self._there().asker(library, jobs=jobs)


class _Gpus:
    """The GPUs of workers that will be there, on this machine: without one here, they have none."""

    def __init__(self, there: Callable[[], Executor]) -> None:
        self._there = there

    def obstacle(self) -> str:
        return self._there().gpus.obstacle() if find_driver().gpus else NO_GPU

    def find(self) -> Sequence[OnGpu]:
        return self._there().gpus.find()

    def library(self, project: Path) -> Path:
        return self._there().gpus.library(project)
