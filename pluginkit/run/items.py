"""The second step of a run: what each judge is asked, from the plan; and which judges take part."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

from pluginkit.judges import judges
from pluginkit.judges.protocol import Item, Judge, RunWork, unavailable
from pluginkit.run.options import Shard
from pluginkit.testing.report import ABSENT


@dataclass(frozen=True)
class JudgePart:
    """A judge's part in a run.

    Attributes:
        judge: who.
        items: what it is asked.
        absent: why it is asked nothing.
        where: of a judge that is asked at several places, which this one is.
    """

    judge: Judge
    items: tuple[Item, ...]
    absent: str = ""
    where: str = ""

    @property
    def name(self) -> str:
        """As reports call it: the judge's, and where it was asked."""
        return f"{self.judge.NAME} ({self.where})" if self.where else self.judge.NAME

    @property
    def status(self) -> str:
        """A report's entry for a judge that took no part."""
        return f"{ABSENT}: {self.absent}"


def parts(work: RunWork, names: Sequence[str] | None = None) -> Iterator[JudgePart]:
    """Each judge's part, in the order of `judges.JUDGES`; only those of these names are asked, if there are any."""
    for judge in judges():
        if names is not None and judge.NAME not in names:
            yield JudgePart(judge, (), "not asked")
            continue
        found = judge.probe()
        absent = judge.obstacle(work) or ("" if found.found else unavailable(found))
        items = () if absent else tuple(judge.items(work))
        yield JudgePart(judge, items, absent or ("" if items else "not selected"))


def part_of(taking_part: Sequence[JudgePart], shard: Shard | None) -> list[JudgePart]:
    """What of the judges' parts is a shard's: of each network all that is asked, so that it is built in one run."""
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
