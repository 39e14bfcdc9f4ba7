"""`pluginkit new`: parse, call `pluginkit.scaffold.new`, print what was made and what comes next."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from pluginkit import parser_operators, scaffold
from pluginkit.bases import BASES
from pluginkit.cli import signature
from pluginkit.dtypes import DType
from pluginkit.manifest import Manifest


@click.command("new")
@click.argument("name")
@click.option(
    "--dir", "directory", type=click.Path(path_type=Path, file_okay=False), help="Where to make the project's folder."
)
@signature.options
def command(
    *,
    name: str,
    directory: Path | None,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    fields: tuple[str, ...],
    no_fields: bool,
    formats: tuple[str, ...],
    namespace: str,
    version: str,
    base: str,
) -> None:
    """Write a new plugin project: NAME is the C++ class, as MyPlugin.

    TYPES are float32, float16, bfloat16, int8 and int32; SHAPE is symbols and numbers, as n,c,3. In an output's shape
    they may be computed with, and with integer fields: + - * // ceil_div(a, b) min(a, b) max(a, b) broadcast(a, b). A
    field may choose: h if keepdims else 1, and 1 if keepdims, which without it is no dimension.
    """
    project = scaffold.new(
        name,
        directory=directory,
        inputs=inputs,
        outputs=outputs,
        fields=signature.fields(fields, no_fields=no_fields),
        namespace=namespace,
        version=version,
        base=base,
        formats=formats,
    )
    shown = project.relative_to(Path.cwd()) if project.is_relative_to(Path.cwd()) else project
    manifest = Manifest.load(project)
    click.echo(f"Made {shown}/")
    for line in tree(project, "  "):
        click.echo(line)
    click.echo("\nNext:")
    click.echo(f"  cd {shlex.quote(str(shown))}")
    click.echo("  pluginkit build")
    click.echo(f"  pluginkit test{' --int8' if DType.INT8 in manifest.precisions() else ''}")
    warn(name)
    if advice := BASES[manifest.plugin.base].advice:
        click.echo(f"\nNote: {advice}")


def warn(name: str) -> None:
    """Say on stderr what is unlucky about a plugin's name, if anything is."""
    if advice := parser_operators.advice(name):
        click.echo(f"\nWarning: {advice}", err=True)


def tree(folder: Path, indent: str) -> list[str]:
    """The folder's files as lines, folders first."""
    lines = []
    for path in sorted(folder.iterdir(), key=lambda path: (path.is_file(), path.name)):
        lines.append(f"{indent}{path.name}{'/' if path.is_dir() else ''}")
        lines += tree(path, indent + "  ") if path.is_dir() else []
    return lines
