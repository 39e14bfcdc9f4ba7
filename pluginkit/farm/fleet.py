"""The workers of a cluster: who is there, what each has, and whether it can take part in a run."""

from __future__ import annotations

import asyncio
import platform
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from distributed import Client

from pluginkit.errors import FarmLost, ToolMissing
from pluginkit.farm import worker
from pluginkit.farm.arrivals import Arrivals, Lacking
from pluginkit.farm.facts import Facts
from pluginkit.paths import __version__

DASK = metadata.version("distributed")
SILENT = 30.0
"""Seconds without a heartbeat until a worker is called lost. Dask's own limit, `worker-ttl`, is five minutes."""

SAME = "Install the same pluginkit, for the same Python, where the workers and the scheduler run."
SHOWN = 5
"""Workers that an error names."""
ANSWERED = 20
"""Seconds in which the scheduler has to answer."""
GONE = (OSError, TimeoutError, asyncio.TimeoutError)
"""What Dask raises where it doesn't."""


@dataclass(frozen=True)
class FarmWorker:
    """A worker.

    Attributes:
        address: where Dask reaches it.
        process: what tells it from another process at the same address.
        name: as Dask calls it, which `dask worker --name` gives; its address if none was given.
        threads: how many batches it runs at once.
        facts: what it has; None if it couldn't be asked.
        problem: why it takes no part; empty if it can.
        held: the digests of what it has been sent.
        shared: the folder of its arrivals, where this process lays what others are sent.
    """

    address: str
    process: str
    name: str
    threads: int
    facts: Facts | None = None
    problem: str = ""
    held: set[str] = field(default_factory=set, compare=False, repr=False)
    shared: Path | None = None

    def lay(self, arrays: Mapping[str, bytes], file: str = "array") -> None:
        """Where the worker has a folder in common with this process, it has these files from now on.

        A run that ends meanwhile may remove one. Then it is tried once more, and what isn't `held` afterwards is sent.
        """
        if self.shared is None:
            return
        new = {name: data for name, data in arrays.items() if name not in self.held}
        for _ in range(2):
            with suppress(Lacking):
                Arrivals(self.shared).lay(file, new)
                self.held.update(new)
                return

    @property
    def place(self) -> str:
        """For people: the machine and the worker."""
        return f"{self.facts.host if self.facts else '?'}/{self.name}"


