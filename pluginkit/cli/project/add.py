"""`pluginkit add`: parse, call `pluginkit.scaffold.add`, print what was made and changed, and what comes next."""

from __future__ import annotations

from pathlib import Path

import click

from pluginkit import scaffold
from pluginkit.bases import BASES
from pluginkit.cli import signature
from pluginkit.cli.project.new import begins, tree, warn
from pluginkit.manifest import Manifest
from pluginkit.scaffold.kernels.patterns import chosen


@click.command("add")
@click.argument("name")
@click.option(
    "--project",
    type=click.Path(path_type=Path, file_okay=False),
    default=".",
    metavar="FOLDER",
    help="Project folder. Default: the current folder.",
)
@signature.options
def command(
    *,
    name: str,
    project: Path,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    fields: tuple[str, ...],
    no_fields: bool,
    formats: tuple[str, ...],
    workspace: str,
    kernel: str,
    namespace: str,
    version: str,
    base: str,
) -> None:
    """Add a plugin to a project's library. NAME is the C++ class, for example MyPlugin.

    The plugin gets a folder in plugins/; CMakeLists.txt and the library's source get the lines that build and list it.
    The options are those of `pluginkit new`; the base may differ from that of the project's other plugins.
    """
    done = scaffold.add(
        name,
        project=project,
        inputs=inputs,
        outputs=outputs,
        fields=signature.fields(fields, no_fields=no_fields),
        namespace=namespace,
        version=version,
        base=base,
        formats=formats,
        workspace=workspace,
        kernel=kernel,
    )
    click.echo(f"Made {done.folder.relative_to(done.project)}/")
    for line in tree(done.folder, "  "):
        click.echo(line)
    manifest = Manifest.load(done.folder)
    begins(chosen(manifest, kernel), manifest)
    for path in done.changed:
        click.echo(f"Changed {path.relative_to(done.project)}")
    click.echo("\nNext:")
    click.echo("  pluginkit build")
    click.echo(f"  pluginkit test        # every plugin; {name} alone: --only '{name}/*'")
    warn(manifest.plugin)
    if advice := BASES[manifest.plugin.base].advice:
        click.echo(f"\nNote: {advice}")
