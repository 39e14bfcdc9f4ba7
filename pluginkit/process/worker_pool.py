"""A run's work, shared out over threads. Each has sessions of its own, so what it does runs in processes of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Protocol, TypeVar

from typing_extensions import Self

from pluginkit.errors import PluginkitError
from pluginkit.process import worker

T = TypeVar("T")


class Closable(Protocol):
    """A session: `close` ends its processes."""

    def close(self) -> None: ...


Session_co = TypeVar("Session_co", bound=Closable, covariant=True)


class Opener(Protocol[Session_co]):
    """What opens a session: a library in the host, or in NVIDIA's builder."""

    @property
    def key(self) -> Hashable:
        """What its sessions are identified by: the library's digest, and how it is loaded."""

    def open(self) -> Session_co:
        """Starts its processes."""


class Common:
    """What the threads of one run have in common: whether it is being stopped, and what is made once for all."""

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self.workers = worker.Group()
        self._lock = threading.Lock()
        self._made: dict[Hashable, Any] = {}

    def shared(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` gives, made once."""
        with self._lock:
            if key not in self._made:
                self._made[key] = make()
            found: T = self._made[key]
            return found


class Sessions:
    """The sessions of one thread, opened when they are first asked for."""

    def __init__(self, common: Common) -> None:
        self.common = common
        self._open: dict[Hashable, Any] = {}
        self._errors: dict[Hashable, PluginkitError] = {}

    def get(self, source: Opener[Session_co]) -> Session_co:
        """The thread's session of a source.

        Raises:
            PluginkitError: what `open` raised, the first time and ever after: loading a library that hangs takes long.
            CancelledError: the run is being stopped.
        """
        self.check()
        key = source.key
        if key in self._errors:
            raise self._errors[key]
        if key not in self._open:
            try:
                self._open[key] = source.open()
            except PluginkitError as error:
                self._errors[key] = error
                raise
        found: Session_co = self._open[key]
        return found

    def check(self) -> None:
        """To be called between one item and the next.

        Raises:
            CancelledError: the run is being stopped.
        """
        if self.common.stopping.is_set():
            raise CancelledError

    def close(self) -> None:
        """Ends all sessions."""
        for session in self._open.values():
            session.close()
        self._open.clear()


class WorkerPool:
    """Threads that take up tasks in the order in which they were given. A context manager."""

    def __init__(self, jobs: int) -> None:
        self._pool = ThreadPoolExecutor(jobs, thread_name_prefix="pluginkit")
        self._own = threading.local()
        self._sessions: list[Sessions] = []
        self.common = Common()

    def submit(self, task: Callable[[Sessions], T]) -> Future[T]:
        """Has a thread do it. A task may wait for one that was given before."""
        return self._pool.submit(self._do, task)

    def _do(self, task: Callable[[Sessions], T]) -> T:
        if not hasattr(self._own, "sessions"):
            self._own.sessions = Sessions(self.common)
            self._sessions.append(self._own.sessions)
        with self.common.workers:
            return task(self._own.sessions)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            # Nothing waits for a plugin that hangs.
            self.common.stopping.set()
            self.common.workers.kill()
        self._pool.shutdown(cancel_futures=True)
        if self._sessions:
            with ThreadPoolExecutor(len(self._sessions)) as closing:  # a process takes some milliseconds to end
                list(closing.map(Sessions.close, self._sessions))
