"""Questions in forks: answers, refusals, and endings; what comes behind one that ends its process is asked too."""

from __future__ import annotations

import os
import time

from pluginkit.errors import UsageError
from pluginkit.process.isolated import ForkOutcome, ask


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
