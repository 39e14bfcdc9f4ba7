"""Prints a test run on a terminal: the causes of failures, a line for each part of the run, and how it ended."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from pluginkit.demands import DEMANDS, both
from pluginkit.dtypes import DType
from pluginkit.reporting import causes
from pluginkit.reporting.matrix import Matrix, matrix
from pluginkit.reporting.summary import absent
from pluginkit.reporting.summary import parts as parts_of
from pluginkit.run import messages
from pluginkit.testing.report import NVIDIAS, CaseResult, Outcome, Report, Verdict, Warned

_STYLE = {
    Outcome.PASSED: "green",
    Outcome.FAILED: "bold red",
    Outcome.CRASHED: "bold red",
    Outcome.HUNG: "bold red",
    Outcome.SKIPPED: "yellow",
}
_MARKS = {"target": "cpu", "sanitizers": ""}
"""What else a row may show of its cases: shown where it is another value for any."""
_GPU = re.compile(r"^NVIDIA |, driver for CUDA .*")
"""What a GPU's name goes without in a column."""
PLACES = 6
"""Columns of places that a terminal has room for."""
FAILURES = 8
"""How many causes are explained."""


def show(report: Report, console: Console, *, command: str, detail: int = 0) -> None:
    """Print a report: what is wrong, what took part, how it ended.

    Args:
        report: what to print.
        console: where to.
        command: what repeats the run; a failing case's own command is made from it.
        detail: 1: with a row for each network, and for each case that isn't as it should be, and with what was not
            tested and why; 2: with a row for each case.
    """
    found = causes.causes(report)
    for cause in found[:FAILURES]:
        _show_failure(causes.message(cause, report, command), console)
    if len(found) > FAILURES:
        more = f"\n... and {len(found) - FAILURES} more causes; --json FILE has all cases."
        console.print(Text(more, style="bold red"))
    refused: dict[str, list[Verdict]] = {}
    for verdict in (one for one in report.verdicts if one.how in NVIDIAS):
        refused.setdefault(verdict.message, []).append(verdict)
    for alike in refused.values():
        console.print(_own(alike))
    for warned in () if report.strict else report.warnings:
        console.print(_warning(warned))
    for why in report.unjudged:
        console.print(Text.assemble(("\nwarning ", "bold yellow"), f"sizes beyond the profile are not judged: {why}"))
    if detail and report.cases:
        console.print(Text(), cases_table(report, every=detail > 1), *_counts(report), sep="\n")
    for name, why in report.kept_fields.items() if detail else ():
        console.print(Text(f"field {name} is not tested with other values: {why}", style="dim"))
    console.print(summary(report, reasons=detail > 0))


def show_all(reports: Sequence[Report], joined: Report, console: Console, *, command: str, detail: int = 0) -> None:
    """Print a run's reports, one for each plugin, and how all of them together ended (`joined`)."""
    several = len(reports) > 1
    for report in reports:
        if several:
            console.print(Text(f"\n{report.plugin}", style="bold"))
        show(report, console, command=command, detail=detail)
    if (found := matrix(reports)).says_something:
        console.print(Text(), matrix_table(found), *map(Text, found.machines), sep="\n")
    if several:
        console.print(Group(Text(), closing(joined)))


def matrix_table(found: Matrix) -> RenderableType:
    """Plugin × place, or place × plugin where there are more places than a terminal is wide."""
    wide = len(found.places) > PLACES and len(found.plugins) < len(found.places)
    rows, columns = (found.places, found.plugins) if wide else (found.plugins, found.places)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("place" if wide else "plugin", overflow="fold")
    for name in columns:
        table.add_column(_GPU.sub("", name.replace("gpu: NVIDIA ", "gpu: ")), overflow="fold")
    squares = list(zip(*found.squares, strict=True)) if wide else found.squares
    for name, row in zip(rows, squares, strict=True):
        shown = [Text(one.text, style=_STYLE[one.worst] if one.worst else "") for one in row]
        table.add_row(_GPU.sub("", name.replace("gpu: NVIDIA ", "gpu: ")) if wide else name, *shown)
    return table


