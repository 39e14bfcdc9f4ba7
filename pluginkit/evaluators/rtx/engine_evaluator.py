"""TensorRT-RTX's engines as an evaluator, where there is a GPU that RTX runs them on."""

from __future__ import annotations

from collections.abc import Sequence

from pluginkit.build.gpus import find_driver
from pluginkit.errors import ToolMissing
from pluginkit.evaluators.protocol import Answers, Expected, Item, RunWork, Workplace
from pluginkit.evaluators.rtx.evaluator import CHECKED
from pluginkit.runtimes import Availability
from pluginkit.runtimes.rtx import engines
from pluginkit.runtimes.rtx import session as rtx


class EngineEvaluator:
    """Has RTX build every network and run every case on the GPU, in the process that built it and in another."""

    NAME = engines.NAME
    STANDBY: tuple[str, ...] = ()

    def probe(self) -> Availability:
        """Whether RTX is here, and a GPU that it runs engines on."""
        found = rtx.probe()
        if not found.found:
            return found
        obstacle = engines.obstacle(find_driver())
        return Availability(False, reason=obstacle) if obstacle else found

    def obstacle(self, work: RunWork) -> str:
        """Libraries with checks compiled in are not for it."""
        return CHECKED if work.sanitize else ""

    def ids(self, work: RunWork) -> Sequence[str]:
        """None of its own."""
        del work
        return []

    def items(self, work: RunWork) -> Sequence[Item]:
        """One, of all networks: they share the GPU."""
        return [Item(self.NAME, self.NAME, "verdicts", whole=True)] if work.plan.usual else []

    def execute(self, item: Item, work: RunWork, place: Workplace, configured: Expected | None) -> Answers:
        """Build and run everything."""
        del item, configured
        from pluginkit.evaluators.rtx.engines import evaluate

        try:
            library = place.gpu_library()
        except ToolMissing as error:
            return Answers(absent=f"{error.message} ({error.hint})")
        return Answers(tuple(evaluate(library, work.manifest, work.timeout, work.plan, place.begin)))

    def summary(self, work: RunWork, found: Sequence[Answers]) -> str:
        """On which GPU."""
        del work, found
        return f"run on {find_driver().gpus[0].name}, in the process that built them and in another"


EVALUATOR = EngineEvaluator()
