"""Workers of Dask as forks of this process (a `process.worker.Worker`'s child), which has imported what they need.

A worker that dies is forked again: Dask's nanny would be a process's worth of work in the client for each. Before it
has any thread, a worker forks the server from which it will fork plugin processes, so that nothing is imported again.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import logging
import os
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Mapping

import dask
import distributed

from pluginkit.evaluators import EVALUATORS
from pluginkit.farm.local.cluster import HOST
from pluginkit.process import fork_server
from pluginkit.process.worker import ending
from pluginkit.process.worker_main import CallFile, die_with_parent

ASKED = (
    "pluginkit.farm.worker",
    "pluginkit.evaluators.host.cases",
    "pluginkit.evaluators.rtx.build",
    "pluginkit.validation.asking",
)
"""What workers import when they are first asked."""
PAUSE = 1.0
"""Seconds between two starts of a worker that dies."""


def open(  # noqa: A001
    call_file: CallFile, scheduler: str, count: int, folder: str, config: Mapping[str, object]
) -> LocalWorkers:
    """Forks the workers.

    Args:
        call_file: not needed.
        scheduler: where they report.
        count: how many.
        folder: where they keep what they are sent.
        config: Dask's settings.
    """
    del call_file
    dask.config.set(config)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    for module in (*fork_server.PRELOADED, *EVALUATORS, *ASKED):
        importlib.import_module(module)
    gc.collect()
    gc.freeze()
    return LocalWorkers(scheduler, folder, count)


class LocalWorkers:
    """The forks. They end with this process."""

    def __init__(self, scheduler: str, folder: str, count: int) -> None:
        self._scheduler, self._folder = scheduler, folder
        self._living: dict[int, tuple[int, float]] = {}
        self._due: dict[int, float] = {}
        self._deaths: Counter[int] = Counter()
        self._busy, self._called = True, False
        for call in (signal.SIGCHLD, signal.SIGALRM):
            signal.signal(call, lambda *_: self._replace())
        for number in range(count):
            self._start(number)
        self._busy = False
        self._replace()

    def deaths(self) -> Mapping[int, int]:
        """How often each worker has ended without being told to. The log says how."""
        return dict(self._deaths)

    def _start(self, number: int) -> None:
        """In the worker it ends by SystemExit: so a plugin's process ends as a program does.

        Raises:
            OSError: there can't be another process now.
        """
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            # Above is this process's answer to its client, which no worker may give.
            try:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                die_with_parent(parent)
                fork_server.branch()
                asyncio.run(_work(self._scheduler, self._folder, number))
            except Exception:  # noqa: BLE001 (whatever it is, this worker ends of it and has a successor)
                traceback.print_exc()
                os._exit(1)
            sys.exit()
        self._living[pid] = number, time.monotonic()

    def _replace(self) -> None:
        """Called at each death and when a start is due; a call that comes while it runs has it look once more."""
        self._called = True
        while self._called and not self._busy:
            self._busy, self._called = True, False
            self._look()
            self._busy = False

    def _look(self) -> None:
        for pid, (number, since) in list(self._living.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                del self._living[pid]
                if status:  # otherwise it was told to end
                    self._due[number] = since + PAUSE
                    self._deaths[number] += 1
                    how = ending(os.waitstatus_to_exitcode(status))
                    os.write(2, f"worker {number} ended with {how}\n".encode())  # not print: a signal's handler
        for number, due in list(self._due.items()):
            if due <= time.monotonic():
                try:
                    self._start(number)
                    del self._due[number]
                except OSError:
                    traceback.print_exc()
                    self._due[number] = time.monotonic() + PAUSE
        if self._due:
            # At least a millisecond: 0 would be never.
            signal.setitimer(signal.ITIMER_REAL, max(0.001, min(self._due.values()) - time.monotonic()))


async def _work(scheduler: str, folder: str, number: int) -> None:
    """A worker of Dask, until its scheduler ends it. What uses memory are the processes of plugins, not this one."""
    one = distributed.Worker(
        scheduler,
        nthreads=1,
        name=number,
        host=HOST,
        local_directory=folder,
        memory_limit=0,
        dashboard=False,
    )
    async with one:
        await one.finished()
