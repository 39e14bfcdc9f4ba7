"""`pluginkit convert`: parse, call `pluginkit.scaffold.convert`, print what changed and what comes next."""

from __future__ import annotations

from pathlib import Path

import click

from pluginkit import scaffold


@click.command("convert")
@click.argument("project", type=click.Path(path_type=Path), default=".")
@click.option("--to", "base", required=True, metavar="BASE", help="Target interface: v3 (IPluginV3).")
@click.option("--dry-run", is_flag=True, help="Show the changes as a patch without writing.")
@click.option("--force", is_flag=True, help="Also convert a class that was edited by hand; the old files are kept.")
def command(project: Path, base: str, *, dry_run: bool, force: bool) -> None:
    """Convert PROJECT's plugin (default: the current folder) to IPluginV3.

    The kernel, the reference, the fields and the plugin's name, version and namespace do not change. The new class also
    reads what the old class serialized into TensorRT-RTX engines. Engines of TensorRT 10 and 11 must be rebuilt, or
    need the library that they were built with.
    """
    done = scaffold.convert(project, base, force=force, dry_run=dry_run)
    if dry_run:
        click.echo(done.patch(), nl=False)
        if done.edited:
            click.echo("\nThe class was edited by hand. This is what the new one would lack:\n")
            click.echo(done.edited, nl=False)
        return
    for path in done.changed:
        click.echo(f"changed  {path.relative_to(done.project)}")
    for path in done.kept.values():
        click.echo(f"kept     {path.relative_to(done.project)}: what you had changed is to be carried over from there")
    click.echo("\nNext:\n  pluginkit build\n  pluginkit test")
    click.echo("Engines that TensorRT 10 or 11 has built with the old class need the old library, or must be rebuilt.")
