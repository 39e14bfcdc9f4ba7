"""How a check is asked of test runs: whether one of them has shown something of its id."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pluginkit.host import Finding
from pluginkit.validation.catalog import CHECKS, Generation, Kind, Need, NothingToCheck, check
from pluginkit.validation.subjects.evidence import RunEvidence

Obstacle = Callable[[RunEvidence], str]
"""Why the runs had nothing that a check could see; empty where they had."""


def of_runs(
    name: str,
    title: str = "",
    *,
    group: str,
    level: int,
    fix: str,
    need: Need = "run",
    kind: Kind | None = None,
    source: str = "",
    of: Sequence[Generation] = (),
    nothing: Obstacle = lambda _: "",
) -> None:
    """A check of what test runs show: the arguments are those of `catalog.check`, and what they must have had."""
    entry = check(name, title, group=group, level=level, fix=fix, source=source, kind=kind, need=need, of=of)
    entry(_asked(name, nothing))


def _asked(name: str, nothing: Obstacle) -> Callable[[RunEvidence], None]:
    def ask(evidence: RunEvidence) -> None:
        for one in evidence.observed(name):
            more = len({other.where for other in evidence.observed(name)} - {one.where})
            message = f"{one.where}: {one.message}" + (f"\nand in {more} more case{'s' * (more > 1)}" if more else "")
            raise Finding(one.method, message, rule=name)
        if absent := evidence.obstacle(CHECKS[name].need):
            raise NothingToCheck(absent)
        if why := nothing(evidence):
            raise NothingToCheck(why)

    return ask