def cases_table(report: Report, *, every: bool = False) -> RenderableType:
    """Network × precision (× shape point), the largest error and its tolerance, and each evaluator's verdict."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("network", no_wrap=True)
    table.add_column("cases", no_wrap=True)
    shown = every or any(case.outcome is not Outcome.PASSED for case in report.cases)
    marks = [name for name, usual in _MARKS.items() if any(getattr(case, name) != usual for case in report.cases)]
    marks += ["gpu"] * (len(report.gpus) > 1)
    if shown:
        table.add_column("shape")
    for name in marks:
        table.add_column({"sanitizers": "checks"}.get(name, name), no_wrap=True)
    for name in ("largest\nerror", "tolerance"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("host", no_wrap=True)
    others = [name for name in dict.fromkeys(one.runtime for one in report.verdicts) if name != messages.RTX]
    adapted = "V3 adapter" in report.runtimes.get(messages.RTX, "V3 adapter")
    for name in (f"RTX build\n({'V3 adapter' if adapted else 'IPluginV3'})", *others):
        table.add_column(name, no_wrap=True)

    def row(network: str, what: str, case: CaseResult, ended: Text, verdicts: Sequence[Text | str], shape: str) -> None:
        table.add_row(
            network,
            what,
            *([shape] if shown else []),
            *(_GPU.sub("", getattr(case, name)) for name in marks),
            number(case.error, case.unit),
            number(case.allowed, case.unit),
            ended,
            *verdicts,
        )

    for (*_, network), group in groupby(
        report.cases, lambda case: (case.target, case.gpu, case.sanitizers, case.network)
    ):
        cases = list(group)
        ran = [report.verdict(name, network) for name in others]
        verdicts = [
            _verdict(report.verdict(messages.RTX, network)),
            *(_outcome(one.outcome) if one else "" for one in ran),
        ]
        nothing = [""] * len(verdicts)
        if every:
            for index, case in enumerate(cases):
                label = "" if index else _label(case)
                row(label, case.point, case, _outcome(case.outcome), nothing if index else verdicts, case.shape)
            table.add_section()
        else:
            worst = worst_of(cases)
            row(_label(worst), str(len(cases)), worst, _ended(cases), verdicts, "")
            for case in (case for case in cases if case.outcome is not Outcome.PASSED):
                row("", case.point, case, _outcome(case.outcome), nothing, case.shape)
    return table


def worst_of(cases: Sequence[CaseResult]) -> CaseResult:
    """The case whose error stands for its network's: one that failed before all others, then the largest error.

    Errors in different units can't be compared: then it is the one that uses most of its tolerance.
    """
    alike = len({case.unit for case in cases}) == 1

    def key(case: CaseResult) -> tuple[bool, float]:
        if case.error is None or case.allowed is None or not math.isfinite(case.error):
            return case.outcome.bad, math.inf
        return case.outcome.bad, case.error if alike or not case.allowed else case.error / case.allowed

    return max(cases, key=key)


def _ended(cases: Sequence[CaseResult]) -> Text:
    """How a network's cases ended: `passed`, or `2 of 8 failed`."""
    ends = [case.outcome for case in cases]
    if set(ends) == {Outcome.PASSED}:
        return _outcome(Outcome.PASSED)
    worst = max((one for one in ends if one is not Outcome.PASSED), key=ends.count)
    return Text(f"{ends.count(worst)} of {len(ends)} {worst.value}", style=_STYLE[worst])


def _label(case: CaseResult) -> str:
    """The network: `loop FP16`, or `plain INT8 chw32`, or `plain INT8 /c16` with 16 for the symbol c."""
    return " ".join(filter(None, (case.family, case.precision.short, case.variant)))


