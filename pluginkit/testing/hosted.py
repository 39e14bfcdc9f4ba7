"""Runs the cases of a plan in pluginkit's host, on one build of the plugin's library, and judges each."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from pluginkit.build import Flavour
from pluginkit.errors import CheckFailed, PluginCrashed
from pluginkit.manifest import Manifest
from pluginkit.runtimes import Configured, host
from pluginkit.runtimes.findings import Defect
from pluginkit.runtimes.host import HostSession
from pluginkit.runtimes.worker import WorkerCrashed, WorkerTimeout
from pluginkit.testing import outside
from pluginkit.testing.compare import compare
from pluginkit.testing.defects import describe_all
from pluginkit.testing.model import Case, Network, Plan
from pluginkit.testing.report import CaseResult, Outcome, Verdict
from pluginkit.testing.schedules import Schedule

Step = Callable[[str, int, int | None], None]
"""Told what is being done, how many are done, and of how many (None: not known)."""

Configurations: TypeAlias = dict[str, tuple[Configured, ...]]
"""By network: what configure saw in the host, which is what a builder is expected to say."""

BUILDS = {
    "built": Outcome.PASSED,
    "refused": Outcome.FAILED,
    "crashed": Outcome.CRASHED,
    "hung": Outcome.HUNG,
}
"""What a build's status means for the run."""


@dataclass
class Found:
    """What came out of it."""

    cases: list[CaseResult] = field(default_factory=list)
    configured: Configurations = field(default_factory=dict)
    controls: list[Verdict] = field(default_factory=list)


@dataclass(frozen=True)
class Hosted:
    """One build of the library, and how cases are run on it: in each of the schedules, until one fails."""

    library: Path
    flavour: Flavour
    manifest: Manifest
    project: Path
    timeout: float
    schedules: Sequence[Schedule]
    outside: Sequence[Case] = ()

    def run(self, plan: Plan, step: Step) -> Found:
        """Run all cases.

        Raises:
            PluginCrashed: loading the library took the process down, or never ended.
        """
        found = Found()
        with self._loaded() as session:
            for network in plan.networks:
                self._network(session, network, plan, step, found)
        return found

    def _loaded(self) -> HostSession:
        try:
            return host.open(
                self.library,
                self.manifest,
                timeout=self.timeout * self.flavour.slowdown,
                environment=self.flavour.environment(),
                project=self.project,
            )
        except (WorkerCrashed, WorkerTimeout) as death:
            raise PluginCrashed(
                f"{self.library} cannot be loaded: {death.message}",
                hint="Look at what runs on loading: constructors of globals, and functions with the attribute "
                "constructor.",
            ) from None

    def _network(self, session: HostSession, network: Network, plan: Plan, step: Step, found: Found) -> None:
        what = " ".join(filter(None, ("host", self.flavour.name)))
        step(f"{what}: {network.id}", len(found.cases), len(plan.cases))
        built = session.build(network)
        found.configured[network.id] = built.configured
        defects = session.findings()
        if built.ok:
            controls = [case for case in self.outside if case.network_id == network.id]
            found.controls += [outside.judge(session, case) for case in controls]
        for case in (case for case in plan.cases if case.network_id == network.id):
            step(f"{what}: {case.id}", len(found.cases), len(plan.cases))
            if built.ok and not defects:
                found.cases.append(self._case(session, network, case))
            else:
                said = "" if built.ok else built.message
                result = self._result(network, case, BUILDS[built.status], message=said)
                found.cases.append(_with(result, defects, session.printed))

    def _case(self, session: HostSession, network: Network, case: Case) -> CaseResult:
        """The first run that fails, else the one in order; `runs` says how many there were."""
        results: list[CaseResult] = []
        for schedule in self.schedules:
            result = self._once(session, network, case, schedule)
            results.append(result)
            if result.outcome.bad:
                break
        chosen = results[-1] if results[-1].outcome.bad else results[0]
        return replace(chosen, runs=len(results), seconds=sum(result.seconds for result in results))

    def _once(self, session: HostSession, network: Network, case: Case, schedule: Schedule) -> CaseResult:
        numbers: dict[str, float | str | None] = {}

        def action() -> str:
            ran = session.run(case, order=schedule.order, deferred=schedule.deferred)
            comparison = compare(ran.outputs, case.expected, case.tolerance)
            worst = comparison.worst
            numbers.update(error=worst.error, allowed=worst.allowed, unit=worst.unit)
            if not comparison.ok:
                return comparison.message
            if case.enqueues is not None and ran.enqueues != case.enqueues:
                return f"enqueue was called {ran.enqueues} times, expected {case.enqueues}"
            return ""

        outcome, message, seconds = guarded(action)
        result = self._result(network, case, outcome, message=message, seconds=seconds)
        result = replace(result, **numbers)  # type: ignore[arg-type]
        result = _with(result, session.findings(), session.printed)
        if schedule.words and result.outcome.bad:
            return replace(
                result, schedule=schedule.words, message=f"{schedule.words} (without that it passed):\n{result.message}"
            )
        return result

    def _result(
        self, network: Network, case: Case, outcome: Outcome, *, message: str = "", seconds: float = 0.0
    ) -> CaseResult:
        return CaseResult(
            id=case.id,
            network=network.id,
            family=network.family,
            precision=network.precision,
            point=case.id.removeprefix(f"{network.id}/"),
            shape=" ".join(f"{name}={value}" for name, value in case.symbols.items()),
            outcome=outcome,
            message=message,
            seconds=seconds,
            sanitizers=self.flavour.name,
        )


def guarded(action: Callable[[], str]) -> tuple[Outcome, str, float]:
    """Run something in a worker: how it ended, what is to say of it, and the seconds it took."""
    started = time.monotonic()
    try:
        message = action()
        outcome = Outcome.FAILED if message else Outcome.PASSED
    except WorkerTimeout as hang:
        outcome, message = Outcome.HUNG, hang.message
    except WorkerCrashed as crash:
        outcome, message = Outcome.CRASHED, crash.message
    except CheckFailed as failure:
        outcome, message = Outcome.FAILED, failure.message
    return outcome, message, time.monotonic() - started


def _with(result: CaseResult, defects: Sequence[Defect], printed: str) -> CaseResult:
    """The result with what the library's checks found: a case with a finding has failed, however it ended."""
    if not defects:
        return result
    # A process that a sanitizer ended is no crash: it has said why, and the log has it.
    rest = result.message if result.outcome is Outcome.FAILED else result.message.partition("\n")[0]
    message = "\n".join(filter(None, (describe_all(defects), rest)))
    log = tuple(printed.splitlines())
    return replace(result, outcome=Outcome.FAILED, message=message, defects=tuple(defects), log=log)
