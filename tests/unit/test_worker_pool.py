"""Work shared out over threads, each with its own sessions."""

from __future__ import annotations

import threading
import time
from functools import partial

import pytest

from pluginkit.errors import CheckFailed
from pluginkit.process.worker_pool import Sessions, WorkerPool


class Session:
    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.closed = False

    def close(self) -> None:
        self.closed = True


class Source:
    def __init__(self, error: str = "") -> None:
        self.error = error
        self.opened: list[Session] = []
        self.asked = 0
        self.key = ("source", error)

    def open(self) -> Session:
        self.asked += 1
        if self.error:
            raise CheckFailed(self.error)
        self.opened.append(Session())
        return self.opened[-1]


def test_each_thread_opens_a_session_once_and_it_is_closed() -> None:
    source, both = Source(), threading.Barrier(2)

    def task(number: int, bench: Sessions) -> tuple[int, bool]:
        if number < 2:
            both.wait(10)
        return number, bench.get(source).thread == threading.get_ident()

    with WorkerPool(2) as pool:
        tasks = [pool.submit(partial(task, number)) for number in range(20)]
        assert [one.result() for one in tasks] == [(number, True) for number in range(20)]
    assert len(source.opened) == 2
    assert all(session.closed for session in source.opened)


def test_what_cannot_be_opened_is_not_tried_again() -> None:
    source = Source("no")
    with WorkerPool(1) as pool:
        tasks = [pool.submit(lambda bench: bench.get(source)) for _ in range(3)]
        assert [str(one.exception()) for one in tasks] == ["no"] * 3
    assert source.asked == 1


def test_a_task_may_wait_for_an_earlier_one_even_alone() -> None:
    with WorkerPool(1) as pool:
        first = pool.submit(lambda _: 20)
        assert pool.submit(lambda _: first.result() + 1).result(10) == 21


def test_sessions_are_those_of_a_key_and_not_of_an_object() -> None:
    first, like, other = Source(), Source(), Source()
    other.key = ("another", "")
    with WorkerPool(1) as pool:
        asked = [pool.submit(partial(lambda one, own: own.get(one), one)).result() for one in (first, like, other)]
    assert asked[0] is asked[1]
    assert asked[0] is not asked[2]
    assert not like.opened


def test_what_is_shared_is_made_once() -> None:
    made: list[int] = []
    with WorkerPool(2) as pool:
        task = partial(lambda number, own: own.common.shared("key", lambda: made.append(number)), 1)
        for one in [pool.submit(task) for _ in range(8)]:
            one.result()
    assert made == [1]


def test_who_gives_up_does_not_wait_for_what_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    killed = threading.Event()
    begun = time.monotonic()
    started = threading.Event()

    def slow(bench: Sessions) -> None:
        started.set()
        while True:
            bench.check()
            time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt), WorkerPool(1) as pool:
        monkeypatch.setattr(pool.common.workers, "kill", killed.set)
        pool.submit(slow)
        waiting = pool.submit(lambda _: 1)
        assert started.wait(10)
        raise KeyboardInterrupt
    assert waiting.cancelled()
    assert killed.is_set()
    assert time.monotonic() - begun < 10
