"""A run's work, shared out over threads. Each has sessions of its own, so what it does runs in processes of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Protocol, TypeVar

from typing_extensions import Self

from pluginkit.errors import PluginkitError
from pluginkit.process import worker

T = TypeVar("T")


class _Closable(Protocol):
    def close(self) -> None: ...


Tool_co = TypeVar("Tool_co", bound=_Closable, covariant=True)


class Source(Protocol[Tool_co]):
    """What opens a session: a library in the host, or in NVIDIA's builder."""

    def open(self) -> Tool_co:
        """Starts its processes."""


class Bench:
    """The sessions of one thread, opened when they are first asked for."""

    def __init__(self, stopping: threading.Event) -> None:
        self._stopping = stopping
        self._open: dict[int, Any] = {}
        self._errors: dict[int, PluginkitError] = {}

    def get(self, source: Source[Tool_co]) -> Tool_co:
        """The thread's session of a source.

        Raises:
            PluginkitError: what `open` raised, the first time and ever after: loading a library that hangs takes long.
        """
        self.check()
        if id(source) in self._errors:
            raise self._errors[id(source)]
        if id(source) not in self._open:
            try:
                self._open[id(source)] = source.open()
            except PluginkitError as error:
                self._errors[id(source)] = error
                raise
        found: Tool_co = self._open[id(source)]
        return found

    def check(self) -> None:
        """To be called between one case and the next.

        Raises:
            CancelledError: the run is being stopped.
        """
        if self._stopping.is_set():
            raise CancelledError

    def close(self) -> None:
        """Ends all sessions."""
        for session in self._open.values():
            session.close()
        self._open.clear()


class Crew:
    """Threads that take up tasks in the order in which they were given. A context manager."""

    def __init__(self, jobs: int) -> None:
        self._pool = ThreadPoolExecutor(jobs, thread_name_prefix="pluginkit")
        self._own = threading.local()
        self._benches: list[Bench] = []
        self._stopping = threading.Event()

    def submit(self, task: Callable[[Bench], T]) -> Future[T]:
        """Has a thread do it. A task may wait for one that was given before."""
        return self._pool.submit(self._do, task)

    def _do(self, task: Callable[[Bench], T]) -> T:
        if not hasattr(self._own, "bench"):
            self._own.bench = Bench(self._stopping)
            self._benches.append(self._own.bench)
        return task(self._own.bench)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            # Nobody waits until a plugin comes back that hangs.
            self._stopping.set()
            worker.kill_all()
        self._pool.shutdown(cancel_futures=True)
        for bench in self._benches:
            bench.close()
