"""`pluginkit build`."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console

from pluginkit.build import Artifact, build
from pluginkit.build.output import PROGRESS
from pluginkit.cli import progress


@click.command("build")
@click.argument("project", type=click.Path(path_type=Path), default=".")
@click.option("--target", type=click.Choice(["auto", "cpu", "gpu"]), default="auto", show_default=True,
              help="cpu: the kernels run on the host; gpu: nvcc; auto: cpu, and gpu where nvcc is found.")  # fmt: skip
@click.option(
    "--arch",
    "archs",
    multiple=True,
    metavar="SM",
    help="GPU architecture for target gpu: 90, '80;90', native (this machine's GPUs) or all-major; may be repeated. "
    "Default: native, and where there is no GPU a common set.",
)
@click.option("--werror", is_flag=True, help="Warnings in the project's sources are errors.")
@click.option("--json", "as_json", is_flag=True, help="Print what was built as JSON.")
def command(project: Path, target: str, archs: tuple[str, ...], werror: bool, as_json: bool) -> None:
    """Build PROJECT's plugin library and its Python module (default: the current folder).

    What has not changed is not compiled again.
    """
    console = Console(stderr=as_json)
    with progress.spinner("configuring", console, elapsed=True) as step:

        def show(line: str) -> None:
            if PROGRESS.match(line):
                step(line)
            else:
                console.print(line, markup=False, highlight=False, soft_wrap=True)

        made = build(project, target, archs=archs, werror=werror, python=True, progress=show)
    if as_json:
        click.echo(
            json.dumps(
                [
                    {
                        "library": str(one.library),
                        "module": str(one.module) if one.module else None,
                        **one.info,
                        "fresh": one.fresh,
                    }
                    for one in made
                ],
                indent=2,
            )
        )
        return
    for one in made:
        console.print(_sentence(one), soft_wrap=True, highlight=False)
        if one.module is not None:
            name = one.module.name.split(".")[0]
            console.print(f"Python: import {name}, from {_shown(one.module.parent)}", soft_wrap=True, highlight=False)
    if any(one.target == "cpu" for one in made):
        console.print("Next: pluginkit test", highlight=False)


def _sentence(artifact: Artifact) -> str:
    library = artifact.library
    size = f"{int(artifact.info['size']) / 1024:.0f} KiB"
    headers = {layout: facts["headers"] for layout, facts in artifact.info["layouts"].items()}
    layouts = ", ".join(
        f"TensorRT {layout} ({'own headers' if h == 'pluginkit' else h})" for layout, h in headers.items()
    )
    if not layouts:
        return f"Found {_shown(library)} (target {artifact.target}; {size}; sha256 {artifact.info['sha256'][:12]})"
    archs = artifact.info.get("architectures")
    what = f"target gpu, SM {', '.join(archs)}" if archs else f"target {artifact.target}"
    state = "Built" if artifact.fresh else "Up to date:"
    return f"{state} {_shown(library)} ({what}; {size}; sha256 {artifact.info['sha256'][:12]}; {layouts})"


def _shown(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
