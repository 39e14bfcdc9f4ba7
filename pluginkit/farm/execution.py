"""Batches on their way through a farm: who is given what, and what becomes of a batch whose worker is gone."""

from __future__ import annotations

import asyncio
import queue
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from distributed import Future
from typing_extensions import Self

from pluginkit.errors import FarmLost, PluginkitError
from pluginkit.evaluators.protocol import Build
from pluginkit.farm import worker
from pluginkit.farm.arrays import WorkPayload
from pluginkit.farm.arrivals import Lacking
from pluginkit.farm.dispatch import Batch, Dispatcher
from pluginkit.farm.facts import Facts
from pluginkit.farm.fleet import FarmWorker, Fleet
from pluginkit.farm.payloads import LibraryPayload
from pluginkit.farm.worker import Done

LOOK = 0.5
"""Seconds between two looks at who is there, at least."""
LOOKED_AT = 200
"""Workers that are looked at in a second: each takes time of the scheduler's."""
FETCH = 5.0
"""Seconds that one attempt to fetch a batch's answers takes: a dead worker's don't come."""
FETCHES = 64
"""Batches whose answers are fetched at once. Dask asks for what waits together."""
WHO_IS_THERE = "pluginkit farm ADDRESS shows who is there."
PATIENCE = 60.0
"""Seconds that a run waits for a worker of a kind that it had: a nanny starts a new one in a few."""


@dataclass(frozen=True)
class Ended:
    """A batch's future has ended, in whatever way."""

    worker: str
    batch: Batch
    future: Future[Any]
    done: Done | None = None
    """Where it has finished and its answers were fetched."""
    brought: Collection[str] = ()
    """Digests of what came with it."""
    error: Exception | None = None
    """What fetching them raised that asking again won't fix."""


