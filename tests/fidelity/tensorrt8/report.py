"""The confusion table of a replay, and what no row explains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .comparing import outcome
from .replaying import ROWS, Judgement

COLUMNS = ("cases", "both accept", "both refuse", "host alone refuses", "8.5.3 alone refuses", "8.5.3 falls over",
           "otherwise")  # fmt: skip


def column(one: Judgement) -> str:
    """One of COLUMNS: where both accept a case and do something otherwise, `otherwise`."""
    its, mine = outcome(one.trt), outcome(one.host)
    if its == "falls over":
        return "8.5.3 falls over"
    if its != mine:
        return "host alone refuses" if its == "accepts" else "8.5.3 alone refuses"
    if its == "refuses":
        return "both refuse"
    return "otherwise" if one.left else "both accept"


def table(found: Sequence[Judgement]) -> str:
    """In Markdown, a line for each flaw."""
    counts: dict[str, Counter[str]] = {}
    for one in found:
        counts.setdefault(one.case.flaw or "(sound)", Counter()).update(["cases", column(one)])
    rows = [*sorted(counts.items()), ("all", sum(counts.values(), Counter()))]
    lines = [f"| {' | '.join(('flaw', *COLUMNS))} |", f"| --- |{' ---: |' * len(COLUMNS)}"]
    lines += [f"| {name} | {' | '.join(str(row[one] or '') for one in COLUMNS)} |" for name, row in rows]
    return "\n".join(lines)


def left(found: Sequence[Judgement]) -> list[Judgement]:
    """Those with a difference that no row explains."""
    return [one for one in found if one.left]


def summary(found: Sequence[Judgement]) -> str:
    """How many agree, and how often each row was needed."""
    rows = Counter(row for one in found for row in {row for _, row in one.found if row})
    agree = len(found) - len(left(found))
    without = sum(not one.found for one in found)
    share = f"{100 * agree / max(1, len(found)):.2f} %"
    listed = "\n".join(f"    {count:5} {row}" for row, count in rows.most_common())
    return (
        f"{len(found)} cases; {without} alike in all that is compared, {agree} ({share}) alike or explained by a row.\n"
        f"Cases with a row's difference:\n{listed}"
    )


def explained(found: Sequence[Judgement]) -> str:
    """The rows in Markdown, each with the number of cases that have its difference."""
    counts = Counter(row for one in found for row in {row for _, row in one.found if row})
    lines = ["| row | cases | the difference | why |", "| --- | ---: | --- | --- |"]
    lines += [f"| `{row.id}` | {counts[row.id]} | {row.what} | {row.why} |" for row in ROWS]
    return "\n".join(lines)


def describe(one: Judgement) -> str:
    """A case with what both do otherwise."""
    what = ", ".join(filter(None, (one.case.flaw, one.case.quantized, "implicit batch" * one.case.implicit_batch)))
    lines = [f"{one.case.id} ({what or 'sound'}): {column(one)}"]
    return "\n".join([*lines, *(f"  {difference.kind}: {difference.text}" for difference in one.left)])
