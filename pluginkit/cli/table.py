"""How a test run looks on a terminal: one table, then what failed, where it failed, and the command that repeats it."""

from __future__ import annotations

import math
import shlex

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from pluginkit.testing.report import CaseResult, Outcome, Report, Verdict

RTX = "tensorrt-rtx"
_STYLE = {
    Outcome.PASSED: "green",
    Outcome.FAILED: "bold red",
    Outcome.CRASHED: "bold red",
    Outcome.HUNG: "bold red",
    Outcome.SKIPPED: "yellow",
}
PIPE_WIDTH = 120
"""Columns where there is no terminal: nothing may be cut in a log."""

FAILURES = 8
"""How many failures are explained; a wrong kernel fails everywhere in the same way."""

LOG_LINES = 12
"""How many of a runtime's log lines are shown for a network that it refused."""


def show(report: Report, console: Console, *, command: str) -> None:
    """Print a report. `command` is what repeats the run; a failing case's own command is made from it."""
    console.print(cases_table(report))
    bad = report.bad
    for item in bad[:FAILURES]:
        console.print(_failure(item, report, command))
    if len(bad) > FAILURES:
        console.print(Text(f"\n... and {len(bad) - FAILURES} more; --json FILE has them all.", style="bold red"))
    console.print(summary(report))


def cases_table(report: Report) -> RenderableType:
    """Network × precision × shape point, the largest error beside its tolerance, and who says what."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("network", no_wrap=True)
    table.add_column("point", no_wrap=True)
    table.add_column("shape")
    checked = any(case.sanitizers for case in report.cases)
    if checked:
        table.add_column("checks", no_wrap=True)
    for name in ("largest\nerror", "tolerance"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("host", no_wrap=True)
    table.add_column("RTX build\n(V3 adapter)", no_wrap=True)
    previous = ""
    for case in report.cases:
        group = f"{case.sanitizers} {case.network}"
        first = group != previous
        if first and previous:
            table.add_section()
        previous = group
        table.add_row(
            _label(case) if first else "",
            case.point,
            case.shape,
            *([case.sanitizers] if checked else []),
            number(case.error, case.unit),
            number(case.allowed, case.unit),
            _word(case.outcome),
            _verdict(report.verdict(RTX, case.network)) if first else "",
        )
    return table


def _label(case: CaseResult) -> str:
    """The network: `loop FP16`, or `plain INT8 chw32`."""
    variant = case.network.removeprefix(f"{case.family}/{case.precision.value}").removeprefix("-")
    return " ".join(filter(None, (case.family, case.precision.short, variant)))


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


def _word(outcome: Outcome) -> Text:
    return Text(outcome.value, style=_STYLE[outcome])


def _verdict(verdict: Verdict | None) -> Text:
    if verdict is None:
        return Text("not asked", style="dim")
    if verdict.outcome is Outcome.PASSED:
        return Text("built, live", style="green")
    if verdict.outcome is Outcome.FAILED:
        return Text("refused", style="bold red")
    return _word(verdict.outcome)


def _failure(item: CaseResult | Verdict, report: Report, command: str) -> RenderableType:
    if isinstance(item, CaseResult):
        head, case = f"{item.id}: {item.outcome.value}", item.id
        log: tuple[str, ...] = ()
    else:
        head, case, log = f"{item.network} in {item.runtime}: {item.outcome.value}", f"{item.network}/*", item.log
        if item in report.controls:
            head, case = f"{item.network} in {item.runtime}: not refused as it must be", item.network
        elif item in report.registries:
            case = item.network
    lines: list[RenderableType] = [Text(f"\n{head}", style="bold red")]
    lines += [Text(f"  {line}") for line in item.message.splitlines()]
    lines += [Text(f"  | {line}", style="dim") for line in log[:LOG_LINES]]
    again = f"{command} --only {shlex.quote(case)} --seed {report.seed}{_as_before(item, report)}"
    return Group(*lines, Text.assemble(("  again: ", "bold"), again))


def _as_before(item: CaseResult | Verdict, report: Report) -> str:
    """The options that a case needs to fail again: its checks, and the orders if it failed in one of those."""
    if not isinstance(item, CaseResult):
        return ""
    checks = f" --sanitize {item.sanitizers.replace('+', ',')}" if item.sanitizers else ""
    orders = f" --schedules {report.schedules}" if item.schedule and report.schedules else ""
    return checks + orders


def summary(report: Report) -> RenderableType:
    """The closing lines: what took part, and how it ended."""
    lines: list[RenderableType] = [Text()]
    for name, said in report.runtimes.items():
        lines.append(Text.assemble((f"{name}: ", "bold"), said))
    parts = [f"{report.count(kind)} {kind.value}" for kind in Outcome if report.count(kind)]
    refused = sum(verdict.outcome.bad for verdict in report.verdicts)
    asked = len(report.verdicts)
    verdicts = f"; NVIDIA's builder took {asked - refused} of {asked} networks" if asked else ""
    if report.controls:
        held = report.count(Outcome.PASSED, report.controls)
        style = "" if held == len(report.controls) else "bold red"
        lines.append(Text(f"refused, as it must be: {held} of {len(report.controls)} broken networks", style=style))
    text = f"{report.plugin}: {', '.join(parts)} of {len(report.cases)} cases{verdicts}; seed {report.seed}"
    lines.append(Text(text, style="bold red" if report.bad else "bold green"))
    return Group(*lines)
