"""Work shared out over threads, each with its own sessions."""

from __future__ import annotations

import threading
import time
from functools import partial

import pytest

from pluginkit.errors import CheckFailed
from pluginkit.process import crew as crew_
from pluginkit.process.crew import Bench, Crew


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

    def open(self) -> Session:
        self.asked += 1
        if self.error:
            raise CheckFailed(self.error)
        self.opened.append(Session())
        return self.opened[-1]


def test_each_thread_opens_a_session_once_and_it_is_closed() -> None:
    source, both = Source(), threading.Barrier(2)

    def task(number: int, bench: Bench) -> tuple[int, bool]:
        if number < 2:
            both.wait(10)
        return number, bench.get(source).thread == threading.get_ident()

    with Crew(2) as crew:
        tasks = [crew.submit(partial(task, number)) for number in range(20)]
        assert [one.result() for one in tasks] == [(number, True) for number in range(20)]
    assert len(source.opened) == 2
    assert all(session.closed for session in source.opened)


def test_what_cannot_be_opened_is_not_tried_again() -> None:
    source = Source("no")
    with Crew(1) as crew:
        tasks = [crew.submit(lambda bench: bench.get(source)) for _ in range(3)]
        assert [str(one.exception()) for one in tasks] == ["no"] * 3
    assert source.asked == 1


def test_a_task_may_wait_for_an_earlier_one_even_alone() -> None:
    with Crew(1) as crew:
        first = crew.submit(lambda _: 20)
        assert crew.submit(lambda _: first.result() + 1).result(10) == 21


def test_who_gives_up_does_not_wait_for_what_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    # Really it would end the workers of other tests' fixtures too; tests/runtimes/test_worker.py has it alone.
    killed = threading.Event()
    monkeypatch.setattr(crew_.worker, "kill_all", killed.set)
    begun = time.monotonic()
    started = threading.Event()

    def slow(bench: Bench) -> None:
        started.set()
        while True:
            bench.check()
            time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt), Crew(1) as crew:
        crew.submit(slow)
        waiting = crew.submit(lambda _: 1)
        assert started.wait(10)
        raise KeyboardInterrupt
    assert waiting.cancelled()
    assert killed.is_set()
    assert time.monotonic() - begun < 10
