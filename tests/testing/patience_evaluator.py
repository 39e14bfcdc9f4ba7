"""A made-up evaluator: one module, with an `EVALUATOR`. It finds every network of FP32 too loud."""

from __future__ import annotations

from collections.abc import Sequence

from pluginkit.dtypes import DType
from pluginkit.evaluators.protocol import Answers, Item, RunWork, Workplace
from pluginkit.runtimes import Availability, Configured
from pluginkit.testing.report import Outcome, Verdict


class PatienceEvaluator:
    NAME = "patience"
    STANDBY: tuple[str, ...] = ()

    def probe(self) -> Availability:
        return Availability(True, "0.1", "/nowhere")

    def obstacle(self, work: RunWork) -> str:
        return ""

    def ids(self, work: RunWork) -> Sequence[str]:
        return []

    def items(self, work: RunWork) -> Sequence[Item]:
        return [Item(f"{one.id}/{self.NAME}", self.NAME, "verdicts", one.id) for one in work.plan.usual]

    def execute(
        self, item: Item, work: RunWork, place: Workplace, configured: tuple[Configured, ...] | None
    ) -> Answers:
        assert place.library(item.build).is_file()
        loud = next(one for one in work.whole.usual if one.id == item.network).precision is DType.FLOAT32
        outcome = Outcome.FAILED if loud else Outcome.PASSED
        return Answers((Verdict(item.network, self.NAME, outcome, "it is too loud" if loud else ""),))

    def summary(self, work: RunWork, found: Sequence[Answers]) -> str:
        return f"asked {len(found)} times"


EVALUATOR = PatienceEvaluator()
