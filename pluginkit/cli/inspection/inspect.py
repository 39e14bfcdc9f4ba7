"""`pluginkit inspect`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import click
from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from pluginkit.api.libraries import inspect
from pluginkit.cli import terminal
from pluginkit.creators.loading import Loaded
from pluginkit.demands import both
from pluginkit.library import Inspection, Problem
from pluginkit.process.escapes import shown

_STYLES = {"loaded": "green", "refused": "yellow", "crashed": "bold red", "hung": "bold red", "missing": "dim"}

EXPORTS = 16
"""How many exported names are shown."""
NODES = 4
"""So many nodes with one problem are named."""


@click.command("inspect")
@click.argument("library", type=click.Path(path_type=Path), metavar="LIB.so")
@click.option(
    "--load", "loading", is_flag=True, help="Also load the library in every available host, in worker processes."
)
@click.option(
    "--timeout",
    type=click.FloatRange(1),
    default=60.0,
    show_default=True,
    help="Seconds before a call is reported as hung.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(library: Path, loading: bool, timeout: float, as_json: bool) -> int:
    """Show the contents of LIB.so: exports, needed libraries, GPU code, manifest; with --load creators and fields.

    Exit code 0 if there is nothing worse than warnings, 1 if hosts cannot use the library, 6 if loading it crashes or
    hangs.
    """
    found = inspect(library, load=loading, timeout=timeout)
    if as_json:
        click.echo(json.dumps(found.to_json(), indent=2))
    else:
        console = terminal.console()
        console.print(_facts(found))
        for one in found.loaded or ():
            console.print(_loaded(one))
        console.print(problems(found.problems))
    return found.exit_code


def _facts(found: Inspection) -> Table:
    rows = Table(box=None, show_header=False, pad_edge=False, title=Text(str(found.path), style="bold"))
    rows.title_justify = "left"
    rows.add_column(style="dim", no_wrap=True)
    rows.add_column(overflow="fold")
    build = found.record
    facts = {
        "target": found.target if found.target != "unknown" else "unknown: no GPU code, and not built for target cpu",
        "size": f"{found.size / 1024:.0f} KiB",
        "sha256": found.sha256,
        "layouts": ", ".join(f"TensorRT {one}" for one in found.layouts) or "not known without its build's JSON file",
        "compiler": found.compiler or "not known",
        "exports": _exports(found),
        "needs": "\n".join(f"{one.name} -> {one.path or 'not found'}" for one in found.linkage.needed) or "nothing",
        "rpath": ":".join(found.elf.runpath),
        "GPU code": ", ".join(map(str, found.gpu.codes)) if found.gpu else "",
        "manifest": "" if build is None else f"{build.path} ({'the same hash' if build.same else 'of another file'})",
    }
    for name, text in facts.items():
        if text:
            rows.add_row(name, Text(text))
    return rows


def _exports(found: Inspection) -> str:
    names = sorted(found.exports.items(), key=lambda item: (not item[1], item[0]))
    lines = [f"{name}  ({whom})" if whom else name for name, whom in names[:EXPORTS]]
    more = len(names) - len(lines)
    return "\n".join([*lines, f"... and {more} more; --json has them all"] if more else lines) or "none"


def _loaded(one: Loaded) -> Group:
    name = f"{one.runtime} {one.version}".strip()
    head = Text.assemble(("\n" + name, "bold"), ": ", (one.status, _STYLES[one.status]))
    lines = [Text(f"  {line}") for line in one.message.splitlines()]
    if not one.creators:
        return Group(head, *lines)
    rows = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in ("creator", "version", "namespace", "kind", "base", "interface", "fields (name: type × length)"):
        rows.add_column(title, overflow="fold")
    for creator in one.creators:
        fields = "\n".join(f"{field.name}: {field.type} × {field.length}" for field in creator.fields)
        identity = (creator.name, creator.version, f"'{creator.namespace}'")
        cells = (*identity, creator.kind, creator.base or "?", creator.interface, fields or "none")
        rows.add_row(*(Text(cell) for cell in cells))
    return Group(head, *lines, rows)


def _nodes(nodes: list[str]) -> str:
    """The nodes that have a problem, for the beginning of a line."""
    if not nodes:
        return ""
    more = f" and {len(nodes) - NODES} more" if len(nodes) > NODES else ""
    return f"node{'s' if len(nodes) > 1 else ''} {', '.join(nodes[:NODES])}{more}: "


def problems(found: tuple[Problem, ...]) -> Group:
    """The problems, each with its fix, once for all nodes that have it; a line that there are none."""
    if not found:
        return Group(Text("\nNothing wrong found.", style="green"))
    lines = []
    alike: dict[Problem, list[str]] = {}
    for one in found:
        alike.setdefault(replace(one, node=""), []).append(one.node)
    for one, nodes in alike.items():
        style = "bold red" if one.level == "error" else "bold yellow"
        where = shown(_nodes(list(filter(None, nodes))))
        rule = f" [{both(one.rule)}]" if one.rule else ""
        lines.append(Text.assemble((f"\n{one.level}{rule}: ", style), where, shown(one.text, "\n")))
        if one.fix:
            lines.append(Text.assemble(("  fix: ", "bold"), shown(one.fix, "\n")))
    return Group(*lines)
