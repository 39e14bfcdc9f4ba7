"""Plugins × places: what came of each plugin on each kind of place that a run had, and on which machine it failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pluginkit.testing.report import CaseResult, Outcome, Report, Verdict

ON_CPU = "target cpu"
_WORST = (Outcome.CRASHED, Outcome.HUNG, Outcome.FAILED, Outcome.PASSED, Outcome.SKIPPED)


@dataclass(frozen=True)
class Square:
    """A plugin on a kind of place.

    Attributes:
        counts: how many cases, or a runtime's verdicts, ended how.
        only_on: the machine on which all failures were, of more than one network, where others took part without one.
            A network's cases go to one worker: that they fail together says nothing about its machine.
    """

    counts: tuple[tuple[Outcome, int], ...] = ()
    only_on: str = ""

    @property
    def worst(self) -> Outcome | None:
        """The worst ending; None where nothing was asked."""
        there = {outcome for outcome, _ in self.counts}
        return next((one for one in _WORST if one in there), None)

    @property
    def text(self) -> str:
        """For people: how many passed, or how many of them did not."""
        total = sum(count for _, count in self.counts)
        bad = sum(count for outcome, count in self.counts if outcome.bad)
        if self.worst is None:
            return ""
        if bad:
            return f"{bad} of {total} {self.worst.value}"
        passed = dict(self.counts).get(Outcome.PASSED, 0)
        return f"{passed} passed" if passed else f"{total} skipped"


@dataclass(frozen=True)
class Matrix:
    """Rows are plugins, columns kinds of places: target cpu, each GPU, each of NVIDIA's runtimes."""

    plugins: tuple[str, ...]
    places: tuple[str, ...]
    squares: tuple[tuple[Square, ...], ...]

    @property
    def says_something(self) -> bool:
        """Whether it has more than a table of one plugin has."""
        return len(self.plugins) > 1 or sum(place.startswith("target ") for place in self.places) > 1

    @property
    def machines(self) -> tuple[str, ...]:
        """Of failures that one machine alone had: a line each."""
        return tuple(
            f"{plugin} on {place}: all failures are {square.only_on}'s, others that took part have none"
            for plugin, row in zip(self.plugins, self.squares, strict=True)
            for place, square in zip(self.places, row, strict=True)
            if square.only_on
        )


def matrix(reports: Sequence[Report]) -> Matrix:
    """Of a run's reports, one for each plugin."""
    found = [(report.plugin, _by_place(report)) for report in reports]
    places = sorted({place for _, row in found for place in row}, key=_rank)
    squares = tuple(tuple(_square(row.get(place, [])) for place in places) for _, row in found)
    return Matrix(tuple(name for name, _ in found), tuple(places), squares)


def _rank(place: str) -> tuple[int, str]:
    return (0 if place == ON_CPU else 1 if place.startswith("target ") else 2, place)


def _by_place(report: Report) -> dict[str, list[CaseResult | Verdict]]:
    found: dict[str, list[CaseResult | Verdict]] = {}
    for place, one in _placed(report):
        found.setdefault(place, []).append(one)
    return found


def _placed(report: Report) -> Iterator[tuple[str, CaseResult | Verdict]]:
    for case in report.cases:
        yield (ON_CPU if case.target == "cpu" else f"target gpu: {case.gpu or 'this machine'}"), case
    for verdict in report.verdicts:
        yield verdict.runtime, verdict
    for verdict in report.registries:
        # Its id is registry/VERSION.
        yield f"{verdict.runtime} {verdict.network.rpartition('/')[2]}", verdict


def _square(found: Sequence[CaseResult | Verdict]) -> Square:
    counts = Counter(one.outcome for one in found)
    bad = [one for one in found if one.outcome.bad]
    machines = {_machine(one) for one in bad}
    others = {_machine(one) for one in found if one.outcome is not Outcome.SKIPPED} - machines
    several = len({one.network for one in bad}) > 1
    only = next(iter(machines)) if len(machines) == 1 and others and several else ""
    return Square(tuple((one, counts[one]) for one in _WORST if counts[one]), only)


def _machine(one: CaseResult | Verdict) -> str:
    return one.place.partition("/")[0]
