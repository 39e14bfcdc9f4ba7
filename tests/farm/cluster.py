"""A Dask cluster of processes on loopback, as the user starts one."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import dask

from pluginkit import farm
from pluginkit.farm.facts import Facts
from pluginkit.process.worker_main import die_with_parent

INSTALLED = (Path(sys.executable).parent, Path(dask.__file__).parents[1] / "bin")
"""Where pip puts a command: in an environment, and by `--target`."""
DASK = shutil.which("dask", path=os.pathsep.join(map(str, INSTALLED))) or "dask"
ROOT = Path(__file__).parents[2]
FORKED = {"DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD": "forkserver"}
"""A nanny's workers are forks of one process, which has the imports: Dask's own setting, and it halves their start."""
PATIENT = 300.0
"""Seconds that a test waits for processes at most, of a machine with ten times the work that it can do."""


@dataclass
class Cluster:
    """A scheduler and its workers, each a process group of its own."""

    folder: Path
    options: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    scheduler_program: str = DASK

    @property
    def address(self) -> str:
        """The scheduler file."""
        return str(self.folder / "scheduler.json")

    def start(self) -> None:
        self._scheduler = self._run(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0",
            "--scheduler-file", self.address, *self.options,
        )  # fmt: skip
        deadline = time.monotonic() + PATIENT
        while not self._is_known():
            assert self._scheduler.poll() is None, self.log("scheduler")
            assert time.monotonic() < deadline, self.log("scheduler")
            time.sleep(0.05)

    def _is_known(self) -> bool:
        """Whether the scheduler file is there, and whole: Dask writes it in its place."""
        with contextlib.suppress(OSError, ValueError):
            return bool(json.loads(Path(self.address).read_text(encoding="utf-8")))
        return False

    def add(
        self, *options: str, nanny: bool = True, name: str = "", bound: bool = True, **environment: str
    ) -> subprocess.Popen[bytes]:
        """One more worker, of one thread; or so many as `--nworkers` says, by one process that starts them. It ends
        with the thread that has started it, if it is `bound`."""
        name = name or f"w{len(self.workers)}"
        process = self._run(
            "worker", "--scheduler-file", self.address, "--host", "127.0.0.1", "--name", name, "--nthreads", "1",
            "--dashboard-address", "127.0.0.1:0", "--local-directory", str(self.folder),
            "--nanny" if nanny else "--no-nanny", *self.options, *options, log=name, bound=bound, **environment,
        )  # fmt: skip
        self.workers.append(process)
        return process

    def ready(self, count: int) -> list[Facts]:
        """What so many workers have, once they can take part."""
        with farm.open_fleet(self.address) as fleet:
            deadline = time.monotonic() + PATIENT
            while len(fleet.ready) < count:
                assert time.monotonic() < deadline, [self.log(file.stem) for file in self.folder.glob("*.log")]
                time.sleep(0.1)
                fleet.refresh()
            return [one.facts for one in fleet.ready if one.facts]

    def stop(self) -> None:
        """Ends every process, nannies' workers too."""
        for process in (*self.workers, self._scheduler):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def _run(self, *command: str, log: str = "", bound: bool = True, **environment: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{log or command[0]}.log").open("wb") as file:
            return subprocess.Popen(
                [sys.executable, self.scheduler_program if command[0] == "scheduler" else DASK, *command],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                env={**os.environ, **FORKED, **self.environment, **environment},
                cwd=ROOT,
                start_new_session=True,
                # A test run that is killed ends nothing itself; what is below a nanny ends with that.
                preexec_fn=partial(die_with_parent, os.getpid()) if bound else None,  # noqa: PLW1509
            )


@contextlib.contextmanager
def cluster(folder: Path, options: Sequence[str] = (), **environment: str) -> Iterator[Cluster]:
    """A scheduler without workers."""
    folder.mkdir(exist_ok=True)
    made = Cluster(folder, options, environment)
    made.start()
    try:
        yield made
    finally:
        made.stop()
