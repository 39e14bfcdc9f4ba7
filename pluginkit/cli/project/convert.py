"""`pluginkit convert`: parse, call `pluginkit.scaffold.convert`, print what changed and what comes next."""

from __future__ import annotations

from pathlib import Path

import click

from pluginkit import scaffold
from pluginkit.bases import written
from pluginkit.manifest import Manifest


@click.command("convert")
@click.argument("project", type=click.Path(path_type=Path), default=".")
@click.option("--to", "base", required=True, metavar="BASE", help="Target: dynamic, ioext, v3, or dynamic,v3.")
def command(project: Path, base: str) -> None:
    """Make PROJECT's layer (default: the current folder) a plugin of another interface.

    That is the word `base` of pluginkit.toml. Methods that its class overrides are of the old interface: the next build
    says which. Engines must be built again.
    """
    file = scaffold.convert(project, base)
    plugin = Manifest.load(file).plugin
    click.echo(f"{file} has base = {written(plugin.interfaces)} now: {plugin.name} is an {plugin.shown}.")
    click.echo("Next: pluginkit test")
