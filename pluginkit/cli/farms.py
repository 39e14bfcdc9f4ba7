"""The options of commands that run on a farm, and what they open."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from pluginkit.errors import UsageError

if TYPE_CHECKING:
    # The command line's options are read before it is imported.
    from pluginkit.run.executors import Executor

farm_option = click.option(
    "--farm",
    metavar="ADDRESS",
    help="Run on the workers of a Dask cluster: tcp://HOST:PORT, tls://HOST:PORT, a scheduler file, or local:N.",
)
on_option = click.option(
    "--on",
    multiple=True,
    metavar="GPUS",
    help="With --farm: GPUs for target gpu: 'sm>=80', 'memory>=40' (GiB), 'name==*H200*', or each-gpu for every "
    "GPU. May be repeated.  [default: one of each architecture]",
)
FULL = "A farm has as many jobs as its workers have threads."


def check(farm: str | None, on: Sequence[str], refused: Mapping[str, tuple[object, str]]) -> None:
    """Whether options go together.

    Args:
        farm, on: as given.
        refused: what doesn't go with a farm, by the option's name: what was given, and what to do instead.

    Raises:
        UsageError: they don't.
    """
    if farm is None:
        if on:
            raise UsageError("--on chooses among a farm's GPUs.", hint="Add --farm ADDRESS.")
        return
    for name, (given, hint) in refused.items():
        if given:
            raise UsageError(f"--farm and {name} don't go together.", hint=hint)


@contextlib.contextmanager
def opened(farm: str | None, on: Sequence[str]) -> Iterator[Executor | None]:
    """Where a run takes place: None is this machine.

    Raises:
        UsageError, ToolMissing: as of `farm.open_executor`.
    """
    if farm is None:
        yield None
        return
    from pluginkit.farm import open_executor

    with open_executor(farm, on) as found:
        yield found
