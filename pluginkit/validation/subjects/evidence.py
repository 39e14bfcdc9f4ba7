"""What test runs of a plugin have shown, by the id of the check that it breaks.

`pluginkit test`'s machinery runs the plugin; here its reports are read, so that a check of class `execution` says the
same as a test run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pluginkit.manifest import Manifest
from pluginkit.process.defects import demand_of_cost, explain
from pluginkit.process.findings import Defect
from pluginkit.testing.report import ABSENT, CaseResult, Outcome, Report, Verdict
from pluginkit.validation.catalog import Need

OF_DEFECTS = {
    "address": "T17",
    "invalid-address": "T17",
    "wrong-stream": "E2",
    "shared-overrun": "K1",
    "race": "K2",
    "uninitialized-read": "K3",
    "uninitialized-copy": "K3",
    "host-pointer": "K4",
    "host-access": "K4",
    "divergent-barrier": "K5",
    "divergent-warp": "K5",
    "deadlock": "K5",
    "shuffle-inactive-lane": "K6",
    "launch-config": "K7",
    "undefined": "K8",
    "bad-copy": "K9",
    "unsynchronized-copy": "K9",
    "bad-free": "K10",
    "endless-kernel": "K11",
    "assert": "K12",
    "trap": "K12",
    "stack-overflow": "K13",
    "other-device": "K16",
}
"""The check of each kind of a defect."""
NOT_JUDGED = "not-supported"
"""A kind that says something of target cpu, and nothing of the plugin."""
OF_WAYS = {"order": "K14", "reused": "C11", "concurrent": "E10", "handles": "L11", "as-8.5": "C11"}
"""The check of each way of calling enqueue, where the plugin is right in the usual one."""
ENDED = "K15"
"""A run that ends its process, or never ends."""
ON_GPU = "G1"
OF_TOOLS = {"memcheck": "G2", "racecheck": "G3", "initcheck": "G4", "synccheck": "G5"}
"""The checks of cases on a GPU: by themselves, and under each tool of compute-sanitizer."""
OF_VALUES = ("E6", "E7")
"""The demands on the values of outputs."""
SPECIAL = "E14"
"""That on what NaN and infinities in the inputs change."""
BUILDER, ENGINES, REGISTRIES = "tensorrt-rtx", "tensorrt-rtx engines", "tensorrt-lean"
"""The runtimes of reports that checks are about."""
RUNTIMES: dict[Need, str] = {"builder": BUILDER, "engines": ENGINES, "registries": REGISTRIES}
"""By the need that they meet."""
OF_RUNTIMES = {BUILDER: "N1", ENGINES: "N2", REGISTRIES: "N3"}
"""The check of the verdicts of each."""


@dataclass(frozen=True)
class Observation:
    """Something that breaks a check.

    Attributes:
        check: its id.
        method: the C++ method, or the runtime, that showed it.
        message: what was observed.
        where: the case's or network's id.
        crashed: whether it ended the process.
    """

    check: str
    method: str
    message: str
    where: str
    crashed: bool = False


@dataclass(frozen=True)
class RunEvidence:
    """Test runs of a plugin.

    Attributes:
        manifest: the plugin's.
        reports: of the runs, by the need that they meet: `run`, `sanitizers`, `gpu`, `gpu-sanitizers`.
        absent: why others did not take place, likewise.
        watched: whether the library is one of target cpu, whose runtime sees launches, copies and memory.
    """

    manifest: Manifest
    reports: Mapping[str, Report] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    watched: bool = True

    def obstacle(self, need: Need) -> str:
        """Why no run has shown what a check of that need asks; empty where one has."""
        if need in self.absent:
            return self.absent[need]
        report = self.reports.get(need) or self.reports.get("run")
        if report is None:
            return self.absent["run"]
        if runtime := RUNTIMES.get(need):
            there = [status for name, status in report.runtimes.items() if _without_place(name) == runtime] or [ABSENT]
            return there[0] if all(status.startswith(ABSENT) for status in there) else ""
        if not any(case.outcome is Outcome.PASSED for case in report.cases):
            return f"not reached: {_first_failure(report)}"
        return ""

    @property
    def cases(self) -> tuple[CaseResult, ...]:
        """The cases of all runs."""
        return tuple(case for report in self.reports.values() for case in report.cases)

    def observed(self, check: str) -> tuple[Observation, ...]:
        """What breaks a check."""
        return tuple(one for report in self.reports.values() for one in observations(report) if one.check == check)


def observations(report: Report) -> Iterator[Observation]:
    """What a report shows, of whatever check."""
    wrong = {case.network for case in report.cases if case.outcome.bad and case.demand in OF_VALUES}
    for case in report.cases:
        for warning in case.warnings:
            # What is wrong with ordinary numbers as well says nothing about the special ones.
            if warning.rule != SPECIAL or case.network not in wrong:
                yield Observation(warning.rule, warning.method, warning.message, case.id)
        yield from _of_case(case)
    for verdict in (*report.verdicts, *report.registries):
        yield from _of_verdict(verdict)


def _of_case(case: CaseResult) -> Iterator[Observation]:
    costs = [one for one in case.defects if demand_of_cost(one) == "E4" and one.kind != "query-in-enqueue"]
    # What a capture refuses costs time as well; the warning of that is among the case's.
    yield from (Observation("E3", "enqueue", explain(one)[0], case.id) for one in costs)
    defects = [one for one in case.defects if not demand_of_cost(one) and one.kind != NOT_JUDGED]
    for defect in defects:
        yield Observation(_of_defect(defect, case), "enqueue", explain(defect)[0], case.id)
    if not case.outcome.bad:
        return
    if case.sanitizers in OF_TOOLS and defects:
        # Failed by what the tool has found; the outputs are the run's without it.
        return
    if case.target == "gpu":
        yield Observation(ON_GPU, "enqueue", case.message, case.id, case.outcome is not Outcome.FAILED)
    elif case.way in OF_WAYS and case.demand in ("", *OF_VALUES):
        yield Observation(OF_WAYS[case.way], "enqueue", case.message, case.id)
    elif case.demand:
        yield Observation(case.demand, "", case.message, case.id)
    elif case.outcome is not Outcome.FAILED and not defects:
        yield Observation(ENDED, "", case.message, case.id, crashed=True)


def _first_failure(report: Report) -> str:
    """Of the cases that did not pass the first: its id and message."""
    bad = next((case for case in report.cases if case.outcome.bad), None)
    if bad is None:
        return "no case was run"
    return f"{bad.id}: {bad.message.splitlines()[0] if bad.message else bad.outcome.value}"


def _of_defect(defect: Defect, case: CaseResult) -> str:
    if case.sanitizers in OF_TOOLS:
        return OF_TOOLS[case.sanitizers]
    return OF_DEFECTS.get(defect.kind, "K8")


def _of_verdict(verdict: Verdict) -> Iterator[Observation]:
    check = OF_RUNTIMES.get(_without_place(verdict.runtime))
    if verdict.outcome.bad and check:
        crashed = verdict.outcome is not Outcome.FAILED
        yield Observation(check, verdict.runtime, verdict.message or verdict.word, verdict.network, crashed)


def _without_place(runtime: str) -> str:
    """A runtime's name alone: on a farm a version or a GPU may follow it, as in `tensorrt-rtx engines (sm_90)`."""
    return runtime.partition(" (")[0]
