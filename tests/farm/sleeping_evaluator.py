"""An evaluator whose items sleep or kill their worker; `dask worker --preload` loads it, as the test itself does.

It stands for pluginkit's host, so that the farm's own part is tested: what it costs, and what becomes of deaths.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from pluginkit import evaluators
from pluginkit.evaluators.protocol import Answers, Item, RunWork, Workplace
from pluginkit.runtimes import Availability, Configured
from pluginkit.testing.report import Outcome, Verdict

NAME = "sleeping"


class SleepingEvaluator:
    """Each item's subject is how many seconds it takes; negative: it kills its worker after as many. Or a file, that it
    waits for or makes."""

    NAME = NAME
    STANDBY: tuple[str, ...] = ()

    def probe(self) -> Availability:
        return Availability(True, version="1")

    def obstacle(self, work: RunWork) -> str:
        del work
        return ""

    def ids(self, work: RunWork) -> Sequence[str]:
        del work
        return []

    def items(self, work: RunWork) -> Sequence[Item]:
        del work
        return []

    def execute(
        self, item: Item, work: RunWork, place: Workplace, configured: tuple[Configured, ...] | None
    ) -> Answers:
        del work, place, configured
        if isinstance(item.subject, str):
            flag(item.subject)
        else:
            time.sleep(abs(item.subject))
            if item.subject < 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return Answers((Verdict(item.id, NAME, Outcome.PASSED),))

    def summary(self, work: RunWork, found: Sequence[Answers]) -> str:
        del work
        return f"{len(found)} items"


def flag(subject: str) -> None:
    file = Path(subject.rpartition(" ")[2])
    if subject.startswith("make"):
        file.touch()
    deadline = time.monotonic() + 120
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.05)


EVALUATOR = SleepingEvaluator()
if __name__ not in evaluators.EVALUATORS:
    evaluators.EVALUATORS = (*evaluators.EVALUATORS, __name__)
