"""What runs in a worker of a farm: `dask worker` calls these functions in its threads.

A run's sessions (processes with the plugin in them) stay open from one batch to the next, each thread its own, and
end with the run; where the client is gone silently, a while after the last batch.
"""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import dask
from distributed import Worker, get_worker

from pluginkit.bench import BenchOptions
from pluginkit.bench import runner as bench_runner
from pluginkit.build import build
from pluginkit.errors import ToolMissing
from pluginkit.evaluators import evaluator
from pluginkit.evaluators.protocol import Answers, Build, Item, RunWork, unavailable
from pluginkit.farm import gpu_lock
from pluginkit.farm.arrays import Packed, WorkPayload, unpack
from pluginkit.farm.arrivals import Arrivals
from pluginkit.farm.facts import Facts, of_this_machine
from pluginkit.farm.payloads import LibraryPayload, SourcePayload
from pluginkit.process.worker_pool import Common, Sessions
from pluginkit.run.execution import LocalWorkplace, execute
from pluginkit.runtimes import Configured, Target

SHARED = "pluginkit.shared"
"""Dask's setting that names a folder of arrivals which the client writes itself."""
IDLE = 60.0
"""Seconds after its last batch until a run's sessions are closed; another batch opens them again."""


@dataclass(frozen=True)
class Done:
    """What came of a batch.

    Attributes:
        answers: of each item.
        seconds: that it took here.
    """

    answers: tuple[Any, ...]
    seconds: float


@dataclass
class _RunHere:
    """A run as this worker has it."""

    payload: WorkPayload | None
    arrivals: Arrivals
    paths: Mapping[Build, Path]
    work: RunWork | None = None
    common: Common = field(default_factory=Common)
    sessions: dict[int, Sessions] = field(default_factory=dict)
    busy: int = 0
    last: float = field(default_factory=time.monotonic)

    def work_for(self, items: Sequence[Item]) -> RunWork:
        """The run's work; with the cases' arrays for who runs all of them."""
        assert self.payload is not None
        if any(one.whole for one in items):
            whole: RunWork = unpack(self.payload.data, self.arrivals.array)
            return whole
        if self.work is None:
            self.work = self._read(self.payload)
        return self.work

    def _read(self, payload: WorkPayload) -> RunWork:
        work: RunWork = unpack(payload.data, lambda name: self.arrivals.array(name) if name in payload.own else None)
        return work

    def gpu_library(self) -> Path:
        """The library of target gpu, which all GPUs have in common."""
        for built, path in self.paths.items():
            if built.target == "gpu":
                return path
        raise ToolMissing("this run has no library of target gpu", hint="pluginkit farm ADDRESS shows the GPUs.")

    def close(self) -> None:
        """Ends its sessions."""
        for one in self.sessions.values():
            one.close()
        self.sessions.clear()


_RUNS: dict[str, _RunHere] = {}
_LOCK = threading.Lock()


def arrivals(here: Worker) -> Arrivals:
    """What this worker has been sent."""
    return Arrivals(_shared() or Path(here.local_directory) / "pluginkit")


def _shared() -> Path | None:
    """The folder that a fleet on one machine has in common with its client."""
    folder = dask.config.get(SHARED, None)
    return Path(folder) if folder else None


def introduce(dask_worker: Worker) -> tuple[Facts, frozenset[str], Path | None]:
    """What this machine has, the digests of what it has been sent before, and where a client lays it instead."""
    return of_this_machine(), arrivals(dask_worker).held(), _shared()


def begin(run: str, work: WorkPayload | None, libraries: Sequence[LibraryPayload]) -> None:
    """A run's work and libraries have arrived.

    Raises:
        ValueError: something arrived damaged.
        Lacking: something was left out that isn't there any more.
    """
    here = arrivals(get_worker())
    paths = {build: path for one in libraries for path in [one.put(here)] for build in one.builds}
    if work is not None:
        here.put(work.arrays)
        for name in work.own:
            here.file(name)
    with _LOCK:
        _RUNS.setdefault(run, _RunHere(work and work.sent(work.own), here, paths))
    threading.Thread(target=_close_when_idle, args=(run,), name="pluginkit idle", daemon=True).start()


def build_library(sources: SourcePayload, target: Target, archs: Sequence[str]) -> LibraryPayload:
    """Build a project's library on this machine.

    Args:
        sources: the project.
        target: what for.
        archs: as of `pluginkit.build.build`.

    Raises:
        PluginkitError: as of `pluginkit.build.build`.
        ValueError: the sources arrived damaged.
    """
    project = sources.put(Path(get_worker().local_directory) / "sources")
    (made,) = build(project, target, archs=archs)
    return LibraryPayload.read((), made.library)


