"""The full TensorRT as an evaluator, on a GPU."""

from __future__ import annotations

from collections.abc import Sequence

from pluginkit.errors import ToolMissing
from pluginkit.evaluators.protocol import Answers, Expected, Item, RunWork, Workplace
from pluginkit.evaluators.rtx.evaluator import CHECKED
from pluginkit.runtimes import Availability
from pluginkit.runtimes.tensorrt import session as tensorrt

PARTS = 2
"""Of a run, each with processes of its own. Contexts take turns on the GPU: 16 processes were no faster than 4."""


class TensorrtEvaluator:
    """Has TensorRT build every network and run every case."""

    NAME = tensorrt.NAME
    STANDBY: tuple[str, ...] = ()

    def probe(self) -> Availability:
        """Whether the Python package tensorrt is installed, with its libraries."""
        return tensorrt.probe()

    def obstacle(self, work: RunWork) -> str:
        """Libraries with checks compiled in are not for it."""
        return CHECKED if work.sanitize else ""

    def ids(self, work: RunWork) -> Sequence[str]:
        """None of its own."""
        del work
        return []

    def items(self, work: RunWork) -> Sequence[Item]:
        """Some, each of a part of the networks: building takes most of the time, and one core each."""
        count = min(PARTS, len(work.plan.networks))
        return [
            Item(f"{self.NAME}/{number}", self.NAME, "verdicts", subject=(number, count), whole=True)
            for number in range(count)
        ]

    def execute(self, item: Item, work: RunWork, place: Workplace, configured: Expected | None) -> Answers:
        """Build and run everything."""
        del configured
        from pluginkit.evaluators.tensorrt.cases import evaluate

        try:
            library = place.gpu_library()
        except ToolMissing as error:
            return Answers(absent=f"{error.message} ({error.hint})")
        remarks: list[str] = []
        verdicts = evaluate(
            library, work.manifest, work.timeout, work.plan, place.begin, part=item.subject, remark=remarks.append
        )
        return Answers(tuple(verdicts), remark="; ".join(remarks))

    def summary(self, work: RunWork, found: Sequence[Answers]) -> str:
        """Its version, and what of it is switched off."""
        del work
        remarks = dict.fromkeys(one for answers in found for one in answers.remark.split("; ") if one)
        return "; ".join((f"{self.probe().version}, on the GPU", *remarks))


EVALUATOR = TensorrtEvaluator()
