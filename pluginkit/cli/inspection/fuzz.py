"""`pluginkit check --fuzz`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click
from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from pluginkit.cli import progress
from pluginkit.demands import both
from pluginkit.process import backtrace
from pluginkit.validation.catalog import CHECKS
from pluginkit.validation.fuzzing.fuzzing import FoundInput, FuzzOptions, FuzzReport, fuzz_library, repeat
from pluginkit.validation.fuzzing.fuzzing import Fuzzed as FuzzedTarget
from pluginkit.validation.judging import ending_of
from pluginkit.validation.results import CheckResult, Ending

_UNITS = {"s": 1, "m": 60, "h": 3600}


class Duration(click.ParamType[float]):
    """Seconds, of `90s`, `10m` or `2h`."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds; a usage error where it is none."""
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", str(value))
        if not found or float(found[1]) == 0:
            self.fail(f"{value!r} is no time, such as 90s, 10m or 2h.", param, ctx)
        return float(found[1]) * _UNITS[found[2]]


def fuzz(options: FuzzOptions, console: Console, *, strict: bool) -> tuple[CheckResult, ...]:
    """Fuzz, and print what was found; Ctrl-C ends it. The findings as results of checks, for reports."""
    shown = f"fuzzing {options.library.name}"
    with progress.spinner(shown, console, elapsed=True) as step:
        report = fuzz_library(options, lambda fuzzed: step(f"{shown}: {_counts(fuzzed)}, Ctrl-C ends"))
    console.print(_report(report, options, strict))
    return tuple(_result(one) for one in report.found)


def fuzz_one(options: FuzzOptions, what: str, console: Console, *, strict: bool) -> tuple[CheckResult, ...]:
    """Give the input of a file, or of a seed, alone."""
    found = repeat(options, what)
    if found is None:
        console.print(Text(f"nothing is wrong with the input {what}", style="bold green"))
        return ()
    console.print(_finding(replace(found, seed="", command=""), strict))
    return (_result(found),)


def _counts(fuzzed: Sequence[FuzzedTarget]) -> str:
    findings = sum(len(one.found) for one in fuzzed)
    behaviours = sum(one.behaviours for one in fuzzed)
    return f"{sum(one.done for one in fuzzed):,} inputs, {behaviours} behaviours, {findings} findings"


def _report(report: FuzzReport, options: FuzzOptions, strict: bool) -> RenderableType:
    rows = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    covered = any(one.edges[1] for one in report.fuzzed)
    for title in ("plugin", "what reads them", "inputs", "behaviours", *(["edges reached"] * covered), "findings"):
        rows.add_column(title, justify="left" if title in ("plugin", "what reads them") else "right")
    for one in report.fuzzed:
        edges = [f"{one.edges[0]:,}"] * covered
        cells = (f"{one.done:,}", str(one.behaviours), *edges, str(len(one.found)))
        rows.add_row(one.plugin, one.target.name.lower(), *(("skipped",) if one.skipped else cells))
    lines: list[RenderableType] = [rows]
    reasons = dict.fromkeys((one.target.name.lower(), one.skipped) for one in report.fuzzed if one.skipped)
    lines += [Text(f"skipped {target}: {reason}", style="dim") for target, reason in reasons]
    lines += [_finding(one, strict) for one in report.found]
    how = "ended by Ctrl-C" if report.interrupted else "ended"
    end = f"\n{_counts(report.fuzzed)} in {report.seconds:.0f} s ({how}); seed {report.seed}, corpus {report.corpus}"
    found = "bold red" if any(_fails(_result(one), strict) for one in report.found) else "bold yellow"
    lines.append(Text(end, style=found if report.found else "bold green"))
    if not report.found and not report.interrupted:
        lines.append(Text(f"next: --seed {options.seed + 1} draws other inputs, and begins with this corpus"))
    return Group(*lines)


def _finding(one: FoundInput, strict: bool) -> RenderableType:
    result = _result(one)
    asked = CHECKS[result.check]
    ending = ("failed", "bold red") if _fails(result, strict) else ("warning", "bold yellow")
    times = f", {one.times:,} times" if one.times > 1 else ""
    lines: list[RenderableType] = [
        Text.assemble("\n", ending, (f" {both(asked.id)} ", "bold"), asked.title, f"  {one.plugin}{times}"),
        Text(f"  {result.text}"),
        Text(f"  input: {one.finding.input}", style="dim"),
        Text(f"  source: {asked.source}", style="dim"),
        Text.assemble(("  fix: ", "bold"), asked.fix),
    ]
    if one.command:
        again = f" (seed {one.seed})" if one.seed else ""
        lines.append(Text.assemble(("  again: ", "bold"), f"{one.command}{again}"))
    return Group(*lines)


def _fails(result: CheckResult, strict: bool) -> bool:
    return strict or result.ending is Ending.FAILED


def _result(one: FoundInput) -> CheckResult:
    asked = CHECKS[one.finding.rule or one.finding.input.target.value]
    return CheckResult(
        asked.id,
        one.plugin.replace(":", " "),
        ending_of(asked),
        one.finding.method,
        one.finding.message,
        backtrace.describe(one.finding.frames),
    )
