"""The third step of a run: an item executed where its library is. `pluginkit test` and pytest's items share it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from pluginkit import evaluators
from pluginkit.evaluators.protocol import Answers, Build, Item, RunWork
from pluginkit.process.worker_pool import Opener, Session_co, Sessions
from pluginkit.runtimes import Configured

Shared = TypeVar("Shared")


@dataclass
class LocalWorkplace:
    """This process: a thread's sessions, and the libraries of a run (a `evaluators.protocol.Workplace`).

    Attributes:
        sessions: the thread's.
        libraries: what gives the file of a build.
        for_gpu: what gives the library of target gpu.
        report: called with what is being done.
    """

    sessions: Sessions
    libraries: Callable[[Build], Path]
    for_gpu: Callable[[], Path]
    report: Callable[[str], None] = field(default=lambda _: None)

    def get(self, source: Opener[Session_co]) -> Session_co:
        """The thread's session."""
        return self.sessions.get(source)

    def shared(self, key: Hashable, make: Callable[[], Shared]) -> Shared:
        """What all threads of the run have in common."""
        return self.sessions.common.shared(key, make)

    def begin(self, what: str) -> None:
        """Passes it to `report`."""
        self.report(what)

    def library(self, build: Build) -> Path:
        """The file of a build."""
        return self.libraries(build)

    def gpu_library(self) -> Path:
        """The library of target gpu."""
        return self.for_gpu()


def execute(
    item: Item,
    work: RunWork,
    place: LocalWorkplace,
    configured: Callable[[], Mapping[str, tuple[Configured, ...]]] | None = None,
) -> Answers:
    """Ask an item's evaluator.

    Args:
        item: what to ask.
        work: what the items were made from.
        place: sessions and libraries.
        configured: gives of networks by id what configure saw in pluginkit's host, as far as it is known; may wait.

    Raises:
        CancelledError: the run is being stopped.
        PluginkitError: the library can't be had, or not be loaded at all.
    """
    place.sessions.check()
    place.begin(item.label)
    expected = (lambda: configured().get(item.network)) if item.needs and configured else None
    return evaluators.evaluator(item.evaluator).execute(item, work, place, expected)
