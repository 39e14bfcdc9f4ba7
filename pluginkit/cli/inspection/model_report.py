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

from pluginkit.cli import table
from pluginkit.cli.inspection.inspect import problems
from pluginkit.importing import Imported
from pluginkit.importing.building import advice, log_lines
from pluginkit.importing.rules.table import FORESEES
from pluginkit.importing.shape_tensors import TensorClass
from pluginkit.importing.unserved import UnservedOperator, commands, labels
from pluginkit.process.escapes import quoted, shown
from pluginkit.run import messages
from pluginkit.runtimes.rtx import refusals

F = TypeVar("F", bound=Callable[..., Any])

SHAPE_TENSORS = 8
"""So many shape tensors are shown."""
NATIVE = 12
"""So many nodes that NVIDIA's parser serves itself are shown; all others are."""
REWRITTEN = ("loop-in-if", "if-in-if", "size-in-loop", "size-in-flow")
"""Refusals of NVIDIA's builder (`runtimes/rtx/refusals.py`) for which --fix has a rewrite."""
LINES = "\n\t"
"""What a message of several lines keeps of its control characters."""
_STYLES = {"native": "dim", "plugin": "green", "function": "cyan", "nobody": "bold red"}
_OPTIONS = (
    click.option(
        "--profile",
        "profiles",
        multiple=True,
        metavar="NAME:SHAPES",
        help="An input's shapes: x:min=1x3x8x8,opt=4x3x8x8,max=8x3x8x8, or x:4x3x8x8 for all three. Default of an "
        "open dimension: 1, 4, 16; if NVIDIA's builder refuses these, the least sizes that onnxruntime runs.",
    ),
    click.option(
        "--seed", type=click.IntRange(0), default=0, show_default=True, help="What the run's inputs follow from."
    ),
    click.option(
        "--timeout", type=click.FloatRange(1), default=60.0, show_default=True, help="Seconds until a step is given up."
    ),
    click.option("--strict", is_flag=True, help="Exit code 1 for warnings too, and for what was not built or not run."),
    click.option("--html", type=click.Path(path_type=Path, dir_okay=False), help="Write the report as a page too."),
    click.option("--json", "as_json", is_flag=True, help="Print it as JSON."),
)


def options(command: F) -> F:
    """Decorate a command's function with the options of both commands."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def opened(*, as_json: bool) -> Console:
    """The console of the report: stderr, where the result itself is JSON."""
    return table.console(stderr=as_json)


def show(found: Imported, console: Console, title: str = "") -> None:
    """Print a model's report, below its title where there are several."""
    if title:
        console.print(Text(f"\n{shown(title)}", style="bold"))
    console.print(_nodes(found))
    if found.unserved:
        console.print(_unserved(found.unserved))
    if any(_worth(one) for one in found.tensors):
        console.print(_shape_tensors(found))
    # That nothing at all is wrong is for the build and the run to say.
    console.print(problems(found.problems) if found.problems else Text("\nNo rule is broken.", style="green"))
    console.print(_build(found))
    console.print(_ran(found))
    if commands := following(found):
        # One line each, to be copied.
        console.print(Text("\nNext:", style="bold"))
        for line in commands:
            console.print(Text(f"  {line}"), soft_wrap=True)
    # One line in a log too.
    console.print(Text(f"\n{found.last_line}", style=_ending(found)), soft_wrap=True)


def following(found: Imported) -> list[str]:
    """The commands to type next, for unserved operators; what one lacks is a line that begins with #."""
    model = quoted(str(found.model))
    fixed = quoted(str(found.model.with_name(f"{found.model.stem}-fixed.onnx")))
    refusal = refusals.recognise(found.verdict) if found.verdict else None
    rewritten = any(one.rewrite for one in found.unserved) or (refusal is not None and refusal.id in REWRITTEN)
    rewritten |= any(one.rule == "M8" and "condition" in one.text for one in found.problems)
    fix = [f"pluginkit doctor {model} --fix {fixed}"] if rewritten else []
    return [*fix, *commands(found.unserved)]


def _unserved(found: Sequence[UnservedOperator]) -> Group:
    rows = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in ("served by nobody", "nodes", "where", "can TensorRT's own layers express it?"):
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
    for title in ("node", "operator", "served by"):
        rows.add_column(title, overflow="fold")
    native = 0
    for one in found.served:
        native += one.by == "native"
        if one.by != "native" or native <= NATIVE:
            rows.add_row(
                Text(one.place.label), Text(shown(one.place.operator)), Text(shown(one.who), style=_STYLES[one.by])
            )
    count: Counter[str] = Counter(one.by for one in found.served)
    parts = [f"{count[by]} {by}" for by in _STYLES if count[by]]
    hidden = native - NATIVE
    more = f" ({hidden} native ones are not shown; --json has all)" if hidden > 0 else ""
    nodes = f"{len(found.served)} node{'' if len(found.served) == 1 else 's'}"
    line = f"\n{nodes}: {', '.join(parts) or 'none'}{more}. Native is what {found.judge} knows."
    return Group(rows, Text(line))


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
    if (fix := advice(verdict)) and not explained:
        lines.append(Text.assemble(("  fix: ", "bold"), fix))
    if not verdict.ok and found.defaulted and not explained:
        lines.append(Text(f"  Nobody gave the open dimensions of {shown(', '.join(found.defaulted))}: see below."))
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


def _log_lines(who: str, log: Sequence[str]) -> list[Text]:
    """The first of a log's lines."""
    lines = [line for text in dict.fromkeys(log) for line in text.splitlines()]
    before = f"{who}: " if who else ""
    return [Text(f"  | {before}{shown(line, LINES)}", style="dim") for line in lines[: messages.LOG_LINES]]


def _ran(found: Imported) -> Group:
    ran = found.ran
    style = {"compared": "green", "ran": "yellow", "not run": "yellow"}.get(ran.status, "bold red")
    alone = not any(one.by == "plugin" for one in found.served)
    what = "run on the CPU, by onnxruntime" if alone else "run on the CPU, against onnxruntime and reference.py"
    what = f"run on the CPU, against {shown(ran.against)}: " if ran.against else f"{what}: "
    what = what.replace("on the CPU", f"on the CPU with {' and then with '.join(ran.checks)}") if ran.checks else what
    lines = [
        Text.assemble(
            ("\n" + what, "bold"), (ran.status, style), f": {shown(ran.message, LINES)}" if ran.message else ""
        )
    ]
    if ran.remedy:
        lines.append(Text.assemble(("  fix: ", "bold"), shown(f"{ran.remedy[0].upper()}{ran.remedy[1:]}.", LINES)))
    lines += _log_lines("", ran.log)
    lines += [Text(f"  {shown(line)}", style="dim") for line in ran.drawn]
    for output in ran.outputs:
        line = f"  {shown(output.name)}: largest error {table.number(output.error, output.unit)}"
        lines.append(Text(f"{line}, allowed {table.number(output.allowed, output.unit)}", style="dim"))
    return Group(*lines)
