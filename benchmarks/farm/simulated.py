"""Many Dask workers in one process: `python benchmarks/farm/simulated.py SCHEDULER_FILE COUNT`, until it is killed.

Their tasks sleep, so that a few cores hold a fleet of hundreds; what is measured is the scheduler and the client.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import sys
import tempfile

import dask
from distributed import Worker

from pluginkit.farm import worker as farm_worker
from tests.farm import sleeping_evaluator

QUIET = {
    "distributed.worker.profile.enabled": False,
    # Each worker looks at its machine twice a second, and at its event loop fifty times: on a machine of its own it is
    # nothing, for a thousand of them it is all that two cores can do.
    "distributed.admin.system-monitor.interval": "1h",
    "distributed.admin.tick.interval": "1h",
    "distributed.admin.tick.cycle": "1h",
}


async def main(scheduler_file: str, count: int) -> None:
    # The machine is asked what it has once, not once a worker.
    farm_worker.of_this_machine = functools.lru_cache(farm_worker.of_this_machine)
    # So is a thread that waits for a run's end.
    farm_worker.IDLE = 3600.0
    with tempfile.TemporaryDirectory() as folder, dask.config.set(QUIET):
        workers = [
            Worker(
                scheduler_file=scheduler_file,
                nthreads=1,
                host="127.0.0.1",
                memory_limit=0,
                dashboard=False,
                local_directory=folder,
            )
            for _ in range(count)
        ]
        await asyncio.gather(*workers)
        await asyncio.gather(*(one.finished() for one in workers))


if __name__ == "__main__":
    assert sleeping_evaluator.EVALUATOR
    logging.disable(logging.INFO)
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
