"""The second step of a run: what each judge is asked, from the plan; and which judges take part."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from pluginkit.judges import judges
from pluginkit.judges.protocol import Item, Judge, RunWork, unavailable
from pluginkit.testing.report import ABSENT


@dataclass(frozen=True)
class JudgePart:
    """A judge's part in a run.

    Attributes:
        judge: who.
        items: what it is asked.
        absent: why it is asked nothing.
    """

    judge: Judge
    items: tuple[Item, ...]
    absent: str = ""

    @property
    def status(self) -> str:
        """A report's entry for a judge that took no part."""
        return f"{ABSENT}: {self.absent}"


def parts(work: RunWork) -> Iterator[JudgePart]:
    """Each judge's part, in the order of `judges.JUDGES`."""
    for judge in judges():
        found = judge.probe()
        absent = judge.obstacle(work) or ("" if found.found else unavailable(found))
        items = () if absent else tuple(judge.items(work))
        yield JudgePart(judge, items, absent or ("" if items else "not selected"))


def groups(items: tuple[Item, ...]) -> list[tuple[Item, ...]]:
    """Items that share what is built for them, in order; one worker executes a group."""
    found: dict[Hashable, list[Item]] = {}
    for item in items:
        found.setdefault(item.group, []).append(item)
    return [tuple(group) for group in found.values()]
