"""`pluginkit networks`."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich import box
from rich.table import Table
from rich.text import Text

from pluginkit.cli import terminal
from pluginkit.errors import UsageError
from pluginkit.manifest import FILE_NAME, Manifest
from pluginkit.testing import onnx_export
from pluginkit.testing.families import FAMILIES
from pluginkit.testing.families.selection import Offered, called, choose, offered


@click.command("networks")
@click.option(
    "--project",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Show which networks support this project's plugin. Default: the current folder, if it is a project.",
)
@click.option(
    "--network",
    "names",
    multiple=True,
    metavar="NAME",
    help="Only this network, or all of a kind (for example loop). May be repeated.",
)
@click.option(
    "--save", type=click.Path(path_type=Path), metavar="DIR", help="Write the project's networks to DIR as ONNX models."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(project: Path | None, names: tuple[str, ...], save: Path | None, as_json: bool) -> None:
    """List the test networks, with one sentence each, or write them as ONNX models."""
    here = project or (Path() if (Path() / FILE_NAME).exists() else None)
    manifest = Manifest.load(here) if here else None
    rows = offered(manifest) if manifest else [Offered(family, "") for family in FAMILIES.values()]
    if names:
        chosen = choose(manifest, names) if manifest else [family for name in names for family in called(name)]
        rows = [row for row in rows if row.family in chosen]
    written: list[Path] = []
    if save is not None:
        if manifest is None:
            raise UsageError(
                "--save needs a plugin's signature, and there is no project in this folder.",
                hint="Go to a plugin project's folder, or name one: --project FOLDER",
            )
        written = onnx_export.save(manifest, [row.family for row in rows if not row.refusal], save)
    if as_json:
        click.echo(json.dumps([_json(row, known=manifest is not None) for row in rows], indent=2))
        return
    console = terminal.console()
    console.print(_table(rows, manifest))
    if written:
        console.print(f"{len(written)} models written to {save}")


def _json(row: Offered, *, known: bool) -> dict[str, object]:
    family = row.family
    found: dict[str, object] = {
        "name": family.NAME,
        "description": family.DESCRIPTION,
        "made_by": "API" if family.BY_API else "ONNX",
        "layers": list(family.LAYERS),
    }
    return {**found, "applicable": not row.refusal, "why_not": row.refusal} if known else found


def _table(rows: list[Offered], manifest: Manifest | None) -> Table:
    title = f"Networks for {manifest.plugin.name}" if manifest else "Networks"
    found = Table(title=Text(title, style="bold"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    found.add_column("network", no_wrap=True)
    found.add_column("made by")
    found.add_column("what it is", overflow="fold")
    if manifest:
        found.add_column("holds it")
    for row in rows:
        family = row.family
        cells = [Text(family.NAME), Text("NVIDIA's API" if family.BY_API else "ONNX"), Text(family.DESCRIPTION)]
        if manifest:
            no = Text(f"no: {row.refusal}", style="yellow", overflow="fold")
            cells.append(no if row.refusal else Text("yes", style="green"))
        found.add_row(*cells)
    return found
