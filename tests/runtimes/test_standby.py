"""Workers that are started before there is anything for them to load."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pluginkit.errors import BuildFailed
from pluginkit.process import standby
from pluginkit.process.worker import Group, WorkerCrashed
from pluginkit.run import libraries, runner
from pluginkit.run.options import Options
from pluginkit.runtimes.rtx import session as rtx

CHILD = "tests.runtimes.about_itself"
SAMPLE = Path(__file__).resolve().parents[2] / "samples" / "bar_plugin"


@pytest.fixture(autouse=True)
def none_left() -> Iterator[None]:
    yield
    standby.close()


def test_a_standby_worker_is_taken_once_by_who_asks_the_same() -> None:
    assert standby.begin(CHILD, 60)
    pid = standby._ready[0][2].pid
    with standby.worker(CHILD, 50) as other, standby.worker(CHILD, 60) as one, standby.worker(CHILD, 60) as third:
        assert one.pid == pid
        assert len({other.pid, one.pid, third.pid}) == 3
        assert [each.call("getpid") for each in (other, one, third)] == [other.pid, one.pid, third.pid]


def test_one_that_has_died_is_not_given() -> None:
    assert standby.begin(CHILD, 60)
    left = standby._ready[0][2]
    assert left._process is not None
    dead = left._process.pid
    os.kill(dead, signal.SIGKILL)
    left._process.wait(60)
    with standby.worker(CHILD, 60) as one:
        assert one.call("getpid") != dead


def test_what_nobody_takes_ends() -> None:
    assert standby.begin(CHILD, 60)
    left = standby._ready[0][2]
    standby.close()
    assert not left.alive
    assert not standby._ready


def test_who_takes_one_may_be_stopped_with_it() -> None:
    """It is of the group of who took it."""
    assert standby.begin(CHILD, 60)
    group = Group()
    with group:
        one = standby.worker(CHILD, 60)
    group.kill()
    with pytest.raises(WorkerCrashed, match="SIGKILL"):
        one.call("pause")


def test_a_module_that_cannot_be_opened_is_left_for_who_needs_it() -> None:
    assert not standby.begin("tests.runtimes.no_such_module", 60)
    assert not standby._ready


def test_a_run_starts_what_judges_need_while_it_builds_and_ends_it_if_that_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not rtx.probe().found:
        pytest.skip(rtx.probe().reason)
    begun: list[str] = []
    asked = threading.Event()

    def begin(module: str, timeout: float) -> bool:
        begun.append(module)
        done = really(module, timeout)
        if len(begun) == 2:
            asked.set()
        return done

    def make(*_: object) -> None:
        assert asked.wait(60)
        raise BuildFailed("as far as that")

    really = standby.begin
    monkeypatch.setattr(standby, "begin", begin)
    monkeypatch.setattr(libraries, "make", make)
    with pytest.raises(BuildFailed, match="as far as that"):
        runner.run(Options(project=SAMPLE, target="cpu", only=("plain/float32/opt",)))
    assert begun == [rtx.CHILD, rtx.CHILD]
    assert not standby._ready
