"""`pluginkit doctor --cut` and `--outputs`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from pluginkit.api.models import ModelReport, read
from pluginkit.cli import progress
from pluginkit.cli.inspection import model_report
from pluginkit.errors import UsageError
from pluginkit.importing import ImportOptions, onnx_graph
from pluginkit.importing import cutting as cutting_
from pluginkit.importing import profiles as profiles_
from pluginkit.importing.files import external
from pluginkit.importing.rewrites import fixing
from pluginkit.process.escapes import quoted, shown


def cut(
    whole: ModelReport,
    cuts: Sequence[Sequence[str]],
    into: Path,
    options: ImportOptions,
    console: Console,
    *,
    as_json: bool,
) -> list[ModelReport]:
    """Write a model's parts, say what crosses between them, and report on each."""
    profile = whole.profile or profiles_.profile(profiles_.declared_inputs(onnx_graph.load(whole.model)), [])
    _folder(into)
    with progress.spinner("cutting the model", console, elapsed=True):
        made = cutting_.cut(whole.model, cuts, into, profile, seed=options.seed, timeout=options.timeout)
    if not as_json:
        for part, file in zip(made.parts, made.files, strict=True):
            _tell(part, file, console)
        compared = Text("not compared with the model, which onnxruntime can't run", style="yellow")
        if made.difference is not None:
            equal = f"one after the other they give what the model gives (largest difference {made.difference:.1e})"
            compared = Text(equal, style="green")
        console.print(compared)
    return [
        _report(file, replace(options, profiles=given, marked=part.shape_outputs), console, as_json=as_json)
        for part, file, given in zip(made.parts, made.files, made.profiles, strict=True)
    ]


def outputs(
    whole: ModelReport, names: Sequence[str], into: Path, options: ImportOptions, console: Console, *, as_json: bool
) -> list[ModelReport]:
    """Write a model with other outputs, and report on it."""
    _folder(into)
    file = into / f"{whole.model.stem}-outputs.onnx"
    proto = onnx_graph.load(whole.model)
    if missing := external.left_out(proto):
        raise UsageError(f"{whole.model} can't be written with other outputs: {missing}.")
    fixing.write(cutting_.with_outputs(proto, names), file)
    return [_report(file, options, console, as_json=as_json)]


def _folder(into: Path) -> None:
    if not into.is_dir():
        raise UsageError(f"There is no folder {into}.", hint=f"mkdir -p {quoted(str(into))}")


def _tell(part: cutting_.Part, file: Path, console: Console) -> None:
    graph = part.model.graph
    console.print(Text(f"\nengine {part.name}: {shown(str(file))}, {len(graph.node)} nodes", style="bold"))
    for what, values, shapes, how in (
        (
            "in",
            graph.input,
            part.shape_inputs,
            "a shape tensor: its values are given by IOptimizationProfile::setShapeValues",
        ),
        ("out", graph.output, part.shape_outputs, "a shape tensor for a later engine: mark it by markOutputForShapes"),
    ):
        for value in values:
            line = f"  {what}  {shown(value.name)}"
            line += f", {how}" if value.name in shapes else ""
            line += "; at a network's end that is int32 or int64: cast it" if value.name in part.wrong else ""
            console.print(Text(line, style="yellow" if value.name in part.wrong else ""))


def _report(file: Path, options: ImportOptions, console: Console, *, as_json: bool) -> ModelReport:
    with progress.spinner(f"{file}: reading", console, elapsed=True) as step:
        found = read(replace(options, model=file), step)
    if not as_json:
        model_report.show(found, console, title=str(file))
    return found
