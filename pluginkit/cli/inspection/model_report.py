"""What `pluginkit import` and `pluginkit doctor` have in common: options, the report on a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from pluginkit.cli import table, targets, terminal
from pluginkit.cli.inspection.inspect import problems
from pluginkit.importing import Imported, building
from pluginkit.importing.building import log_lines
from pluginkit.importing.engines.targets import ModelTarget
from pluginkit.importing.engines.whole import EngineOutcome
from pluginkit.importing.missing_operators import MissingOperator, commands, labels
from pluginkit.importing.rules.table import FORESEES
from pluginkit.importing.shape_tensors import TensorClass
from pluginkit.process.escapes import quoted, shown
from pluginkit.run import messages

F = TypeVar("F", bound=Callable[..., Any])

SHAPE_TENSORS = 8
"""So many shape tensors are shown."""
NATIVE = 12
"""So many nodes that NVIDIA's parser implements itself are shown; all others are."""
LAYERS = 8
"""So many layers of an engine are shown, the slowest."""
REWRITTEN = ("loop-in-if", "if-in-if", "size-in-loop", "size-in-flow")
"""Refusals of NVIDIA's builder (`runtimes/rtx/refusals.py`) for which --fix has a rewrite."""
LINES = "\n\t"
"""What a message of several lines keeps of its control characters."""
_STYLES = {"native": "dim", "plugin": "green", "function": "cyan", "missing": "bold red"}
_OPTIONS = (
    click.option(
        "--profile",
        "profiles",
        multiple=True,
        metavar="NAME:SHAPES",
        help="Shapes of an input: x:min=1x3x8x8,opt=4x3x8x8,max=8x3x8x8, or x:4x3x8x8 for all three. Default for a "
        "dynamic dimension: 1, 4, 16, or the smallest sizes that onnxruntime runs if NVIDIA's builder refuses "
        "these. May be repeated.",
    ),
    targets.option("[targets] of the plugins' projects, or none"),
    click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Random seed for the inputs."),
    click.option(
        "--timeout", type=click.FloatRange(1), default=60.0, show_default=True, help="Seconds before a step is stopped."
    ),
    click.option(
        "--strict", is_flag=True, help="Exit with code 1 also for warnings, and if the model was not built or not run."
    ),
    click.option(
        "--html", type=click.Path(path_type=Path, dir_okay=False), help="Also write the report as an HTML page."
    ),
    click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
)


def options(command: F) -> F:
    """Decorate a command's function with the options of both commands."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def opened(*, as_json: bool) -> Console:
    """The console of the report: stderr, where the result itself is JSON."""
    return terminal.console(stderr=as_json)


def show(found: Imported, console: Console, title: str = "") -> None:
    """Print a model's report, below its title where there are several."""
    if title:
        console.print(Text(f"\n{shown(title)}", style="bold"))
    console.print(_nodes(found))
    if found.unserved:
        console.print(_missing(found.unserved))
    if any(_worth(one) for one in found.tensors):
        console.print(_shape_tensors(found))
    for one in found.targets:
        console.print(_target(one))
    # That nothing at all is wrong is for the build and the run to say.
    console.print(problems(found.problems) if found.problems else Text("\nNo rule is broken.", style="green"))
    console.print(_build(found))
    if found.engine is not None:
        console.print(_in_engine(found.engine))
    console.print(_ran(found))
    if commands := following(found):
        # One line each, to be copied.
        console.print(Text("\nNext:", style="bold"))
        for line in commands:
            console.print(Text(f"  {line}"))
    # One line in a log too.
    console.print(Text(f"\n{found.last_line}", style=_ending(found)))


def _target(one: ModelTarget) -> Group:
    """What tables say of a TensorRT that the model is for."""
    lines = [Text(f"\nfor {one.title}, by tables:", style="bold")]
    lines += [Text.assemble(("  refused: ", "bold red"), shown(line)) for line in one.refused]
    lines += [Text(f"  {line}", style="dim") for line in one.known]
    return Group(*lines) if len(lines) > 1 else Group(*lines, Text("  nothing that it refuses is known"))


