"""A scheduler in this process, and workers that are forks of one process with all imports."""

from __future__ import annotations

import asyncio
import logging
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import dask
from distributed import Client, LocalCluster

from pluginkit.errors import PluginCrashed, ToolMissing
from pluginkit.farm.worker import SHARED
from pluginkit.process.worker import Worker

HOST = "127.0.0.1"
START = 60.0
"""Seconds in which the workers are there, or something is wrong."""
LOOK = 0.5
"""Seconds between two looks at workers that aren't there yet."""
TRIES = 3
"""How often one worker may end at its start. What ends it isn't chance then."""
SHOWN = 6
"""Lines that the workers have left, in a message."""
QUIET = {
    # What Dask shows on its dashboard, which isn't there: each process would ask itself fifty times a second how it is.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
}


class LocalFarm:
    """A scheduler, and so many workers of one thread each.

    Attributes:
        cluster: the scheduler's.
        count: how many workers there are to be.
    """

    def __init__(self, cluster: LocalCluster, mother: Worker, count: int) -> None:
        self.cluster, self.count = cluster, count
        self._mother = mother

    def wait(self, client: Client) -> None:
        """Until all workers are there.

        Raises:
            ToolMissing: they aren't after `START` seconds, or one ends again and again.
        """
        deadline = time.monotonic() + START
        while True:
            with suppress(TimeoutError, asyncio.TimeoutError):
                client.wait_for_workers(self.count, timeout=LOOK)
                return
            often = max(self._deaths().values(), default=0) >= TRIES
            if often or time.monotonic() > deadline:
                said = (
                    "This machine's workers end as soon as they are started."
                    if often
                    else f"Of {self.count} workers on this machine not all are there after {START:g} s."
                )
                raise ToolMissing(
                    "\n".join(filter(None, (said, self.trouble()))),
                    hint="Does it have enough memory and processes for them? Try fewer.",
                )

    def trouble(self) -> str:
        """Why workers that are missing have ended: the last that they have left. Empty where none has ended."""
        try:
            if not self._deaths():
                return ""
        except ToolMissing as error:
            return error.message
        return "The last that they said:\n" + "\n".join(
            f"  {one}" for one in self._mother.log_tail.splitlines()[-SHOWN:]
        )

    def _deaths(self) -> dict[int, int]:
        try:
            found: dict[int, int] = self._mother.call("deaths")
        except PluginCrashed as error:
            raise ToolMissing(
                f"The process that this machine's workers are forks of is gone: {error.message}"
            ) from None
        return found


@contextmanager
def local_farm(count: int) -> Iterator[LocalFarm]:
    """So many workers, for as long as this lasts; one that dies is replaced. `LocalFarm.wait` waits for them.

    Raises:
        PluginkitError: the workers can't be started.
    """
    with (
        dask.config.set(QUIET),
        tempfile.TemporaryDirectory(prefix="pluginkit-farm-", ignore_cleanup_errors=True) as folder,
        LocalCluster(
            n_workers=0,
            host=HOST,
            dashboard_address=None,
            # Without a dashboard it has an HTTP server, at Dask's usual port unless told.
            scheduler_kwargs={"dashboard_address": f"{HOST}:0"},
            silence_logs=logging.CRITICAL,
        ) as cluster,
        # It ends before the scheduler does: its workers would wait for that one to come back.
        Worker(
            "pluginkit.farm.local.dask_worker",
            {
                "scheduler": cluster.scheduler_address,
                "count": count,
                "folder": folder,
                "config": {**QUIET, SHARED: str(Path(folder, "shared"))},
            },
            timeout=START,
        ) as mother,
    ):
        yield LocalFarm(cluster, mother, count)
