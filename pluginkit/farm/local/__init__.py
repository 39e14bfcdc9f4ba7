"""The fleet of `local:N`: a scheduler in this process, and workers that are forks of one process with all imports."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dask
from distributed import LocalCluster

from pluginkit.farm.worker import SHARED
from pluginkit.process.worker import Worker

HOST = "127.0.0.1"
START = 60.0
"""Seconds in which the workers are there, or something is wrong."""
QUIET = {
    # What Dask shows on its dashboard, which isn't there: each process would ask itself fifty times a second how it is.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
}


@contextmanager
def local_cluster(count: int) -> Iterator[LocalCluster]:
    """A scheduler, and so many workers of one thread each, for as long as this lasts. A worker that dies is replaced.

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
            "pluginkit.farm.local.child",
            {
                "scheduler": cluster.scheduler_address,
                "count": count,
                "folder": folder,
                "config": {**QUIET, SHARED: str(Path(folder, "shared"))},
            },
            timeout=START,
        ),
    ):
        yield cluster
