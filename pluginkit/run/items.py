"""The second step of a run: what each evaluator is asked, from the plan; and which evaluators take part."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

from pluginkit.evaluators import evaluators
from pluginkit.evaluators.protocol import Evaluator, Item, RunWork, unavailable
from pluginkit.run.options import Shard
from pluginkit.testing.report import ABSENT


@dataclass(frozen=True)
class EvaluatorPart:
    """An evaluator's part in a run.

    Attributes:
        evaluator: who.
        items: what it is asked.
        absent: why it is asked nothing.
        where: of an evaluator that is asked at several places, which this one is.
    """

    evaluator: Evaluator
    items: tuple[Item, ...]
    absent: str = ""
    where: str = ""

    @property
    def name(self) -> str:
        """As reports call it: the evaluator's, and where it was asked."""
        return f"{self.evaluator.NAME} ({self.where})" if self.where else self.evaluator.NAME

    @property
    def status(self) -> str:
        """A report's entry for an evaluator that took no part."""
        return f"{ABSENT}: {self.absent}"


def parts(work: RunWork, names: Sequence[str] | None = None) -> Iterator[EvaluatorPart]:
    """Each evaluator's part, in the order of `evaluators.EVALUATORS`; only of these names, if there are any."""
    for evaluator in evaluators():
        if names is not None and evaluator.NAME not in names:
            yield EvaluatorPart(evaluator, (), "not asked")
            continue
        found = evaluator.probe()
        absent = evaluator.obstacle(work) or ("" if found.found else unavailable(found))
        items = () if absent else tuple(evaluator.items(work))
        yield EvaluatorPart(evaluator, items, absent or ("" if items else "not selected"))


def part_of(taking_part: Sequence[EvaluatorPart], shard: Shard | None) -> list[EvaluatorPart]:
    """What of the evaluators' parts is a shard's: of each network all that is asked, so that it is built in one run."""
    if shard is None:
        return list(taking_part)
    found = []
    for one in taking_part:
        items = tuple(item for item in one.items if shard.takes(item.network or item.id))
        found.append(replace(one, items=items, absent=one.absent or ("" if items else f"not in shard {shard}")))
    return found


def groups(items: tuple[Item, ...]) -> list[tuple[Item, ...]]:
    """Items that share what is built for them, in order; one worker executes a group."""
    found: dict[Hashable, list[Item]] = {}
    for item in items:
        found.setdefault(item.group, []).append(item)
    return [tuple(group) for group in found.values()]
