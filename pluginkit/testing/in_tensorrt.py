"""The full TensorRT in a test run: every network built and every case run on a GPU, against the same oracle."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from pluginkit.manifest import Manifest
from pluginkit.runtimes import BuildVerdict, tensorrt
from pluginkit.runtimes.tensorrt import TensorrtSession
from pluginkit.runtimes.weak import Weak
from pluginkit.testing import weakly
from pluginkit.testing.api_model import ApiNetwork
from pluginkit.testing.compare import compare
from pluginkit.testing.hosted import BUILDS, Step, guarded
from pluginkit.testing.model import Array, Case, Network, Plan
from pluginkit.testing.report import Outcome, Verdict

Check = Callable[[Network, Case], str]
"""What is wrong with a case's run; empty if nothing is."""


def judge(
    library: Path, manifest: Manifest, timeout: float, plan: Plan, api: Sequence[ApiNetwork], step: Step
) -> list[Verdict]:
    """Have TensorRT build and run everything; one verdict a network.

    Args:
        library: built for target gpu.
        manifest: the plugin's.
        timeout: seconds for each call.
        plan: networks and cases.
        api: networks by NVIDIA's API, which are built and not run.
        step: told what is done.
    """
    verdicts: list[Verdict] = []

    def ask() -> str:
        with tensorrt.open(library, manifest, timeout=timeout) as session:
            for verdict in Judge(session, plan).all(api):
                step(f"TensorRT: {verdict.network}", len(verdicts), None)
                verdicts.append(verdict)
        return ""

    outcome, message, seconds = guarded(ask)
    if outcome is not Outcome.PASSED:
        # Loading failed, so nothing was judged: the networks get that answer, or none would seem to be asked.
        said = {verdict.network for verdict in verdicts}
        asked = [network.id for network in plan.usual] + [network.id for network in api]
        missing = [name for name in asked if name not in said]
        verdicts += [Verdict(name, tensorrt.NAME, outcome, message, (), seconds) for name in missing]
    return verdicts


@dataclass(frozen=True)
class Judge:
    """TensorRT with a library, and what it is asked."""

    session: TensorrtSession
    plan: Plan

    def all(self, api: Sequence[ApiNetwork]) -> Iterator[Verdict]:
        """A verdict on each network."""
        for network in self.plan.usual:
            verdict = self._built(network, self.session.build(network), [(self._right, self._cases(network))])
            if verdict.outcome is Outcome.PASSED:
                verdict = self._more(network, verdict)
            yield verdict
        for made in api:
            yield _verdict(made.id, self.session.build_api(made))
        if self.session.weak:
            for network, weak, cases in weakly.networks(self.plan):
                yield self._weak(network, weak, cases)

    def _more(self, network: Network, verdict: Verdict) -> Verdict:
        """What only the full TensorRT has: contexts that switch profiles, and outputs that are shape tensors."""
        if len(network.profiles) > 1:
            once = {case.profile: case for case in self._cases(network)}
            verdict = self._checked(network, verdict, self._switched, list(once.values()))
        if network.family == "plain" and verdict.outcome is Outcome.PASSED:
            built = self.session.build(network, shapes=True)
            again = self._built(network, built, [(self._shapes, self._cases(network))])
            verdict = again if again.outcome.bad else verdict
        return verdict

    def _weak(self, network: Network, weak: Weak, cases: Sequence[Case]) -> Verdict:
        # TensorRT chooses the scales when it calibrates, so there is no oracle in steps: that it runs is what is asked.
        check = self._runs if weak.kind == "int8-calibrator" else self._right
        return self._built(network, self.session.build(network, weak=weak), [(check, cases)])

    def _built(self, network: Network, built: BuildVerdict, checks: Sequence[tuple[Check, Sequence[Case]]]) -> Verdict:
        verdict = _verdict(network.id, built)
        for check, cases in checks:
            verdict = self._checked(network, verdict, check, cases)
        return verdict

    def _checked(self, network: Network, verdict: Verdict, check: Check, cases: Sequence[Case]) -> Verdict:
        """The verdict, or the first bad outcome with every bad case's words."""
        if verdict.outcome.bad:
            return verdict
        ends = [(case, *guarded(partial(check, network, case))) for case in cases]
        bad = [(case, outcome, message) for case, outcome, message, _ in ends if outcome.bad]
        if not bad:
            return verdict
        message = "\n".join(f"{case.id}: {said}" for case, _, said in bad)
        return replace(verdict, outcome=bad[0][1], message=message)

    def _right(self, network: Network, case: Case) -> str:
        return _compared(self.session.run(network, case).outputs, case)

    def _runs(self, network: Network, case: Case) -> str:
        outputs = self.session.run(network, case).outputs
        wrong = [name for name, want in case.expected.items() if outputs[name].shape != want.shape]
        return f"wrong shapes of {', '.join(wrong)}" if wrong else ""

    def _switched(self, network: Network, case: Case) -> str:
        # First in its own context, which is then released for the other's.
        said = self._right(network, case) or _compared(self.session.run(network, case, switch=True).outputs, case)
        return f"in a context switched to profile {case.profile!r}: {said}" if said else ""

    def _shapes(self, network: Network, case: Case) -> str:
        found = self.session.shape_values(network, case)
        return "\n".join(
            f"output '{name}' has shape {found[name].tolist()} by TensorRT, expected {list(want.shape)}"
            for name, want in case.expected.items()
            if not np.array_equal(found[name], want.shape)
        )

    def _cases(self, network: Network) -> list[Case]:
        return [case for case in self.plan.cases if case.network_id == network.id]


def _compared(outputs: dict[str, Array], case: Case) -> str:
    compared = compare(outputs, case.expected, case.tolerance)
    return "" if compared.ok else compared.message


def _verdict(name: str, built: BuildVerdict) -> Verdict:
    return Verdict(
        name, tensorrt.NAME, BUILDS[built.status], "" if built.ok else built.message, built.log, built.seconds
    )
