"""`pluginkit tune`."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import geometric_mean

import click
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pluginkit.build.gpus import find_driver
from pluginkit.cli import progress, terminal
from pluginkit.cli.report_files import check_writable, json_option
from pluginkit.cli.testing.bench import seconds
from pluginkit.cli.testing.precisions import chosen, measured_precisions
from pluginkit.errors import PluginkitError
from pluginkit.manifest import Manifest
from pluginkit.process import files
from pluginkit.tuning import Tuned, TuneOptions, TuneReport, tune
from pluginkit.tuning.choosing import LEAST
from pluginkit.tuning.results import named
from pluginkit.tuning.runner import journal_path

SMALL = 1 << 20
"""Bytes: where no case moves more, the launch decides and not what is tuned."""
COLUMNS = 4
"""So many cases have a column each; of more, only the slowest, and the range of all."""


@click.command("tune")
@click.argument("project", type=click.Path(path_type=Path), default=".")
@measured_precisions
@click.option(
    "--only", multiple=True, metavar="ID", help="Only cases whose id matches; * and ? are wildcards. May be repeated."
)
@click.option("--dry-run", is_flag=True, help="Measure without changing pluginkit.toml.")
@click.option(
    "--timeout",
    type=click.FloatRange(1),
    default=60.0,
    show_default=True,
    help="Seconds before a call is reported as hung.",
)
@json_option
def command(
    project: Path,
    precisions: tuple[str, ...],
    only: tuple[str, ...],
    dry_run: bool,
    timeout: float,
    json_file: Path | None,
) -> int:
    """Choose launch parameters of PROJECT's kernels by measurement: threads per block, packs per thread.

    The cases are those of pluginkit bench. Values that beat the defaults by more than the noise are written to
    pluginkit.toml, in [tuning.sm_90] for the GPU's architecture, and used by later builds.
    """
    check_writable(json_file)
    kinds = chosen(precisions)
    options = TuneOptions(project, kinds, only, dry_run, timeout)
    to_stdout = str(json_file) == "-"
    console = terminal.console(stderr=to_stdout)
    try:
        with progress.bar("looking for a GPU", console, elapsed=True) as step:
            report = tune(options, step)
    except KeyboardInterrupt:
        console.print(Text(_interrupted(project)))
        raise
    except PluginkitError:
        if left := _journals(project):
            console.print(Text(f"What was measured until then is kept in {_listed(left)}."))
        raise
    for one in report.found:
        console.print(_shown(one, dry_run=dry_run))
    console.print(Group(*_after(report, project, dry_run=dry_run)))
    text = json.dumps(report.to_json(), indent=2)
    if to_stdout:
        click.echo(text)
    elif json_file is not None:
        files.write(json_file, text + "\n")
    return 0


def _journals(project: Path) -> list[Path]:
    try:
        manifest = Manifest.load(project)
        paths = [journal_path(project, manifest, f"sm_{gpu.arch}") for gpu in find_driver().gpus]
    except PluginkitError:
        return []
    return [path for path in dict.fromkeys(paths) if path.exists()]


def _listed(paths: list[Path]) -> str:
    return ", ".join(map(str, paths))


def _interrupted(project: Path) -> str:
    kept = _journals(project)
    where = (
        f" What was measured until then is kept in {_listed(kept)}, and pluginkit tune goes on there." if kept else ""
    )
    return f"Interrupted: pluginkit.toml is as it was.{where}"


def _shown(one: Tuned, *, dry_run: bool) -> RenderableType:
    rows = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, title=f"{one.gpu}, {one.arch}")
    rows.add_column("values", no_wrap=True)
    slowest = sorted(one.cases, key=lambda name: -one.cases[name][0])
    columns = slowest if len(slowest) <= COLUMNS else slowest[:1]
    for name in columns:
        rows.add_column(name.replace("/", "\n"), justify="right", no_wrap=True)
    rows.add_column("speed", justify="right", no_wrap=True)
    rows.add_column("from .. to", justify="right", no_wrap=True)

    def speeds(number: int) -> list[float]:
        return [times[0] / times[number] for times in one.cases.values() if number in times]

    measured = [number for number in range(len(one.candidates)) if number not in one.wrong]
    for number in sorted(measured, key=lambda n: -geometric_mean(speeds(n))):
        each = speeds(number)
        style = "bold green" if one.kept and number == one.best and one.kept.values else "bold" if not number else ""
        rows.add_row(
            named(one.candidates[number]),
            *(seconds(one.cases[name][number]) for name in columns),
            f"{geometric_mean(each):.3f} x",
            f"{min(each):.3f} .. {max(each):.3f}",
            style=style,
        )
    parts: list[RenderableType] = [rows]
    for number, problem in one.wrong.items():
        parts.append(Text(f"\n{named(one.candidates[number])}: out of question: {problem}", style="yellow"))
    parts.append(Text("\n" + _verdict(one, dry_run=dry_run)))
    return Group(*parts)


def _verdict(one: Tuned, *, dry_run: bool) -> str:
    own = f"the usual values' own times are up to {100 * one.noise:.1f} % from their median"
    if not one.best:
        text = f"{one.arch}: no set of values is faster than the usual ones; {own}."
    else:
        gain = f"{100 * (one.gain - 1):+.1f} % by {named(one.candidates[one.best])}, measured again by itself; {own}"
        text = f"{one.arch}: {gain}."
    also = "; ".join(named(one.candidates[number]) for number in one.also)
    more = f" Faster in some case, for TensorRT to time as tactics: {also}." if also else ""
    if one.kept:
        return f"{text}{more} Written: [tuning.{one.arch}] of pluginkit.toml."
    if one.removed is not None:
        where = f"[tuning.{one.arch}] of pluginkit.toml"
        done = f"Without --dry-run {where} is removed" if dry_run else f"Removed: {where}"
        return f"{text} {done}, since {_now(one, one.removed)}."
    why = "--dry-run" if dry_run else f"a gain has to be above the noise and {100 * LEAST:g} %"
    return f"{text}{more} Nothing is written: {why}."


def _now(one: Tuned, number: int) -> str:
    """What a section's values are today."""
    values = named(one.candidates[number])
    if not number:
        return "nothing in it is a gain now"
    if number in one.wrong:
        return f"{values} is out of question"
    speed = geometric_mean([times[0] / times[number] for times in one.cases.values()])
    return f"{values} is at {speed:.3f} x the usual values' speed, no gain above the noise"


def _after(report: TuneReport, project: Path, *, dry_run: bool) -> list[Text]:
    lines = [
        Text(f"{arch}: {named(kept.values)} is kept ({kept.gpu or 'a GPU'}), not measured: no such GPU is here")
        for arch, kept in report.left.items()
    ]
    if report.largest_bytes < SMALL:
        lines.append(
            Text(
                f"The largest case moves {report.largest_bytes} bytes: the launch decides there. Give the shapes "
                "that you run as [[bench.shapes]] (docs/bench.md).",
                style="yellow",
            )
        )
    if any(one.kept or one.removed is not None for one in report.found) and not dry_run:
        where = "" if project == Path() else f" {project}"
        lines.append(Text(f"Next: pluginkit build{where}, pluginkit test{where}, pluginkit bench{where}"))
    elif dry_run:
        lines.append(Text("Next: the same without --dry-run"))
    return lines
