"""What runs in a worker of a farm: `dask worker` calls these functions in its threads.

A run's sessions (processes with the plugin in them) stay open from one batch to the next, each thread its own, and
end with the run; where the client is gone without a word, a while after the last batch.
"""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from pathlib import Path

from distributed import get_worker

from pluginkit.build import build
from pluginkit.errors import ToolMissing
from pluginkit.farm.facts import Facts, of_this_machine
from pluginkit.farm.parcels import LibraryParcel, SourceParcel
from pluginkit.judges import judge
from pluginkit.judges.protocol import Answers, Build, Item, RunWork, unavailable
from pluginkit.process.crew import Common, Sessions
from pluginkit.run.execution import LocalWorkplace, execute
from pluginkit.runtimes import Configured, Target

IDLE = 60.0
"""Seconds after its last batch until a run's sessions are closed; another batch opens them again."""


@dataclass
class _RunHere:
    """A run as this worker has it."""

    work: RunWork
    paths: Mapping[Build, Path]
    common: Common = field(default_factory=Common)
    sessions: dict[int, Sessions] = field(default_factory=dict)
    busy: int = 0
    last: float = field(default_factory=time.monotonic)

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


def facts() -> Facts:
    """What this machine has."""
    return of_this_machine()


def begin(run: str, outline: bytes, libraries: Sequence[LibraryParcel]) -> None:
    """A run's work and libraries have arrived.

    Raises:
        ValueError: a library arrived damaged.
    """
    folder = Path(get_worker().local_directory) / "pluginkit"
    work: RunWork = pickle.loads(outline)
    with _LOCK:
        _RUNS.setdefault(run, _RunHere(work, _paths(libraries, folder)))
    threading.Thread(target=_close_when_idle, args=(run,), name="pluginkit idle", daemon=True).start()


def _paths(libraries: Sequence[LibraryParcel], folder: Path) -> dict[Build, Path]:
    return {build: path for one in libraries for path in [one.put(folder)] for build in one.builds}


def build_library(sources: SourceParcel, target: Target, archs: Sequence[str]) -> LibraryParcel:
    """Build a project's library on this machine.

    Args:
        sources: the project.
        target: what for.
        archs: as of `pluginkit.build.build`.

    Raises:
        PluginkitError: as of `pluginkit.build.build`.
        ValueError: the sources arrived damaged.
    """
    project = sources.put(Path(get_worker().local_directory) / "pluginkit")
    (made,) = build(project, target, archs=archs)
    return LibraryParcel.read((), made.library)


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


def ask(name: str, outline: bytes) -> tuple[tuple[Item, ...], str, tuple[str, ...]]:
    """What a judge of this worker would be asked, or why nothing; and what `--only` finds by it."""
    work: RunWork = pickle.loads(outline)
    one = judge(name)
    found = one.probe()
    absent = one.obstacle(work) or ("" if found.found else unavailable(found))
    return (() if absent else tuple(one.items(work))), absent, tuple(one.ids(work)) if found.found else ()


def summary(name: str, outline: bytes, found: Sequence[Answers]) -> str:
    """A judge's part in a line, as this worker's judge says it."""
    return judge(name).summary(pickle.loads(outline), found)


def work_on(run: str, items: bytes, known: Mapping[str, tuple[Configured, ...]], begun: None) -> tuple[Answers, ...]:
    """Execute a batch.

    Args:
        run: the run's name.
        items: the batch, as `parcels.pack` has it.
        known: of networks by id, what configure saw in pluginkit's host.
        begun: what `begin` gave, which must come before.

    Returns:
        What came of each item.

    Raises:
        PluginkitError: as of `execution.execute`.
        CancelledError: the run is over.
    """
    del begun
    with _LOCK:
        current = _RUNS.get(run)
        if current is None:
            raise CancelledError
        current.busy += 1
        sessions = current.sessions.setdefault(threading.get_ident(), Sessions(current.common))
    place = LocalWorkplace(sessions, current.paths.__getitem__, current.gpu_library)
    try:
        with current.common.workers:
            return tuple(execute(item, current.work, place, known) for item in pickle.loads(items))
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
