"""Progress on a terminal; nothing on a pipe. What is printed to the console meanwhile stands above it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, SpinnerColumn, TextColumn
from rich.progress import TimeElapsedColumn as Elapsed

Step = Callable[[str, int, int | None], None]
"""Called with what is being done, how much of it is done, and of how much (None: not known)."""


@contextmanager
def spinner(text: str, console: Console, *, elapsed: bool = False) -> Iterator[Callable[[str], None]]:
    """A line with what is being done, and the time it takes if `elapsed`; the yielded function is called with the next
    text."""
    with _shown(text, console, [SpinnerColumn(), TextColumn("{task.description}")], elapsed=elapsed) as step:
        yield lambda what: step(what, 0, None)


@contextmanager
def bar(text: str, console: Console, *, elapsed: bool = False) -> Iterator[Step]:
    """A bar, with the time it takes if `elapsed`."""
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()]
    with _shown(text, console, columns, elapsed=elapsed) as step:
        yield step


@contextmanager
def _shown(text: str, console: Console, columns: list[ProgressColumn], *, elapsed: bool) -> Iterator[Step]:
    columns = [*columns, *([Elapsed()] if elapsed else [])]
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as shown:
        task = shown.add_task(text, total=None)
        yield lambda what, done, total: shown.update(task, description=what, completed=done, total=total)
