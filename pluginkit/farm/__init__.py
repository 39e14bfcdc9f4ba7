"""Runs on the workers of a Dask cluster: `pluginkit test|check|bench --farm ADDRESS`. Nothing else imports Dask."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pluginkit import installation
from pluginkit.errors import ToolMissing
from pluginkit.farm.conditions import GpuChoice
from pluginkit.farm.local import local_workers

if TYPE_CHECKING:
    from pluginkit.bench import BenchOptions, BenchReport
    from pluginkit.farm.fleet import Fleet
    from pluginkit.run.executors import Executor
    from pluginkit.run.options import Step


def check() -> None:
    """Whether Dask is here, before anything is done for a run on it.

    Raises:
        ToolMissing: the extra `farm` isn't installed.
    """
    if importlib.util.find_spec("distributed") is None:
        raise ToolMissing(
            "A farm needs Dask (the package distributed), which is not installed.", hint=installation.extra("farm")
        )


@contextlib.contextmanager
def open_fleet(address: str) -> Iterator[Fleet]:
    """The workers of a cluster, asked what they have.

    Args:
        address: as of `connection.connect`.

    Raises:
        UsageError, ToolMissing: as of `connection.connect`.
    """
    check()
    from pluginkit.farm.connection import connect
    from pluginkit.farm.fleet import Fleet

    with connect(address) as there:
        found = Fleet(there.client, address, there.trouble)
        found.refresh()
        yield found


@contextlib.contextmanager
def open_executor(address: str, on: Sequence[str] = ()) -> Iterator[Executor]:
    """What executes a run's items on a cluster. Workers of this machine's own start meanwhile, and are waited for when
    they are needed.

    Args:
        address: as of `connection.connect`.
        on: as of `conditions.GpuChoice.parse`.

    Raises:
        UsageError, ToolMissing: as of `connection.connect`; or no worker there can run a case, or has a GPU of `on`.
            Why workers of this machine can't be started is raised by what needs them.
    """
    check()
    choice = GpuChoice.parse(on)
    opened = _opened(address, choice)
    if local_workers(address) and not on:
        from pluginkit.farm.local.opening import meanwhile

        opened = meanwhile(opened)
    with opened as found:
        yield found


@contextlib.contextmanager
def _opened(address: str, choice: GpuChoice) -> Iterator[Executor]:
    with open_fleet(address) as found:
        from pluginkit.farm.executor import FarmExecutor

        found.check()
        yield FarmExecutor(found, choice)


def measure(address: str, on: Sequence[str], options: BenchOptions, step: Step) -> BenchReport:
    """Measure a plugin on a GPU of a cluster, as of `benching.measure`.

    Args:
        address: as of `connection.connect`.
        on: as of `conditions.GpuChoice.parse`.
        options: what is measured.
        step: called with each step of the progress.

    Raises:
        UsageError, ToolMissing: as of `open_executor`; PluginkitError: as of `bench.run`.
    """
    choice = GpuChoice.parse(on)
    with open_fleet(address) as found:
        from pluginkit.farm import benching

        found.check()
        return benching.measure(found, choice, options, step)
