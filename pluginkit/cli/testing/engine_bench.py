"""`pluginkit bench MODEL.onnx --engine`: the options' meaning, and the table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pluginkit.cli import progress, terminal
from pluginkit.cli.report_files import check_writable
from pluginkit.errors import UsageError
from pluginkit.importing.engines.measured import EngineBench, EngineLayer, EnginePoint, EngineSide
from pluginkit.importing.engines.measuring import PRECISIONS, EngineOptions, run
from pluginkit.process import files
from pluginkit.process.escapes import shown
from pluginkit.reporting import engine_page

SHOWN = 8
"""So many layers of an engine are shown, the slowest."""


def check(model: Path, precisions: Sequence[str], others: Mapping[str, object]) -> None:
    """Refuse what has no meaning for an engine.

    Args:
        model: the command's argument.
        precisions: those that were asked for.
        others: options of measurements of a plugin alone, with their values.

    Raises:
        UsageError: the model is none, a precision isn't TensorRT 8's, or one of the others was given.
    """
    if model.is_dir():
        raise UsageError(f"--engine measures a model's engine, and {model} is a folder.", hint="Give MODEL.onnx.")
    if given := [name for name, value in others.items() if value]:
        raise UsageError(f"{given[0]} is for a plugin alone, not for --engine.", hint="Leave one of them out.")
    if wrong := [kind for kind in precisions if kind not in PRECISIONS]:
        raise UsageError(
            f"TensorRT 8 has no {wrong[0]} engines.",
            hint=f"Measured are {', '.join(PRECISIONS)} (--fp32, --fp16, --int8).",
        )


def measure(options: EngineOptions, json_file: Path | None, html: Path | None) -> int:
    """Measure, print, and write the report's files; the exit code."""
    for file in (json_file, html):
        check_writable(file)
    if html:
        engine_page.check()
    to_stdout = str(json_file) == "-"
    console = terminal.console(stderr=to_stdout)
    with progress.spinner("reading the model", console, elapsed=True) as show:
        report = run(options, show)
    console.print(table(report))
    text = json.dumps(report.to_json(), indent=2)
    if to_stdout:
        click.echo(text)
    elif json_file is not None:
        files.write(json_file, text + "\n")
    if html:
        engine_page.write(report, html)
    return report.exit_code


def table(report: EngineBench) -> RenderableType:
    """The times, what the plugin costs around it, the slowest layers, and the verdict."""
    rows = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    rows.add_column("point")
    rows.add_column("model")
    for name in ("time", "95 %", "layers", "reformats", "memory", "engine", "build"):
        rows.add_column(name, justify="right", no_wrap=True)
    for one in report.points:
        rows.add_row(*_cells(one.label, one.mine))
        if one.without is not None:
            rows.add_row(*_cells("", one.without))
    parts: list[RenderableType] = [rows]
    for one in report.points:
        parts += [_wrong(one, side) for side in (one.mine, one.without) if side is not None and not side.times]
    parts += [_around(one) for one in report.points if one.mine.times]
    where = Text.assemble((f"\n{report.gpu}, TensorRT {report.tensorrt}", "bold"))
    if report.lacking:
        where.append(
            f"; tactic sources that are switched off, since their libraries aren't here: {', '.join(report.lacking)}"
        )
    answers = {one.answer for one in report.points} - {""}
    style = "bold green" if answers == {"faster"} else "bold yellow" if answers or not report.exit_code else "bold red"
    return Group(*parts, where, Text(report.verdict, style=style))


def _cells(label: str, side: EngineSide) -> list[Text]:
    name = Text(shown(side.model))
    if side.times is None:
        return [Text(label), name, Text(side.status, style="bold red"), *[Text("-")] * 6]
    return [
        Text(label),
        name,
        Text(f"{side.times.median:.4f} ms"),
        Text(f"{side.times.low:.4f} to {side.times.high:.4f}"),
        Text(str(len(side.layers))),
        Text(str(len(side.of("reformat")))),
        Text(_size(side.memory_bytes)),
        Text(_size(side.engine_bytes)),
        Text(f"{side.build_seconds:.1f} s"),
    ]


def _wrong(one: EnginePoint, side: EngineSide) -> Text:
    found = Text.assemble(
        (f"\n{one.label}, {side.model}: {side.status}", "bold red"), f": {shown(side.message, chr(10))}"
    )
    if side.fix:
        found.append(f"\n  fix: {side.fix}")
    return found


def _around(one: EnginePoint) -> Text:
    """The engine's layers: the plugin, the reformats beside it, fusions that are gone, and what is slowest."""
    side = one.mine
    plugins, reformats = side.of("plugin"), side.because
    text = Text(f"\n{one.label}, {side.message}", style="bold")
    text.append(f"\n  plugins: {_sum(plugins)}; reformats at their tensors: {_sum(reformats)}", style="not bold")
    if one.without is not None:
        lost = one.lost
        text.append(f"; fusions that are gone: {len(lost)}", style="not bold")
        for name in lost[:SHOWN]:
            text.append(f"\n    {shown(name)}", style="not bold dim")
    slowest = sorted(side.layers, key=lambda layer: -layer.milliseconds)[:SHOWN]
    for layer in slowest:
        mark = {"plugin": " (plugin)", "reformat": " (reformat)"}.get(layer.role, "")
        text.append(f"\n  {layer.milliseconds:8.4f} ms  {shown(layer.name)}{mark}", style="not bold dim")
    return text


def _sum(found: Sequence[EngineLayer]) -> str:
    return f"{len(found)}, {sum(one.milliseconds for one in found):.4f} ms" if found else "none"


def _size(count: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.4g} {unit}"
        count /= 1024
    return f"{count:.4g} GiB"
