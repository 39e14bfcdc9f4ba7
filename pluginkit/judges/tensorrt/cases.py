"""The full TensorRT in a test run: every network built and every case run on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from pluginkit.judges.engines import EngineRuns, collect, compared
from pluginkit.judges.tensorrt import weak_types
from pluginkit.manifest import Manifest
from pluginkit.network.api_model import AnyNetwork
from pluginkit.network.model import Case, Network
from pluginkit.network.plan import Plan
from pluginkit.network.weak_types import Weak
from pluginkit.runtimes.tensorrt import session as tensorrt
from pluginkit.runtimes.tensorrt.session import TensorrtSession
from pluginkit.testing.report import Outcome, Verdict


def judge(library: Path, manifest: Manifest, timeout: float, plan: Plan, begin: Callable[[str], None]) -> list[Verdict]:
    """Have TensorRT build and run everything; one verdict a network.

    Args:
        library: built for target gpu.
        manifest: the plugin's.
        timeout: seconds for each call.
        plan: networks and cases.
        begin: called with what is being done.
    """
    return collect(
        partial(tensorrt.open, library, manifest, timeout=timeout),
        lambda session: TensorrtRuns(session, plan).all(),
        runtime=tensorrt.NAME,
        networks=[network.id for network in plan.usual] + [network.id for network in plan.by_api],
        begin=begin,
    )


class TensorrtRuns(EngineRuns[TensorrtSession]):
    """TensorRT with a library, and what it is asked."""

    RUNTIME = tensorrt.NAME

    def all(self) -> Iterator[Verdict]:
        """A verdict on each network."""
        for network in self.plan.usual:
            verdict = self.built(network, self.session.build(network), self.right, self.cases(network))
            if verdict.outcome is Outcome.PASSED:
                verdict = self._more(network, verdict)
            yield verdict
        for made in self.plan.by_api:
            yield self.built(made, self.session.build_api(made), self.right, self.cases(made))
        if self.session.weak:
            for network, weak, cases in weak_types.networks(self.plan):
                yield self._weak(network, weak, cases)

    def _more(self, network: Network, verdict: Verdict) -> Verdict:
        """What only the full TensorRT has: contexts that switch profiles, and outputs that are shape tensors."""
        if len(network.profiles) > 1:
            once = {case.profile: case for case in self.cases(network)}
            verdict = self.checked(network, verdict, self._switched, list(once.values()))
        if network.family == "plain" and verdict.outcome is Outcome.PASSED:
            again = self.built(network, self.session.build_shapes(network), self._shapes, self.cases(network))
            verdict = again if again.outcome.bad else verdict
        return verdict

    def _weak(self, network: Network, weak: Weak, cases: Sequence[Case]) -> Verdict:
        # TensorRT chooses the scales when it calibrates, so there is no oracle in steps: that it runs is what is asked.
        check = self._runs if weak.kind == "int8-calibrator" else self.right
        return self.built(network, self.session.build_weak(network, weak), check, cases)

    def _runs(self, network: AnyNetwork, case: Case) -> str:
        outputs = self.session.run(network, case).outputs
        wrong = [name for name, want in case.expected.items() if outputs[name].shape != want.shape]
        return f"wrong shapes of {', '.join(wrong)}" if wrong else ""

    def _switched(self, network: AnyNetwork, case: Case) -> str:
        # First in its own context, which is then released for the other's.
        difference = self.right(network, case) or compared(self.session.run(network, case, switch=True).outputs, case)
        return f"in a context switched to profile {case.profile!r}: {difference}" if difference else ""

    def _shapes(self, network: AnyNetwork, case: Case) -> str:
        found = self.session.shape_values(network, case)
        return "\n".join(
            f"output '{name}' has shape {found[name].tolist()} by TensorRT, expected {list(want.shape)}"
            for name, want in case.expected.items()
            if not np.array_equal(found[name], want.shape)
        )