def end(run: str, *, kill: bool = False) -> None:
    """A run is over, or given up: then nothing waits for a plugin that hangs."""
    with _LOCK:
        found = _RUNS.pop(run, None)
    if found is None:
        return
    if kill:
        found.common.stopping.set()
        found.common.workers.kill()
    found.close()
    with _LOCK:
        used = [path.parent.name for one in _RUNS.values() for path in one.paths.values()]
    found.arrivals.prune(used)


def ask(name: str, work: WorkPayload) -> tuple[tuple[Item, ...], str, tuple[str, ...]]:
    """What an evaluator of this worker would be asked, or why nothing; and what `--only` finds by it."""
    read, one = work.read(), evaluator(name)
    found = one.probe()
    absent = one.obstacle(read) or ("" if found.found else unavailable(found))
    return (() if absent else tuple(one.items(read))), absent, tuple(one.ids(read)) if found.found else ()


def summary(name: str, work: WorkPayload, found: Sequence[Answers]) -> str:
    """An evaluator's part in a line, as this worker's evaluator says it."""
    return evaluator(name).summary(work.read(), found)


def work_on(
    run: str, items: Packed, more: Mapping[str, bytes], known: Mapping[str, tuple[Configured, ...]], begun: None
) -> Done:
    """Execute a batch of cases and other questions to evaluators.

    Args:
        run: the run's name.
        items: the batch, with the arrays that aren't here.
        more: other arrays that it needs and that aren't here.
        known: of networks by id, what configure saw in pluginkit's host.
        begun: what `begin` gave, which must come before.

    Returns:
        What came of each item, `Answers`.

    Raises:
        PluginkitError: as of `execution.execute`.
        CancelledError: the run is over.
        Lacking: something was left out that isn't here any more.
    """
    del begun
    with _taking_part(run) as (current, sessions):
        current.arrivals.put({**items.arrays, **more})
        batch: Sequence[Item] = unpack(items.data, current.arrivals.array)
        place = LocalWorkplace(sessions, current.paths.__getitem__, current.gpu_library)
        work = current.work_for(batch)
        return _timed(lambda: tuple(execute(item, work, place, lambda: known) for item in batch))


def ask_library(run: str, questions: bytes, begun: None) -> Done:
    """Ask a library what `pluginkit check` asks.

    Args:
        run: as of `work_on`.
        questions: pickled `validation.asking.Question`s.
        begun: as of `work_on`.

    Returns:
        What each has given.

    Raises:
        PluginkitError: what one has raised; CancelledError: the run is over.
    """
    del begun
    with _taking_part(run) as (current, sessions):
        library = next(iter(current.paths.values()))
        return _timed(lambda: tuple(one(sessions, library) for one in pickle.loads(questions)))


def bench(run: str, sources: SourcePayload, options: BenchOptions, begun: None) -> Done:
    """Measure a plugin, while nothing else of a farm's runs on this worker's GPU.

    Args:
        run: as of `work_on`; its library is measured.
        sources: the project.
        options: what is measured.
        begun: as of `work_on`.

    Raises:
        PluginkitError: as of `bench.run`; CancelledError: the run is over.
    """
    del begun
    with _taking_part(run, alone=True) as (current, _):
        project = sources.put(Path(get_worker().local_directory) / "sources")
        library = next(iter(current.paths.values()))
        asked = replace(options, project=project / options.project, library=library)
        return _timed(lambda: (bench_runner.run(asked),))


def _timed(call: Callable[[], tuple[Any, ...]]) -> Done:
    began = time.monotonic()
    answers = call()
    return Done(answers, time.monotonic() - began)


@contextmanager
def _taking_part(run: str, *, alone: bool = False) -> Iterator[tuple[_RunHere, Sessions]]:
    """A run, and this thread's sessions of it, while it isn't idle."""
    with _LOCK:
        current = _RUNS.get(run)
        if current is None:
            raise CancelledError
        current.busy += 1
        sessions = current.sessions.setdefault(threading.get_ident(), Sessions(current.common))
    try:
        with gpu_lock.alone() if alone else gpu_lock.together(), current.common.workers:
            yield current, sessions
    finally:
        with _LOCK:
            current.busy -= 1
            current.last = time.monotonic()


def _close_when_idle(run: str) -> None:
    while True:
        time.sleep(IDLE / 4)
        with _LOCK:
            current = _RUNS.get(run)
            if current is None:
                return
            if current.busy or time.monotonic() - current.last < IDLE:
                continue
            current.close()