def _counts(report: Report) -> Iterator[Text]:
    """What the labels' ends are, where INT8 has networks of its own for some numbers of channels."""
    counts: dict[str, None] = {}
    for case in report.cases:
        end = case.network.split("/", 2)[2] if case.network.count("/") > 1 else ""
        sizes = re.findall(r"(\w+?)(_?)(\d+)(?:-|$)", end)
        wanted = {f"{symbol}{more}={size}" for symbol, mark, size in sizes for more in ("", mark)}
        # The other parts are profiles and ranks, which have names of their own.
        if case.precision is DType.INT8 and wanted.intersection(case.shape.split()):
            counts[end] = None
    if counts:
        which = ", ".join(f"/{end}" for end in counts)
        note = f"{which}: INT8 needs channels that are known when it is built, so these have networks of their own"
        yield Text(note, style="dim")


def number(value: float | None, unit: str) -> str:
    """An error or a tolerance with its unit: `3.1e-07` (in the output's own units) or `1 step`."""
    if value is None:
        return "-"
    if not math.isfinite(value):
        return "no number"
    if unit == "steps":
        rounded = f"{value:.2f}".rstrip("0").rstrip(".")
        return f"{rounded} step" + ("" if rounded == "1" else "s")
    return "0" if value == 0 else f"{value:.1e}"


def _outcome(outcome: Outcome) -> Text:
    return Text(outcome.value, style=_STYLE[outcome])


def _verdict(verdict: Verdict | None) -> Text:
    if verdict is None:
        return Text("not asked", style="dim")
    return Text(verdict.word, style=_STYLE[verdict.outcome])


def _show_failure(failure: messages.Failure, console: Console) -> None:
    console.print(Text(f"\n{failure.head}", style="bold red"))
    console.print(*(Text(f"  {line}") for line in failure.message), sep="\n")
    if failure.log:
        console.print(*(Text(f"  | {line}", style="dim") for line in failure.log), sep="\n")
    console.print(Text.assemble(("  again: ", "bold"), failure.again))


def _own(alike: Sequence[Verdict]) -> RenderableType:
    """Refusals that are NVIDIA's own, of one row."""
    first, *others = alike
    head = Text(f"\n{first.network} in {first.runtime}: {first.how}", style=_STYLE[Outcome.SKIPPED])
    lines = [Text(f"  {line}") for line in first.message.splitlines()]
    if others:
        lines.append(Text(f"  The same: {', '.join(one.network for one in others)}."))
    return Group(head, *lines)


def _warning(one: Warned) -> RenderableType:
    page = "demands" if one.warning.rule in DEMANDS else "checks"
    return Group(
        Text.assemble(("\nwarning ", "bold yellow"), one.warning.text),
        Text(
            f"  {one.where}; {both(one.warning.rule)} (docs/{page}.md): TensorRT doesn't require it; "
            "--strict makes it a failure"
        ),
    )


def summary(report: Report, *, reasons: bool = False) -> RenderableType:
    """The closing lines: what took part, what did not, and how it ended; `reasons`: why not, and each version."""
    parts = list(parts_of(report))
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for justify in ("left", "left", "right"):
        table.add_column(justify=justify, overflow="fold")
    for one in parts:
        style = "bold red" if one.bad else ""
        seconds = f"{one.seconds:.1f} s" if one.seconds else "-"
        table.add_row(Text(one.name, style="bold"), Text(one.what, style=style), seconds)
    lines: list[RenderableType] = [Text(), table] if parts else [Text()]
    if reasons:
        lines += [Text.assemble((f"{name}: ", "bold"), status) for name, status in report.runtimes.items()]
    elif missing := absent(report):
        names = ", ".join(f"{name} ({why})" if why else name for name, why in missing.items())
        lines.append(Text(f"took no part: {names} (why: -v; how to get it: pluginkit info)", style="dim"))
    return Group(*lines, closing(report))


def closing(report: Report) -> Text:
    """The last line."""
    return Text(messages.closing(report), style="bold red" if report.bad else "bold green")
