"""What took part in a run, a line each: pluginkit's host on each build, NVIDIA's runtimes, the library's checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pluginkit.evaluators import evaluators
from pluginkit.run import messages
from pluginkit.run.targeted import BY_TABLES
from pluginkit.testing.report import ABSENT, CaseResult, Outcome, Report, Verdict

HOST = "host"


@dataclass(frozen=True)
class RunPart:
    """A line.

    Attributes:
        name: of the runtime, and of the build where there are several.
        what: how many of what ended how.
        seconds: what its items took, all processes together.
        bad: whether it turns the run red.
    """

    name: str
    what: str
    seconds: float
    bad: bool


def parts(report: Report) -> Iterator[RunPart]:
    """The lines of a report, in its order."""
    builds = list(dict.fromkeys((case.target, case.gpu, case.sanitizers) for case in report.cases))
    for target, gpu, sanitizers in builds:
        cases = [one for one in report.cases if (one.target, one.gpu, one.sanitizers) == (target, gpu, sanitizers)]
        where = f"target {target}" if len(builds) > 1 or target == "gpu" else ""
        name = ", ".join(filter(None, (HOST, where, gpu * (len(report.gpus) > 1), sanitizers)))
        networks = len({one.network for one in cases})
        yield _part(name, cases, f"{_ended(cases)} of {_count(len(cases), 'case')} in {_count(networks, 'network')}")
    for name, verdicts in _by_runtime(report.verdicts):
        built = f"{sum(one.built for one in verdicts)} of {_count(len(verdicts), 'network')} built"
        ran = f"{_ended(verdicts)} of {_count(len(verdicts), 'network')}"
        by_tables = f"{len(verdicts)} of {_count(len(report.networks), 'network')} refused, whatever the plugin"
        yield _part(name, verdicts, by_tables if name.endswith(BY_TABLES) else built if name == messages.RTX else ran)
    for name, verdicts in _by_runtime(report.controls):
        refused = report.count(Outcome.PASSED, verdicts)
        yield _part(name, verdicts, f"{refused} of {_count(len(verdicts), 'broken network')} refused as expected")
    for name, verdicts in _by_runtime(report.registries):
        yield _part(name, verdicts, f"{_ended(verdicts)}: {', '.join(one.network for one in verdicts)}")
    for name, verdicts in _by_runtime(report.checks):
        yield _part(name, verdicts, f"{_ended(verdicts)} of {_count(len(verdicts), 'check')} of the library")


def absent(report: Report) -> dict[str, str]:
    """What took no part; and why, where the runtime is on this machine, so that `pluginkit info` can't tell."""
    here = {one.NAME for one in evaluators() if one.probe().found}
    found: dict[str, str] = {}
    for name, status in report.runtimes.items():
        if status.startswith(ABSENT):
            found[name] = status.removeprefix(f"{ABSENT}: ") if name in here else ""
        for text in status.split("; "):
            before, what, _ = text.partition(f" {ABSENT}")
            found |= {before: ""} if what else {}
    return found


def _part(name: str, items: Sequence[CaseResult | Verdict], what: str) -> RunPart:
    return RunPart(name, what, sum(one.seconds for one in items), any(one.outcome.bad for one in items))


def _by_runtime(verdicts: Sequence[Verdict]) -> Iterator[tuple[str, list[Verdict]]]:
    for name in dict.fromkeys(one.runtime for one in verdicts):
        yield name, [one for one in verdicts if one.runtime == name]


def _ended(items: Sequence[CaseResult | Verdict]) -> str:
    counts = Counter(one.outcome for one in items)
    return ", ".join(f"{counts[one]} {one.value}" for one in Outcome if counts[one])


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
