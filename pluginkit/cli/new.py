"""`pluginkit new`: parse, call `pluginkit.scaffold.new`, say what was made and what comes next."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from pluginkit import scaffold
from pluginkit.dtypes import DType
from pluginkit.errors import UsageError
from pluginkit.manifest import Manifest


@click.command("new")
@click.argument("name")
@click.option(
    "--dir", "directory", type=click.Path(path_type=Path, file_okay=False), help="Where to make the project's folder."
)
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="NAME:TYPES:SHAPE",
    help="An input, as x:float32,float16,int8:n,c,h,w (the default). May be repeated.",
)
@click.option(
    "--output",
    "outputs",
    multiple=True,
    metavar="NAME:TYPES:SHAPE",
    help="An output; its shape may compute: y:float32:n + m,c. Default: one y like the first input.",
)
@click.option(
    "--field",
    "fields",
    multiple=True,
    metavar="NAME:TYPE=DEFAULT",
    help="A field (float32 or int32), as alpha:float32=0.5 (the default); without =DEFAULT it must be given.",
)
@click.option("--no-fields", is_flag=True, help="No fields but the INT8 scales.")
@click.option(
    "--format",
    "formats",
    multiple=True,
    metavar="FORMAT",
    help="A tensor format beside linear, as chw32 or hwc8, for the tensors that can have it. May be repeated.",
)
@click.option("--namespace", default="", help="TensorRT plugin namespace.")
@click.option("--version", "--plugin-version", "version", default="1", show_default=True, help="The plugin's version.")
@click.option("--base", default="dynamic", show_default=True, help="The interface: dynamic is IPluginV2DynamicExt.")
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
    they may be computed with: + - * // ceil_div(a, b) min(a, b) max(a, b).
    """
    if fields and no_fields:
        raise UsageError("--field and --no-fields contradict each other.", hint="Leave one of them out.")
    project = scaffold.new(
        name,
        directory=directory,
        inputs=inputs,
        outputs=outputs,
        fields=fields or ([] if no_fields else None),
        namespace=namespace,
        version=version,
        base=base,
        formats=formats,
    )
    shown = project.relative_to(Path.cwd()) if project.is_relative_to(Path.cwd()) else project
    precisions = Manifest.load(project).precisions()
    click.echo(f"Made {shown}/")
    for line in _tree(project, "  "):
        click.echo(line)
    click.echo("\nNext:")
    click.echo(f"  cd {shlex.quote(str(shown))}")
    click.echo("  pluginkit build")
    click.echo(f"  pluginkit test{' --int8' if DType.INT8 in precisions else ''}")


def _tree(folder: Path, indent: str) -> list[str]:
    lines = []
    for path in sorted(folder.iterdir(), key=lambda path: (path.is_file(), path.name)):
        lines.append(f"{indent}{path.name}{'/' if path.is_dir() else ''}")
        lines += _tree(path, indent + "  ") if path.is_dir() else []
    return lines
