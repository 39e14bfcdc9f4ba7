"""Progress: a line that changes on a terminal; elsewhere, as in a CI's log, a line on stderr each half minute.

What is printed to the console meanwhile stands above it on a terminal.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TransferSpeedColumn,
)
from rich.progress import TimeElapsedColumn as Elapsed

EVERY = 30.0
"""Seconds between two lines where there is no terminal."""

Step = Callable[[str, int, int | None], None]
"""Called with what is being done, how much of it is done, and of how much (None: not known)."""


class Say(Protocol):
    """Called with what is being done, or as a `Step`."""

    def __call__(self, what: str, _done: int = 0, _total: int | None = None, /) -> None:
        """Show it."""


@contextmanager
def spinner(text: str, console: Console, *, elapsed: bool = False) -> Iterator[Say]:
    """A line with what is being done, and the seconds of it if `elapsed`; the yielded function is called with the next
    text."""
    with _shown(
        text, console, [SpinnerColumn(), TextColumn("{task.description}", markup=False)], elapsed=elapsed
    ) as step:
        yield lambda what, _done=0, _total=None: step(what, 0, None)


@contextmanager
def steps(text: str, console: Console) -> Iterator[Callable[[str, float], None]]:
    """A line with what is being done, and the seconds of it; the yielded function is called with the next text, and
    when that began, by `time.monotonic`."""
    columns: list[ProgressColumn] = [SpinnerColumn(), TextColumn("{task.description}", markup=False)]
    with _shown(text, console, columns, elapsed=True) as step:
        yield lambda what, since: step(what, 0, None, since)


@contextmanager
def bar(text: str, console: Console, *, elapsed: bool = False) -> Iterator[Step]:
    """A bar, with the time it takes if `elapsed`."""
    columns = [TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn()]
    with _shown(text, console, columns, elapsed=elapsed) as step:
        yield step


@contextmanager
def transfer(text: str, console: Console) -> Iterator[Step]:
    """A bar for bytes that are moved, with their speed."""
    columns = [TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TransferSpeedColumn()]
    with _shown(text, console, columns, elapsed=False) as step:
        yield step


class _Step(Protocol):
    def __call__(self, what: str, done: int, total: int | None, since: float | None = None) -> None:
        """As a `Step`; `since` is when the seconds begin, if not with the line."""


@contextmanager
def _shown(text: str, console: Console, columns: list[ProgressColumn], *, elapsed: bool) -> Iterator[_Step]:
    if not console.is_terminal:
        with _logged(text) as step:
            yield step
        return
    columns = [*columns, *([Elapsed()] if elapsed else [])]
    with Progress(*columns, console=console, transient=True) as shown:
        task = shown.add_task(text, total=None)

        def step(what: str, done: int, total: int | None, since: float | None = None) -> None:
            shown.tasks[0].start_time = since or shown.tasks[0].start_time
            shown.update(task, description=what, completed=done, total=total)

        yield step


@contextmanager
def _logged(text: str) -> Iterator[_Step]:
    """Lines on stderr, for stdout may be read by a program."""
    begun, ended = time.monotonic(), threading.Event()
    shown = [text]

    def write() -> None:
        # Without a stderr (2>&-) print would take stdout.
        while not ended.wait(EVERY) and sys.stderr is not None:
            print(f"{shown[0]} ({time.monotonic() - begun:.0f} s so far)", file=sys.stderr, flush=True)

    def step(what: str, done: int, total: int | None, since: float | None = None) -> None:
        nonlocal begun
        begun = since or begun
        shown[0] = what if total is None else f"{what}: {done} of {total}"

    writer = threading.Thread(target=write, name="progress", daemon=True)
    writer.start()
    try:
        yield step
    finally:
        ended.set()
        writer.join()
