"""What changed from run to run: what began to fail, where; and what became slower than it varies by itself."""

from __future__ import annotations

import re
import statistics
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from pluginkit.history.store import PastResult
from pluginkit.testing.report import Outcome

RECENT = 3
"""Runs that must all be slower: one may have had a busy machine."""
BEFORE = 5
"""Runs before these, at least, from which it is known how much a case varies."""
DEVIATIONS = 4.0
"""Standard deviations, estimated by 1.4826 times the median absolute deviation, that is more than noise."""
SHARE = 0.1
"""What it must be slower by besides: clocks and caches alone make a few per cent."""
_DRIVER = re.compile(", driver for CUDA [0-9.]+")
"""Of a GPU's description: what begins to fail or becomes slower with a new driver is to be seen."""
_BAD = frozenset(one.value for one in Outcome if one.bad)


@dataclass(frozen=True)
class BeganToFail:
    """A case or verdict that fails in its last run, and passed in one before.

    Attributes:
        first: the first of the runs that it has failed in since.
        passed: the last one that it passed in.
        runs: how often it has failed since.
        only: the one machine that it failed on, where it ran on others since and passed there; empty otherwise.
    """

    first: PastResult
    passed: PastResult
    runs: int
    only: str = ""


@dataclass(frozen=True)
class Slower:
    """A case that became slower on a machine.

    Attributes:
        last: its last run.
        before: the median of its seconds in the runs before the last `RECENT`.
        now: the median of these.
        noise: how much it varied before, as one standard deviation, in seconds.
    """

    last: PastResult
    before: float
    now: float
    noise: float


def began_to_fail(entries: Iterable[PastResult]) -> list[BeganToFail]:
    """By plugin, id and place. What has never passed didn't begin to fail; skips don't count.

    Args:
        entries: the oldest first.
    """
    found = []
    for history in _grouped(entries, machine=False):
        last = {_host(one): one for one in history}
        failing = [host for host, one in last.items() if one.outcome in _BAD]
        good = [one for one in history if one.outcome not in _BAD]
        if not failing or not good:
            continue
        only = failing[0] if len(failing) < len(last) and len(failing) == 1 else ""
        there = [one for one in history if _host(one) in failing]
        since = _trailing(there)
        found.append(BeganToFail(since[0], good[-1], len(since), only))
    return found


def _trailing(history: Sequence[PastResult]) -> Sequence[PastResult]:
    """The runs since the last one that passed."""
    good = [place for place, one in enumerate(history) if one.outcome not in _BAD]
    return history[good[-1] + 1 :] if good else history


def slower(entries: Iterable[PastResult]) -> list[Slower]:
    """By plugin, id, place and machine, for times of two machines can't be compared; of runs that passed.

    Args:
        entries: the oldest first.
    """
    found = []
    for history in _grouped(entries, machine=True):
        passed = [one for one in history if one.outcome == Outcome.PASSED.value]
        if len(passed) < BEFORE + RECENT or history[-1].outcome in _BAD:
            continue
        before = [one.seconds for one in passed[:-RECENT]]
        recent = [one.seconds for one in passed[-RECENT:]]
        usual = statistics.median(before)
        noise = 1.4826 * statistics.median(abs(one - usual) for one in before)
        if min(recent) > max(usual + DEVIATIONS * noise, usual * (1 + SHARE)):
            found.append(Slower(passed[-1], usual, statistics.median(recent), noise))
    return found


def _grouped(entries: Iterable[PastResult], *, machine: bool) -> list[list[PastResult]]:
    found: dict[Hashable, list[PastResult]] = {}
    for one in entries:
        if one.outcome != Outcome.SKIPPED.value:
            key = (one.plugin, one.id, _DRIVER.sub("", one.place), _host(one) if machine else "")
            found.setdefault(key, []).append(one)
    return list(found.values())


def _host(one: PastResult) -> str:
    """The machine: a farm's workers there are one."""
    return one.machine.partition("/")[0]
