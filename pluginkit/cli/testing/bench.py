"""`pluginkit bench`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pluginkit.bench import BenchOptions, BenchReport, Result, plot, run, sweep
from pluginkit.bench.baseline import COMPILED, TORCH
from pluginkit.bench.runner import asked
from pluginkit.cli import farms, progress, terminal
from pluginkit.cli.report_files import check_writable, json_option
from pluginkit.cli.testing import engine_bench
from pluginkit.cli.testing.precisions import chosen, measured_precisions
from pluginkit.errors import UsageError
from pluginkit.importing.engines.measuring import EngineOptions
from pluginkit.process import files
from pluginkit.process.escapes import quoted
from pluginkit.run.options import Step

BUILDS = 300.0
"""Seconds that a build of an engine may take at least."""


@click.command("bench")
@click.argument("project", type=click.Path(path_type=Path), default=".", metavar="[PROJECT|MODEL.onnx]")
@click.option("--engine", is_flag=True, help="Measure the whole engine that TensorRT 8 builds of MODEL.onnx.")
@click.option(
    "--plugins",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="LIB.so|PROJECT",
    help="With --engine: plugin library of target gpu, or project. May be repeated.",
)
@click.option(
    "--without",
    type=click.Path(path_type=Path),
    metavar="ORIGINAL.onnx",
    help="With --engine: the model without the plugin, measured in turns with the other.",
)
@click.option(
    "--profile",
    "profiles",
    multiple=True,
    metavar="NAME:SHAPES",
    help="With --engine: shapes of an input: x:min=1x3,opt=4x3,max=8x3, or x:4x3 for all three. May be repeated.",
)
@measured_precisions
@click.option(
    "--only", multiple=True, metavar="ID", help="Only cases whose id matches; * and ? are wildcards. May be repeated."
)
@click.option(
    "--library", type=click.Path(path_type=Path), metavar="LIB.so", help="Measure this library instead of building."
)
@click.option(
    "--arch", "archs", multiple=True, metavar="SM", help="Build for this GPU architecture.  [default: this GPU's]"
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Random seed for the input values.")
@click.option(
    "--timeout",
    type=click.FloatRange(1),
    default=60.0,
    show_default=True,
    help="Seconds before a call is reported as hung.",
)
@click.option(
    "--compare",
    multiple=True,
    metavar="WHAT",
    help="Also measure torch.compile of the baseline in [bench], or LIB.so, another library with this plugin.",
)
@click.option(
    "--sweep",
    "range_",
    metavar="SIZES",
    help="Sizes to measure instead of those in [bench]: 4KiB..1GiB over the first dynamic dimension, or c=32..65536.",
)
@farms.farm_option
@farms.on_option
@json_option
@click.option("--html", type=click.Path(path_type=Path), metavar="FILE.html", help="With --engine: write a page.")
@click.option(
    "--plot", "picture", type=click.Path(path_type=Path), metavar="FILE.png", help="Plot bandwidth against size."
)
def command(
    *,
    project: Path,
    engine: bool,
    plugins: tuple[Path, ...],
    without: Path | None,
    profiles: tuple[str, ...],
    html: Path | None,
    precisions: tuple[str, ...],
    only: tuple[str, ...],
    library: Path | None,
    archs: tuple[str, ...],
    seed: int,
    timeout: float,
    compare: tuple[str, ...],
    range_: str | None,
    farm: str | None,
    on: tuple[str, ...],
    json_file: Path | None,
    picture: Path | None,
) -> int:
    """Measure PROJECT's plugin on this machine's GPU, or on a farm's, and compare it with a memory copy.

    With --engine, measure the engine that TensorRT 8 builds of MODEL.onnx: its time, its layers, what the plugin costs
    around it; and whether it pays, beside --without.

    Shapes are those of [bench] in pluginkit.toml, or min, opt and max of the profiles. Only launches whose outputs
    match reference.py are timed.
    """
    if engine:
        alone = {"--only": only, "--library": library, "--arch": archs, "--compare": compare, "--sweep": range_}
        engine_bench.check(project, precisions, {**alone, "--farm": farm, "--on": on, "--plot": picture})
        asked_for = EngineOptions(project, plugins, without, profiles, precisions, seed, max(timeout, BUILDS))
        return engine_bench.measure(asked_for, json_file, html)
    if project.suffix == ".onnx":
        raise UsageError(
            f"{project} is a model, and not a plugin's project.",
            hint=f"pluginkit bench {quoted(str(project))} --engine measures the engine that TensorRT 8 builds of it.",
        )
    of_engines = {"--plugins": plugins, "--without": without, "--profile": profiles, "--html": html}
    if given := [name for name, value in of_engines.items() if value]:
        raise UsageError(f"{given[0]} is for engines.", hint="Give MODEL.onnx and --engine with it.")
    libraries = [one for one in compare if one not in (TORCH, COMPILED)]
    farms.check(farm, on, {f"--compare {name}": (True, "A worker measures what it gets.") for name in libraries})
    for file in (json_file, picture):
        check_writable(file)
    if picture is not None:
        plot.check()
    kinds = chosen(precisions)
    options = BenchOptions(
        project, kinds, only, library, archs, seed, timeout, compare, None if range_ is None else sweep.parse(range_)
    )
    to_stdout = str(json_file) == "-"
    console = terminal.console(stderr=to_stdout)
    with progress.spinner("looking for a GPU", console, elapsed=True) as show:
        report = _run(options, farm, on, lambda what, _done, _total: show(what))
    console.print(shown(report))
    text = json.dumps(report.to_json(), indent=2)
    if to_stdout:
        click.echo(text)
    elif json_file is not None:
        files.write(json_file, text + "\n")
    if picture is not None:
        plot.write(report, picture)
    return report.exit_code


def _run(options: BenchOptions, farm: str | None, on: Sequence[str], step: Step) -> BenchReport:
    if farm is None:
        return run(options, step)
    from pluginkit.farm import measure

    asked(options)  # what a worker would refuse, before a library is built and travels there
    return measure(farm, on, options, step)


def shown(report: BenchReport) -> RenderableType:
    """The table, what is wrong, and what was measured on."""
    rows = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    rows.add_column("case", no_wrap=True)
    for name in ("time", "spread", "moved\nat least", "bandwidth", "of copy"):
        rows.add_column(name, justify="right", no_wrap=True)
    compared = report.compared()
    for name in compared:
        rows.add_column(name, justify="right")
    for result in report.results:
        rows.add_row(*_cells(result, report.machine.copy_rate), *(_baseline(result, name) for name in compared))
    machine = report.machine
    parts: list[RenderableType] = [rows]
    for result in report.results:
        if result.problem:
            parts.append(Text(f"\n{result.case.id}: not measured", style="bold red"))
            parts += [Text(f"  {line}") for line in result.problem.splitlines()]
        if result.note:
            parts.append(Text(f"\n{result.case.id}: {result.note}", style="yellow"))
    parts += [Text(line) for line in _footnotes(report)]
    copied = f"{rate(machine.copy_rate)} by copies of {size(machine.copy_bytes)}"
    where = f"{machine.device}, driver for CUDA {machine.driver}, L2 {size(machine.l2_bytes)}"
    parts.append(Text.assemble(("\n" + where, "bold"), f": {copied}, read and written"))
    return Group(*parts)


def _cells(result: Result, copy_rate: float) -> list[Text]:
    if result.times is None or result.bandwidth is None:
        nothing = [Text("-")] * 3
        return [Text(result.case.id), Text("wrong", style="bold red"), Text("-"), *nothing]
    times = result.times
    mark = "*" if times.enqueues > 1 else ""
    return [
        Text(result.case.id),
        Text(seconds(times.median) + mark),
        Text(f"{100 * times.spread:.1f} %"),
        Text(size(result.case.bytes)),
        Text(rate(result.bandwidth)),
        Text(f"{result.share(copy_rate):.3f}", style="green"),
    ]


def _baseline(result: Result, name: str) -> Text:
    found = next((one for one in result.baselines if one.name == name), None)
    if found is None:
        return Text("")
    times = found.times
    if times is None:
        return Text("none", style="yellow")
    return Text(f"{seconds(times.median)}" + (f" ({times.median / result.times.median:.2f} x)" if result.times else ""))


def _footnotes(report: BenchReport) -> list[str]:
    found = []
    replayed = [result for result in report.results if result.times and result.times.enqueues > 1]
    if replayed:
        line = "\n* in a replayed graph of at least 32 enqueues"
        empty = [result.empty for result in replayed if result.empty]
        if empty:
            least = min(one.median for one in empty)
            line += f"; an empty kernel there: {seconds(least)}"
        found.append(line)
    notes: dict[tuple[str, str, str], list[str]] = {}
    for result in report.results:
        for one in result.baselines:
            notes.setdefault((one.name, one.expression, one.problem), []).append(result.case.id)
    for (name, expression, problem), ids in notes.items():
        found.append(f"{name}{', none' if problem else ''} for {', '.join(ids)}: {expression}")
        found += [f"  {line}" for line in problem.splitlines()]
    return found + _swept(report)


def _swept(report: BenchReport) -> list[str]:
    """Where a sweep is lowest beside a copy of the same bytes, in each precision."""
    found = []
    for kind in dict.fromkeys(result.case.precision for result in report.results):
        shares = [
            (one.share(0.0) or 0.0, one.case.id) for one in report.results if one.case.precision is kind and one.copy
        ]
        if shares:
            least, where = min(shares)
            found.append(f"{kind.value}: {least:.3f} of a copy of as many bytes at least, at {where}")
    return found


def seconds(value: float) -> str:
    """A time: `12.34 us`, `1.234 ms`."""
    return f"{1e3 * value:.3f} ms" if value >= 1e-3 else f"{1e6 * value:.2f} us"


def size(count: float) -> str:
    """Bytes: `512 B`, `1.5 MiB`."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.4g} {unit}"
        count /= 1024
    return f"{count:.4g} GiB"


def rate(value: float) -> str:
    """Bytes a second, in powers of ten as data sheets have them: `2998 GB/s`."""
    return f"{value / 1e9:.0f} GB/s" if value >= 1e10 else f"{value / 1e9:.2f} GB/s"
