"""`pluginkit adopt`."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from pluginkit.adoption.adopting import Adopted, adopt
from pluginkit.adoption.answers import PluginAnswers
from pluginkit.adoption.draft import DATA
from pluginkit.cli import progress, terminal
from pluginkit.manifest import FILE_NAME
from pluginkit.manifest.mistakes import FILL_IN


@click.command("adopt")
@click.argument("library", type=click.Path(path_type=Path), metavar="LIB.so")
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=".",
    help="Output folder. Default: the current folder.",
)
@click.option(
    "--creator",
    "creators",
    multiple=True,
    metavar="NAME[:VERSION]",
    help="Only this plugin of the library. May be repeated.",
)
@click.option(
    "--model",
    type=click.Path(path_type=Path),
    metavar="MODEL.onnx",
    help="Take field values, ranks, sizes and constant inputs from this model's nodes.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(1),
    default=60.0,
    show_default=True,
    help="Seconds before a call is reported as hung.",
)
def command(library: Path, folder: Path, creators: tuple[str, ...], model: Path | None, timeout: float) -> None:
    """Draft pluginkit.toml and reference.py for the plugins in LIB.so, a library of another build.

    Worker processes query the library: its creators and fields, the number of inputs and outputs, their types, formats
    and ranks, and the output shapes. What cannot be determined is marked in the draft. Existing files are not
    overwritten.
    """
    console = terminal.console()
    with progress.spinner("loading the library", console, elapsed=True) as step:
        found = adopt(library, folder, wanted=creators, model=model, timeout=timeout, step=step)
    _show(found, folder)


def _show(found: Adopted, folder: Path) -> None:
    fill_in = 0
    for one in found.plugins:
        draft, place = one.draft, _shown(one.folder)
        fill_in += draft.fill_in
        click.echo(f"{one.creator.name} {one.creator.version}: {one.base or 'base unknown'}, {_counts(one.answers)}")
        data = f", and {DATA}: the model's constants" if (one.folder / DATA).exists() else ""
        click.echo(f"  wrote {Path(place) / FILE_NAME} and reference.py{data}")
        for number, line in enumerate(draft.manifest.splitlines(), 1):
            _, mark, what = line.partition(FILL_IN)
            if mark:
                click.echo(f"  line {number}, to fill in: {what.strip()}")
        if draft.check:
            click.echo(f"  {draft.check} line{'s' * (draft.check > 1)} to check, marked '# check:'")
    for text in found.left_out:
        click.echo(f"Left out: {text}")
    click.echo("\nNext:")
    where = _shown(folder)
    if fill_in:
        click.echo("  fill in the lines above")
    click.echo("  say in reference.py what the layer computes")
    click.echo(f"  pluginkit test{'' if where == '.' else ' ' + shlex.quote(where)}")


def _counts(answers: PluginAnswers) -> str:
    if not answers.taken:
        return "inputs unknown"
    counts = " or ".join(str(len(one.ranks)) for one in answers.taken)
    return f"inputs: {counts}, outputs: {answers.outputs}"


def _shown(path: Path) -> str:
    """From here, unless that would go up."""
    path = path.resolve()
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
