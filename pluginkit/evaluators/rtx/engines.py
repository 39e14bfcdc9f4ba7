"""TensorRT-RTX's engines in a test run, where there is a GPU that it runs on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from pluginkit.evaluators.engines import EngineRuns, collect, compared
from pluginkit.manifest import Manifest
from pluginkit.network.api_model import AnyNetwork
from pluginkit.network.networks import Case
from pluginkit.network.plan import Plan
from pluginkit.runtimes.rtx import engines as rtx_engines
from pluginkit.runtimes.rtx.engines import RtxEngines
from pluginkit.testing.report import Verdict


def evaluate(
    library: Path, manifest: Manifest, timeout: float, plan: Plan, begin: Callable[[str], None]
) -> list[Verdict]:
    """Have RTX build every network and run every case on the GPU; one verdict a network.

    Args:
        library: built for target gpu.
        manifest: the plugin's.
        timeout: seconds for each call.
        plan: networks and cases.
        begin: called with what is being done.
    """
    return collect(
        partial(rtx_engines.open, library, manifest, timeout=timeout),
        lambda session: RtxRuns(session, plan).all(),
        runtime=rtx_engines.NAME,
        networks=[network.id for network in plan.usual],
        begin=begin,
    )


class RtxRuns(EngineRuns[RtxEngines]):
    """RTX with a library, and the cases that it runs."""

    RUNTIME = rtx_engines.NAME

    def all(self) -> Iterator[Verdict]:
        """A verdict on each network."""
        for network in self.plan.usual:
            yield self.built(network, self.session.build(network), self._twice, self.cases(network))

    def _twice(self, network: AnyNetwork, case: Case) -> str:
        """In the process that built the engine, and in one that didn't."""
        difference = compared(self.session.run(network, case, fresh=False).outputs, case)
        if difference:
            return f"in the process that built the engine: {difference}"
        difference = self.right(network, case)
        return f"in another process than the one that built the engine: {difference}" if difference else ""