def following(found: Imported) -> list[str]:
    """The commands to type next, for missing operators; what one lacks is a line that begins with #."""
    model = quoted(str(found.model))
    fixed = quoted(str(found.model.with_name(f"{found.model.stem}-fixed.onnx")))
    refusal = building.refusal(found.verdict, found.implementations) if found.verdict else None
    rewritten = any(one.rewrite for one in found.unserved) or (refusal is not None and refusal.id in REWRITTEN)
    rewritten |= any((one.rule == "M8" and "condition" in one.text) or "--fix" in one.fix for one in found.problems)
    fix = [f"pluginkit doctor {model} --fix {fixed}"] if rewritten else []
    return [*fix, *commands(found.unserved)]


def _missing(found: Sequence[MissingOperator]) -> Group:
    rows = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in ("not implemented", "nodes", "where", "can TensorRT's own layers express it?"):
        rows.add_column(title, overflow="fold")
    for one in found:
        answer = one.expressible
        answer += f"\ntoo slowly? {one.slow}" if one.slow else ""
        answer += f"\ntoo long a chain? {one.chain}" if one.chain else ""
        where = f"{shown(one.where)}\n{labels(one.nodes, 3)}"
        rows.add_row(
            Text(shown(one.operator), style="bold red"), str(len(one.nodes)), Text(where), Text(shown(answer, "\n"))
        )
    return Group(Text(), rows)


def _nodes(found: Imported) -> Group:
    rows = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in ("node", "operator", "implemented by"):
        rows.add_column(title, overflow="fold")
    native = 0
    for one in found.implementations:
        native += one.by == "native"
        if one.by != "native" or native <= NATIVE:
            rows.add_row(
                Text(one.place.label), Text(shown(one.place.operator)), Text(shown(one.who), style=_STYLES[one.by])
            )
    count: Counter[str] = Counter(one.by for one in found.implementations)
    parts = [f"{count[by]} {by}" for by in _STYLES if count[by]]
    hidden = native - NATIVE
    more = f" ({hidden} native ones are not shown; --json has all)" if hidden > 0 else ""
    nodes = f"{len(found.implementations)} node{'' if len(found.implementations) == 1 else 's'}"
    line = f"\n{nodes}: {', '.join(parts) or 'none'}{more}. Native is what {found.evaluator} knows."
    lines = [Text(f"{name}: {who}.") for name, who in found.not_in_all.items()]
    return Group(rows, Text(line), *([Text("Not in all parsers:"), *lines] if lines else []))


def _worth(one: TensorClass) -> bool:
    """Of constants everybody knows that they have no shape to compute."""
    return one.shape and one.operator != "Constant"


def _shape_tensors(found: Imported) -> Group:
    """The tensors whose values are shapes, and why; all others are execution tensors."""
    rows = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in ("shape tensor", "of", "also on the GPU", "why"):
        rows.add_column(title, overflow="fold")
    listed = [one for one in found.tensors if _worth(one)]
    for one in listed[:SHAPE_TENSORS]:
        rows.add_row(
            Text(shown(one.name)),
            Text(shown(one.operator) or "input"),
            "yes" if one.execution else "",
            Text(shown(one.rule)),
        )
    more = f"({len(listed) - SHAPE_TENSORS} more; --json has all)" if len(listed) > SHAPE_TENSORS else ""
    return Group(Text(), rows, *([Text(more, style="dim")] if more else []))


def _ending(found: Imported) -> str:
    if found.exit_code:
        return "bold red"
    whole = not found.problems and found.verdict is not None and found.ran.status in {"compared", "ran"}
    return "bold green" if whole else "bold yellow"


