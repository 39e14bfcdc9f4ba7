"""`pluginkit info`."""

from __future__ import annotations

import json

import click
from rich import box
from rich.table import Table
from rich.text import Text

from pluginkit import installation
from pluginkit.cli import terminal
from pluginkit.info import EXTRAS, SurveyItem, as_json, survey

_TITLES = {
    "tools": "Tools",
    "headers": "Headers",
    "runtimes": "Runtimes: what tests plugins",
    "packages": "Python packages",
    "gpus": "GPUs",
}


@click.command("info")
@click.option("--json", "machine", is_flag=True, help="Print the result as JSON.")
def command(machine: bool) -> None:
    """Show all tools, headers, runtimes and GPUs found: path, version, and (*) which one is used."""
    items = survey()
    if machine:
        click.echo(json.dumps(as_json(items), indent=2))
        return
    console = terminal.console()
    for group, title in _TITLES.items():
        console.print(_table(title, [item for item in items if item.group == group]))
    _commands("What is missing, or in the way", {one.name: one.remedy for one in items if one.remedy and not one.used})
    extras = {name: f"{sentence}\n  {installation.extra(name)}" for name, sentence in EXTRAS.items()}
    _commands("Optional parts", extras)


def _commands(title: str, rows: dict[str, str]) -> None:
    """Rows with commands to copy: no table, which would wrap them."""
    console = terminal.console()
    console.print(Text(title, style="bold"))
    for name, text in rows.items():
        console.print(Text.assemble((name, "bold"), f": {text}"))
    console.print()


def _empty(title: str, *columns: str) -> Table:
    return Table(*columns, title=Text(title, style="bold"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)


def _table(title: str, items: list[SurveyItem]) -> Table:
    table = _empty(title, "", "what", "version", "where, and what to know")
    for item in items:
        mark = Text("*", style="green") if item.used else Text("-" if item.found else "!", style="dim")
        version = Text(item.version) if item.found else Text(item.version or "not found", style="yellow")
        details = "\n".join(filter(None, [item.where, item.note]))
        table.add_row(mark, Text(item.name), version, Text(details, overflow="fold"))
    return table
