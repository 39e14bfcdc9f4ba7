"""The confusion table of a run, per flaw, and every disagreement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .flaws import WILD
from .judging import Judged

COLUMNS = ("cases", "both build", "both refuse", "host alone refuses", "RTX alone refuses", "RTX falls over",
           "other shapes")  # fmt: skip


def reason(judged: Judged) -> str:
    """What a case is counted as."""
    flaw = judged.case.flaw
    if flaw is None:
        return "(sound)"
    return f"{flaw.name} (lenient)" if judged.lenient else f"({flaw.name})" if flaw is WILD else flaw.name


def outcome(judged: Judged) -> str:
    """One of COLUMNS."""
    if judged.differences:
        return "other shapes"
    if judged.rtx.status in {"crashed", "hung"}:
        return "RTX falls over"
    if judged.host.ok:
        return "both build" if judged.rtx.ok else "RTX alone refuses"
    return "host alone refuses" if judged.rtx.ok else "both refuse"


def table(all_judged: Sequence[Judged]) -> str:
    """The confusion table in Markdown."""
    counts: dict[str, Counter[str]] = {}
    for judged in all_judged:
        counts.setdefault(reason(judged), Counter()).update(["cases", outcome(judged)])
    total = sum(counts.values(), Counter())
    rows = [*sorted(counts.items()), ("all", total)]
    lines = [f"| {' | '.join(('reason', *COLUMNS))} |", f"| --- |{' ---: |' * len(COLUMNS)}"]
    lines += [f"| {name} | {' | '.join(str(row[column] or '') for column in COLUMNS)} |" for name, row in rows]
    return "\n".join(lines)


def summary(all_judged: Sequence[Judged]) -> str:
    """The numbers that the goal is about."""
    counted = [judged for judged in all_judged if not judged.lenient]
    agree = len(counted) - len(disagreements(counted))
    refused = sum(not judged.rtx.ok for judged in all_judged)
    compared = sum(judged.compared for judged in all_judged)
    share = 100 * agree / max(1, len(counted))
    return (
        f"{len(all_judged)} cases; outside the leniencies {agree} of {len(counted)} agree ({share:.2f} %). "
        f"RTX refuses {refused}, for {len(reasons(all_judged))} reasons by its words. "
        f"Types and shapes of {compared} outputs compared, different in {sum(bool(j.differences) for j in all_judged)} "
        "cases. "
        f"NVIDIA's bounds are tighter than the host's in {sum(bool(j.tighter) for j in all_judged)} cases."
    )


def reasons(all_judged: Sequence[Judged]) -> set[str]:
    """NVIDIA's words for which it has refused flaws of a case, as patterns: two flaws with the same words are one."""
    return {judged.case.flaw.reason for judged in all_judged if judged.case.flaw and judged.for_its_reason}


def disagreements(all_judged: Sequence[Judged]) -> list[Judged]:
    """Every disagreement outside the leniencies."""
    return [judged for judged in all_judged if not judged.agree and not judged.lenient]


def unexplained(all_judged: Sequence[Judged]) -> list[str]:
    """A paragraph for each that isn't a known limit of the host."""
    found = disagreements(all_judged)
    return [describe(judged) for judged in found if judged.case.flaw is None or not judged.case.flaw.known]


def describe(judged: Judged) -> str:
    """A case with what both say."""
    told = [f"{judged.case.id} {reason(judged)}{', static' if judged.case.static else ''}: {outcome(judged)}"]
    told += [f"  host: {judged.host.status} {judged.host.message}", f"  RTX: {judged.rtx.status} {judged.rtx.message}"]
    return "\n".join([*told, *(f"  {one}" for one in judged.differences)])