def _build(found: Imported) -> Group:
    verdict = found.verdict
    if verdict is None:
        rules = f"by the rules, NVIDIA's parser and builder will give: {found.foreseen}"
        return Group(
            Text.assemble(("\nbuild: ", "bold"), ("not asked", "yellow"), f": {found.not_built}"), Text(f"  {rules}")
        )
    style = "green" if verdict.ok else "bold red"
    head = Text.assemble(("\nbuild by TensorRT-RTX: ", "bold"), (verdict.status, style))
    explained = any(problem.level == "error" and problem.rule in FORESEES for problem in found.problems)
    if verdict.ok:
        head.append(f" in {verdict.seconds:.1f} s; {shown(verdict.message, LINES)}")
    else:
        head.append("; see the errors above. NVIDIA's own message:" if explained else "")
        head.append(f"\n{shown(verdict.message, LINES)}", style="dim" if explained else "")
    lines = [head]
    if (fix := found.build_fix) and not explained:
        lines.append(Text.assemble(("  fix: ", "bold"), fix))
    if not verdict.ok and found.defaulted and not explained:
        lines.append(
            Text(f"  The dynamic dimensions of {shown(', '.join(found.defaulted))} were not given: see below.")
        )
    if not verdict.ok:
        lines += _log_lines("printed", verdict.printed)
    lines += _log_lines("", log_lines(verdict))
    if found.profile:
        for name, points in (*found.profile.shapes.items(), *found.profile.values.items()):
            by = " (found by trying; --profile sets it)" if found.sizes_found else " (default; --profile sets it)"
            by = by if name in found.defaulted else ""
            what = " values" if name in found.profile.values and points is found.profile.values[name] else ""
            low, best, high = ("x".join(map(str, point)) or "scalar" for point in points)
            lines.append(Text(f"  {shown(name)}{what}: min {low}, opt {best}, max {high}{by}", style="dim"))
    return Group(*lines)


def _in_engine(found: EngineOutcome) -> Group:
    """The build and run by TensorRT 8, and where the time goes."""
    style = {"compared": "green", "ran": "yellow", "not asked": "yellow"}.get(found.status, "bold red")
    head = Text.assemble((f"\nin an engine of TensorRT {found.version}: ", "bold"), (found.status, style))
    head.append(f": {shown(found.message, LINES)}")
    lines = [head, *([Text.assemble(("  fix: ", "bold"), found.fix)] if found.fix else [])]
    if not found.layers:
        return Group(*lines)
    whole = sum(one.milliseconds for one in found.layers)
    plugins = sum(one.milliseconds for one in found.layers if one.plugin)
    share = f", of which plugins {plugins:.3f} ms" if any(one.plugin for one in found.layers) else ""
    count = f"{len(found.layers)} layer{'' if len(found.layers) == 1 else 's'}"
    lines.append(
        Text(f"  built in {found.seconds:.1f} s; {count}, {whole:.3f} ms{share} (medians, by TensorRT's profiler)")
    )
    slowest = sorted(found.layers, key=lambda one: -one.milliseconds)
    for one in slowest[:LAYERS]:
        text = f"  {one.milliseconds:8.3f} ms  {shown(one.name)}{' (plugin)' if one.plugin else ''}"
        lines.append(Text(text, style="dim"))
    more = len(slowest) - LAYERS
    return Group(*lines, *([Text(f"  ({more} more; --json has all)", style="dim")] if more > 0 else []))


def _log_lines(who: str, log: Sequence[str]) -> list[Text]:
    """The first of a log's lines."""
    lines = [line for text in dict.fromkeys(log) for line in text.splitlines()]
    before = f"{who}: " if who else ""
    return [Text(f"  | {before}{shown(line, LINES)}", style="dim") for line in lines[: messages.LOG_LINES]]


def _ran(found: Imported) -> Group:
    ran = found.ran
    style = {"compared": "green", "ran": "yellow", "not run": "yellow"}.get(ran.status, "bold red")
    alone = not any(one.by == "plugin" for one in found.implementations)
    what = "run on the CPU, by onnxruntime" if alone else "run on the CPU, against onnxruntime and reference.py"
    what = f"run on the CPU, against {shown(ran.against)}: " if ran.against else f"{what}: "
    what = what.replace("on the CPU", f"on the CPU with {' and then with '.join(ran.checks)}") if ran.checks else what
    lines = [
        Text.assemble(
            ("\n" + what, "bold"), (ran.status, style), f": {shown(ran.message, LINES)}" if ran.message else ""
        )
    ]
    if ran.remedy:
        fix = f"{ran.remedy[0].upper()}{ran.remedy[1:].removesuffix('.')}."
        lines.append(Text.assemble(("  fix: ", "bold"), shown(fix, LINES)))
    lines += _log_lines("", ran.log)
    lines += [Text(f"  {shown(line)}", style="dim") for line in ran.drawn]
    for output in ran.outputs:
        line = f"  {shown(output.name)}: largest error {table.number(output.error, output.unit)}"
        lines.append(Text(f"{line}, allowed {table.number(output.allowed, output.unit)}", style="dim"))
    return Group(*lines)
