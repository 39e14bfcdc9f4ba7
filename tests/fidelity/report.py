"""The confusion table of a run, per flaw, and every disagreement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .flaws import WILD
from .judging import Judgement

COLUMNS = ("cases", "both build", "both refuse", "host alone refuses", "RTX alone refuses", "RTX falls over",
           "other shapes")  # fmt: skip


def reason(judgement: Judgement) -> str:
    """What a case is counted as."""
    flaw = judgement.case.flaw
    if judgement.refusal:
        return f"{judgement.refusal} (refused whatever the operator)"
    if judgement.other_format:
        return "a format of no manifest (another question)"
    if flaw is None:
        return "(sound)"
    return f"{flaw.name} (lenient)" if judgement.lenient else f"({flaw.name})" if flaw is WILD else flaw.name


def outcome(judgement: Judgement) -> str:
    """One of COLUMNS."""
    if judgement.differences:
        return "other shapes"
    if judgement.rtx.status in {"crashed", "hung"}:
        return "RTX falls over"
    if judgement.host.ok:
        return "both build" if judgement.rtx.ok else "RTX alone refuses"
    return "host alone refuses" if judgement.rtx.ok else "both refuse"


def table(judgements: Sequence[Judgement]) -> str:
    """The confusion table in Markdown."""
    counts: dict[str, Counter[str]] = {}
    for judgement in judgements:
        counts.setdefault(reason(judgement), Counter()).update(["cases", outcome(judgement)])
    total = sum(counts.values(), Counter())
    rows = [*sorted(counts.items()), ("all", total)]
    lines = [f"| {' | '.join(('reason', *COLUMNS))} |", f"| --- |{' ---: |' * len(COLUMNS)}"]
    lines += [f"| {name} | {' | '.join(str(row[column] or '') for column in COLUMNS)} |" for name, row in rows]
    return "\n".join(lines)


def summary(judgements: Sequence[Judgement]) -> str:
    """The numbers that the goal is about."""
    counted = [judgement for judgement in judgements if not judgement.lenient]
    agree = len(counted) - len(disagreements(counted))
    refused = sum(not judgement.rtx.ok for judgement in judgements)
    compared = sum(judgement.compared for judgement in judgements)
    share = 100 * agree / max(1, len(counted))
    return (
        f"{len(judgements)} cases; outside of leniencies and refusals {agree} of {len(counted)} agree ({share:.2f} %). "
        f"RTX refuses {refused}, for {len(reasons(judgements))} reasons by its words. "
        f"Types and shapes of {compared} outputs compared, different in {sum(bool(j.differences) for j in judgements)} "
        "cases. "
        f"NVIDIA's bounds are tighter than the host's in {sum(bool(j.tighter) for j in judgements)} cases."
    )


def reasons(judgements: Sequence[Judgement]) -> set[str]:
    """NVIDIA's messages for refused flaws of a case, as patterns: two flaws with the same message are one."""
    return {judgement.case.flaw.reason for judgement in judgements if judgement.case.flaw and judgement.for_its_reason}


def disagreements(judgements: Sequence[Judgement]) -> list[Judgement]:
    """Every disagreement outside the leniencies."""
    return [judgement for judgement in judgements if not judgement.agree and not judgement.lenient]


def describe(judgement: Judgement) -> str:
    """A case with what both say."""
    text = [
        f"{judgement.case.id} {reason(judgement)}{', static' if judgement.case.static else ''}: {outcome(judgement)}"
    ]
    text += [
        f"  host: {judgement.host.status} {judgement.host.message}",
        f"  RTX: {judgement.rtx.status} {judgement.rtx.message}",
    ]
    return "\n".join([*text, *(f"  {one}" for one in judgement.differences)])
