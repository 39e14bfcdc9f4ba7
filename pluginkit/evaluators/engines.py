"""Engines of NVIDIA's in a test run: networks built, and cases run on a GPU, against the same oracle as everywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar

from pluginkit.evaluators.host.cases import BUILDS, guarded
from pluginkit.network.api_model import AnyNetwork
from pluginkit.network.networks import Array, Case
from pluginkit.network.plan import Plan
from pluginkit.runtimes import BuildVerdict
from pluginkit.runtimes.nvidia.engines import EngineSession
from pluginkit.testing.comparison import compare
from pluginkit.testing.report import Outcome, Verdict

Check = Callable[[AnyNetwork, Case], str]
"""What is wrong with a case's run; empty if nothing is."""

Session = TypeVar("Session", bound=EngineSession)


def collect(
    opened: Callable[[], AbstractContextManager[Session]],
    verdicts_of: Callable[[Session], Iterator[Verdict]],
    *,
    runtime: str,
    networks: Sequence[str],
    begin: Callable[[str], None],
) -> list[Verdict]:
    """A verdict on each network.

    Args:
        opened: loads the library.
        verdicts_of: has the networks built and run.
        runtime: the verdicts' runtime.
        networks: what is asked. If loading fails they get that answer, or none would seem to be asked.
        begin: called with what is being done.
    """
    verdicts: list[Verdict] = []

    def ask() -> str:
        with opened() as session:
            for verdict in verdicts_of(session):
                begin(f"{session.WHO}: {verdict.network}")
                verdicts.append(verdict)
        return ""

    outcome, message, seconds = guarded(ask)
    if outcome is not Outcome.PASSED:
        named = {verdict.network for verdict in verdicts}
        missing = [name for name in networks if name not in named]
        verdicts += [Verdict(name, runtime, outcome, message, (), seconds) for name in missing]
    return verdicts


@dataclass(frozen=True)
class EngineRuns(Generic[Session]):
    """A runtime with a library loaded, and the plan whose cases it runs. `RUNTIME` is its verdicts' runtime."""

    RUNTIME = ""

    session: Session
    plan: Plan

    def built(self, network: AnyNetwork, built: BuildVerdict, check: Check, cases: Sequence[Case]) -> Verdict:
        """The verdict on a network that was built, all cases held against a check."""
        return self.checked(network, self.verdict(network.id, built), check, cases)

    def checked(self, network: AnyNetwork, verdict: Verdict, check: Check, cases: Sequence[Case]) -> Verdict:
        """The verdict, or the first bad outcome with every bad case's message."""
        if verdict.outcome.bad:
            return verdict
        ends = [(case, *guarded(partial(check, network, case))) for case in cases]
        bad = [(case, outcome, message) for case, outcome, message, _ in ends if outcome.bad]
        if not bad:
            return verdict
        message = "\n".join(f"{case.id}: {text}" for case, _, text in bad)
        return replace(verdict, outcome=bad[0][1], message=message)

    def right(self, network: AnyNetwork, case: Case) -> str:
        """Whether a process that built nothing computes what the oracle does."""
        return compared(self.session.run(network, case).outputs, case)

    def cases(self, network: AnyNetwork) -> list[Case]:
        """The plan's cases of a network."""
        return [case for case in self.plan.cases if case.network_id == network.id and not case.advisory]

    def verdict(self, name: str, built: BuildVerdict) -> Verdict:
        """The verdict on a build."""
        message = "" if built.ok else built.message
        return Verdict(name, self.RUNTIME, BUILDS[built.status], message, built.log, built.seconds)


def compared(outputs: dict[str, Array], case: Case) -> str:
    """What is wrong with a case's outputs; empty if nothing is."""
    found = compare(case.defined(outputs), case.expected, case.tolerance)
    return "" if found.ok else found.message
