"""Questions in forks: answers, refusals, and endings; what comes behind one that ends its process is asked too."""

from __future__ import annotations

import os
import time
from pathlib import Path

from pluginkit.errors import UsageError
from pluginkit.process.isolated import HUNG, MEMORY, ForkOutcome, ask


def test_each_question_has_its_own_outcome() -> None:
    def refuse() -> None:
        raise UsageError("not so")

    def kill() -> None:
        os.kill(os.getpid(), 9)

    questions = [
        lambda: 1,
        refuse,
        kill,
        lambda: "x" * 1_000_000,
        lambda: os._exit(3),
        lambda: time.sleep(60),
        os.getpid,
    ]
    found = ask(questions, each=0.5, end=time.monotonic() + 60)
    assert found[:3] == [ForkOutcome(1), ForkOutcome(refusal="not so"), ForkOutcome(ending="SIGKILL")]
    assert found[3].answer == "x" * 1_000_000
    assert found[4:6] == [ForkOutcome(ending="exit code 3"), ForkOutcome(ending="hung")]
    assert found[6].ok
    assert found[6].answer != os.getpid()


def test_nothing_is_asked_after_the_end() -> None:
    assert ask([lambda: 1, lambda: 2], each=1, end=time.monotonic() - 1) == [ForkOutcome(ending="not asked")] * 2


def test_what_a_fork_has_started_ends_with_it(tmp_path: Path) -> None:
    note = tmp_path / "pid"

    def start_another() -> None:
        if other := os.fork():
            note.write_text(str(other))
        time.sleep(60)

    (found,) = ask([start_another], each=0.5, end=time.monotonic() + 60)
    assert found.ending == HUNG
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and _state(int(note.read_text())) not in ("", "Z"):
        time.sleep(0.02)
    assert _state(int(note.read_text())) in ("", "Z")


def _state(process: int) -> str:
    """As of proc(5): Z for one that has ended and nobody has asked about; empty where there is none."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def test_memory_has_a_limit() -> None:
    def take() -> None:
        taken = []
        while True:
            taken.append(b"x" * (1 << 24))

    found = ask([take, lambda: 2], each=60, end=time.monotonic() + 120, most_memory=1 << 29)
    assert found == [ForkOutcome(ending=MEMORY), ForkOutcome(2)]


def test_a_fork_that_closes_its_pipe_and_lives_on_hangs() -> None:
    def close_all() -> None:
        os.closerange(3, 256)
        time.sleep(60)

    (found,) = ask([close_all], each=0.5, end=time.monotonic() + 60)
    assert found.ending == HUNG