@dataclass(frozen=True)
class WorkerCall:
    """What a worker is asked: a function of `worker.py` with its arguments, and the digests that come with them."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    brought: Collection[str] = ()


class Execution(ABC):
    """A run's batches. A context manager.

    Args:
        fleet: the workers.
        work: what the run is about; None where workers need not know.
        paths: the file of each build.
    """

    def __init__(self, fleet: Fleet, work: WorkPayload | None, paths: Mapping[Build, Path]) -> None:
        self.fleet = fleet
        self._payload = work
        files: dict[Path, list[Build]] = {}
        for build, path in paths.items():
            files.setdefault(path, []).append(build)
        self._libraries = tuple(LibraryPayload.read(builds, path) for path, builds in files.items())
        self._run = uuid.uuid4().hex
        self._ended: queue.SimpleQueue[Ended] = queue.SimpleQueue()
        self._futures: dict[str, list[Future[Any]]] = {}
        self._begun: dict[str, Future[Any]] = {}
        self._there: dict[str, FarmWorker] = {}
        self._order = 0
        self._fetching = ThreadPoolExecutor(FETCHES, "pluginkit fetch")
        self._dispatcher = Dispatcher(())

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

    @abstractmethod
    def _call(self, there: FarmWorker, batch: Batch) -> WorkerCall:
        """What a worker is asked for a batch; it gives an answer for each item."""

    @abstractmethod
    def _answered(self, item: int, answer: Any, place: str) -> None:
        """An item's answer has come."""

    @abstractmethod
    def _killed(self, item: int, places: Sequence[str]) -> None:
        """Workers have died of an item."""

    @property
    @abstractmethod
    def _progress(self) -> str:
        """For people: how far it is."""

    def _kinds(self, facts: Facts) -> Sequence[Hashable]:
        """What a worker can be asked, first what only few can be."""
        return sorted(facts.kinds, key=str)

    def execute(self) -> None:
        """Until all batches of the dispatcher have their answers.

        Raises:
            PluginkitError: what a worker raised.
            FarmLost: none of a kind is left, or the scheduler is gone.
        """
        looked = unanswered = 0.0
        for one in self.fleet.ready:
            self._joined(one)
        while not self._dispatcher.done:
            for name, batch in self._dispatcher.assignments():
                self._submit(name, batch)
            with suppress(queue.Empty):
                self._take(self._ended.get(timeout=LOOK))
                for _ in range(self._ended.qsize()):  # what else has ended, before anybody is given more
                    self._take(self._ended.get_nowait())
            now = time.monotonic()
            if now - looked > max(LOOK, len(self._there) / LOOKED_AT):
                self._look()
                looked = time.monotonic()
            unanswered = self._check_answered(unanswered or now) if self._dispatcher.wanted() else 0.0

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
            for item in batch.items:
                self._killed(item, places)

    def _check_answered(self, since: float) -> float:
        """Raises where a kind that batches wait for has had no worker for long."""
        if time.monotonic() - since < PATIENCE:
            return since
        wanted = ", ".join(sorted(map(str, self._dispatcher.wanted())))
        said = f"No worker is left for {wanted}; {self._progress}."
        raise FarmLost("\n".join(filter(None, (said, self.fleet.trouble()))), hint=WHO_IS_THERE)

    def _submit(self, name: str, batch: Batch) -> None:
        there = self._there[name]
        if name not in self._begun:
            for one in self._libraries:
                there.lay({one.sha256: one.data or b""}, one.name)
            if self._payload:
                there.lay({digest: self._payload.arrays[digest] for digest in self._payload.own})
            work = self._payload.sent(there.held) if self._payload else None
            libraries = tuple(one.without(there.held) for one in self._libraries)
            self._begun[name] = self.fleet.client.submit(
                worker.begin, self._run, work, libraries, workers=[there.address], pure=False
            )
        call = self._call(there, batch)
        # In the order in which they are given: what of them a worker dies of is known by that.
        self._order -= 1
        future = self.fleet.client.submit(
            call.function,
            self._run,
            *call.arguments,
            self._begun[name],
            workers=[there.address],
            pure=False,
            priority=self._order,
        )
        self._futures.setdefault(name, []).append(future)
        future.add_done_callback(lambda done: self._ended.put(Ended(name, batch, done, brought=call.brought)))

    def _take(self, ended: Ended) -> None:
        """A batch's answers, unless its worker is gone and others have it now."""
        if ended.worker not in self._dispatcher.workers:
            return
        if ended.error is not None:
            raise ended.error
        if ended.done is None and ended.future.status != "finished":
            self._failed(ended)
            return
        if ended.done is None:
            self._dispatcher.executed(ended.worker, ended.batch)
            self._fetching.submit(self._fetch, ended)
            return
        self._futures[ended.worker].remove(ended.future)
        there = self._there[ended.worker]
        # It has arrived for sure: until then it is sent with each batch that needs it.
        there.held.update(ended.brought)
        there.held.update(one.sha256 for one in self._libraries)
        if self._payload is not None:
            there.held.update(self._payload.own)
        if self._dispatcher.finished(ended.worker, ended.batch, ended.done.seconds):
            for item, answer in zip(ended.batch.items, ended.done.answers, strict=True):
                self._answered(item, answer, there.place)

    def _failed(self, ended: Ended) -> None:
        """A batch that has no answers: its worker lacks something, or is gone; otherwise that ends the run."""
        error = ended.future.exception(timeout=FETCH) if ended.future.status == "error" else None
        if isinstance(error, Lacking):
            # What was kept there from an earlier run has been removed meanwhile.
            self._there[ended.worker].held.clear()
            self._begun.pop(ended.worker, None)
            self._futures[ended.worker].remove(ended.future)
            self._submit(ended.worker, ended.batch)
            return
        if isinstance(error, PluginkitError):
            raise error
        if error is not None and not isinstance(error, CancelledError):
            raise FarmLost(
                f"{self._there[ended.worker].place} can't execute what it is asked: {type(error).__name__}: {error}"
            ) from error
        self._look()
        if ended.worker in self._dispatcher.workers:
            raise FarmLost(
                f"The farm's scheduler has forgotten the run; {self._progress}.",
                hint="Was it restarted? Run again.",
            )

    def _fetch(self, ended: Ended) -> None:
        """Brings a batch's answers here. Several at once: each takes a round trip to the scheduler and the worker."""
        try:
            ended = replace(ended, done=ended.future.result(timeout=FETCH))
        except (asyncio.TimeoutError, CancelledError):
            pass  # They lay on a worker that has died, or they are large: whether it is there is looked at in between.
        except Exception as error:  # noqa: BLE001 - it is raised in the thread that waits for the answers
            ended = replace(ended, error=error)
        self._ended.put(ended)
