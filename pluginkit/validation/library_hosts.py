"""The workers of a run of checks: one for each layout of TensorRT's plugin classes, with the library in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pluginkit import layouts
from pluginkit.adoption.answers import ListedCreator
from pluginkit.errors import PluginCrashed, PluginkitError
from pluginkit.host import DemandWarning
from pluginkit.library.loadable import loadable
from pluginkit.process.worker import Worker

CHILD = "pluginkit.validation.validation_worker"
PATIENCE = 60.0
"""Seconds for loading a library that another worker has loaded: machines are busy."""


@dataclass(frozen=True)
class LibrarySource:
    """Opens the workers of a library: each thread of a pool has its own.

    Attributes:
        library: the file.
        timeout: seconds for loading it, and for each question.
        libfuzzer: a library that is loaded before it, if it counts its edges.
    """

    library: Path
    timeout: float
    libfuzzer: Path | None = None

    @property
    def key(self) -> Path:
        """What identifies its workers."""
        return self.library

    def open(self) -> LibraryHosts:
        """Workers that are started where they are wanted."""
        return LibraryHosts(self.library, self.timeout, self.libfuzzer)


class LibraryHosts:
    """A worker for each layout of TensorRT's classes, with the library in it, started where it is wanted.

    Args:
        library: the file.
        timeout: seconds for loading it, and for each question; it has `PATIENCE` where another worker has loaded it.
        libfuzzer: as of `LibrarySource`.
    """

    def __init__(self, library: Path, timeout: float, libfuzzer: Path | None = None) -> None:
        self._library = library.resolve()
        self._timeout = max(timeout, PATIENCE)
        self._first = timeout
        self._libfuzzer = libfuzzer
        self._layouts = tuple(one.number for one in loadable(library))
        self._workers: dict[int, Worker | PluginkitError] = {}

    def close(self) -> None:
        """Ends the workers."""
        for one in self._workers.values():
            if isinstance(one, Worker):
                one.close()

    def init(self, layout: int) -> dict[str, Any]:
        """What a worker's library is opened with."""
        return {"library": self._library, "version": layouts.layout(layout).host_version, "libfuzzer": self._libfuzzer}

    def worker(self, layout: int) -> Worker | PluginkitError:
        """The worker of a layout, or why the library can't be loaded in it."""
        return self._worker(layout, self._timeout)

    def _worker(self, layout: int, timeout: float) -> Worker | PluginkitError:
        if layout not in self._workers:
            try:
                self._workers[layout] = Worker(CHILD, self.init(layout), timeout=timeout)
            except PluginkitError as error:
                self._workers[layout] = error
        return self._workers[layout]

    @property
    def layout(self) -> int:
        """The first that the library can be loaded in."""
        return next(layout for layout in self._layouts if isinstance(self.worker(layout), Worker))

    def first(self) -> tuple[list[ListedCreator], tuple[DemandWarning, ...]] | PluginkitError:
        """The creators in the first layout that the library can be loaded in, and what loading it has shown."""
        for layout in self._layouts:
            one = self._worker(layout, self._first)
            if isinstance(one, Worker):
                return self._loaded(one)
            if isinstance(one, PluginCrashed):
                return one
        return next(one for one in self._workers.values() if isinstance(one, PluginkitError))

    def with_creator(self, creator: ListedCreator) -> Iterator[tuple[int, Worker, int]]:
        """The layouts in which the library has a creator of that name and kind: the layout, its worker, and the
        creator's place there.

        Raises:
            PluginkitError: this time the library can't be loaded in any.
        """
        for layout in self._layouts:
            worker = self.worker(layout)
            if isinstance(worker, Worker):
                listed, _ = self._loaded(worker)
                same = (one for one in listed if (one.identity, one.kind) == (creator.identity, creator.kind))
                yield from ((layout, worker, one.index) for one in same)
        errors = [one for one in self._workers.values() if isinstance(one, PluginkitError)]
        if len(errors) == len(self._layouts):
            raise errors[0]

    @staticmethod
    def _loaded(worker: Worker) -> tuple[list[ListedCreator], tuple[DemandWarning, ...]]:
        loaded: tuple[list[ListedCreator], tuple[DemandWarning, ...]] = worker.call("loaded")
        return loaded