class Fleet:
    """The workers that a client sees. `refresh` asks again."""

    def __init__(self, client: Client, address: str, trouble: Callable[[], str] = lambda: "") -> None:
        self.client = client
        self.trouble = trouble
        """Says why workers that are missing have ended, where that is known."""
        self._address = address
        self._members: dict[str, FarmWorker] = {}
        self._beats: dict[str, tuple[Any, float]] = {}

    @property
    def workers(self) -> list[FarmWorker]:
        """All that were there when `refresh` was called last."""
        return list(self._members.values())

    @property
    def ready(self) -> list[FarmWorker]:
        """Those that can take part."""
        return [one for one in self._members.values() if not one.problem]

    def check(self) -> None:
        """Whether a run can begin: said at once, not waited for.

        Raises:
            ToolMissing: no worker is there, or none that can run a case here; or the scheduler can't read what is sent.
            FarmLost: the scheduler is gone.
        """
        if not self._members:
            raise ToolMissing(
                f"The farm at {self._address} has no workers.",
                hint=f"On each machine: dask worker {self._address} --host IP --dashboard-address IP:0, IP being the "
                "machine's own",
            )
        if not self.ready:
            names = "\n".join(f"  {one.place}: {one.problem}" for one in self.workers[:SHOWN])
            raise ToolMissing(
                f"No worker of the farm at {self._address} can take part:\n{names}",
                hint=SAME,
            )
        machines = {one.facts.machine for one in self.ready if one.facts}
        if platform.machine() not in machines:
            raise ToolMissing(
                f"Libraries that are built here are for {platform.machine()}, and the farm at {self._address} has "
                f"{', '.join(sorted(machines))} alone.",
                hint="Start the run on a machine of that kind.",
            )
        if problem := self._scheduler_problem():
            raise ToolMissing(
                f"The scheduler of the farm at {self._address} can't read what is sent to the workers: {problem}.",
                hint=SAME,
            )

    def refresh(self) -> tuple[list[FarmWorker], list[FarmWorker]]:
        """Asks the scheduler: who has come, and who has gone since the last time.

        Raises:
            FarmLost: the scheduler is gone.
        """
        there = self._identities()
        gone = [one for one in self._members.values() if self._lost(one, there)]
        for one in gone:
            del self._members[one.address]
        fresh = {address: facts for address, facts in there.items() if address not in self._members}
        come = self._asked({address: one for address, one in fresh.items() if not self._silent(one)})
        self._members.update({one.address: one for one in come})
        return come, gone

    def _scheduler_problem(self) -> str:
        """Why tasks don't get through the scheduler, which unpickles them; empty if they do."""
        try:
            # The time limit is of Client.sync, which takes it from the arguments that it is given.
            python, version = self.client.run_on_scheduler(_installed, callback_timeout=ANSWERED)
            versions: Any = self.client.get_versions()
        except GONE as error:
            raise self._gone(error) from None
        except Exception as error:  # noqa: BLE001 - whatever an import there raises, or an older pluginkit's lacks
            return f"no pluginkit {__version__} there ({type(error).__name__}: {error})"
        if version != __version__:
            return f"pluginkit {version} there, {__version__} here"
        if (dask := str(versions["scheduler"]["packages"]["distributed"])) != DASK:
            return f"distributed {dask} there, {DASK} here"
        return _other_python(python)

    def _gone(self, error: BaseException) -> FarmLost:
        return FarmLost(
            f"The farm's scheduler at {self._address} no longer answers ({type(error).__name__}).",
            hint="Start it again, and the run.",
        )

    async def _identity(self) -> Mapping[str, Any]:
        assert self.client.scheduler is not None, "the client is closed"
        found: Mapping[str, Any] = await self.client.scheduler.identity(n_workers=-1)
        return found

    def _identities(self) -> dict[str, dict[str, Any]]:
        try:
            found = self.client.sync(self._identity, callback_timeout=ANSWERED)
        except (*GONE, AttributeError) as error:
            raise self._gone(error) from None
        workers: dict[str, dict[str, Any]] = dict(found["workers"])
        return workers

    def _lost(self, one: FarmWorker, there: Mapping[str, Mapping[str, Any]]) -> bool:
        found = there.get(one.address)
        return found is None or found["local_directory"] != one.process or self._silent(found)

    def _silent(self, identity: Mapping[str, Any]) -> bool:
        """Whether its heartbeat has stood still, by this machine's clock."""
        key, now = str(identity["local_directory"]), time.monotonic()
        beat, since = self._beats.get(key, (None, now))
        if beat != identity["last_seen"]:
            since = now
        self._beats[key] = (identity["last_seen"], since)
        return now - since > SILENT

    def _asked(self, there: Mapping[str, Mapping[str, Any]]) -> list[FarmWorker]:
        """What new workers have. A worker with another Python or pluginkit is told apart before it is asked more."""
        if not there:
            return []
        versions = self._versions()
        found: dict[str, Any] = self.client.run(worker.introduce, workers=list(there), on_error="return")
        made = []
        for address, identity in there.items():
            said = found.get(address)
            known, held, shared = said if isinstance(said, tuple) and len(said) == 3 else (None, (), None)
            problem = _problem(versions.get(address, {}), known or said)
            name, process = str(identity["name"]), str(identity["local_directory"])
            made.append(
                FarmWorker(address, process, name, int(identity["nthreads"]), known, problem, set(held), shared)
            )
        return made

    def _versions(self) -> dict[str, dict[str, str]]:
        """Of each worker: of Python and of the package distributed."""
        versions: Any = self.client.get_versions()
        return {
            address: {"Python": str(one["host"]["python"]), "distributed": str(one["packages"]["distributed"])}
            for address, one in versions["workers"].items()
            if one
        }


def _problem(versions: Mapping[str, str], facts: object) -> str:
    """Why a worker can't take part: plans travel as pickles, which only the same classes can read."""
    if other := _other_python(versions.get("Python", "")):
        return other
    # Dask's own parts talk to one another in a protocol that each release may change.
    dask = versions.get("distributed", DASK)
    if dask != DASK:
        return f"distributed {dask} there, {DASK} here"
    if isinstance(facts, tuple):
        return f"another pluginkit than this {__version__} there: it introduces itself in {len(facts)} parts"
    if not isinstance(facts, Facts):
        return f"no pluginkit {__version__} there ({type(facts).__name__}: {facts})" if facts else "it doesn't answer"
    if facts.pluginkit != __version__:
        return f"pluginkit {facts.pluginkit} there, {__version__} here"
    return ""


def _other_python(python: str) -> str:
    """What is said of another Python than this one; empty if it is the same, or unknown."""
    here = platform.python_version()
    same = not python or python.split(".")[:2] == here.split(".")[:2]
    return "" if same else f"Python {'.'.join(python.split('.')[:3])} there, {here} here"


def _installed() -> tuple[str, str]:
    """The versions of Python and pluginkit where this is called."""
    return platform.python_version(), __version__
