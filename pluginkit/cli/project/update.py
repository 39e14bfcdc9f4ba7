"""`pluginkit update`: parse, call `pluginkit.scaffold.update`, print what changed and what comes next."""

from __future__ import annotations

from pathlib import Path

import click
from rich import box
from rich.table import Table
from rich.text import Text

from pluginkit import scaffold
from pluginkit.cli import terminal
from pluginkit.errors import CheckFailed
from pluginkit.paths import __version__
from pluginkit.scaffold.generated import FILE_NAME
from pluginkit.scaffold.update import Change, Update

_STYLES = {"conflict": "bold red", "left out": "yellow", "kept": "yellow"}
_MEANS = {
    "updated": "you had not edited it",
    "added": "new",
    "merged": "your edits and the template's",
    "removed": "the template has it no more, and you had not edited it",
    "kept": "the template has it no more; you have edited it, so it stays",
    "left out": "you have removed it, so it stays away",
}


@click.command("update")
@click.argument("project", type=click.Path(path_type=Path), default=".")
@click.option("--dry-run", is_flag=True, help="Show the changes without writing.")
@click.option("--check", is_flag=True, help="Like --dry-run; exit code 1 if anything would change.")
def command(project: Path, *, dry_run: bool, check: bool) -> int:
    """Update PROJECT (default: the current folder) and its added plugins to what `pluginkit new` writes today.

    Your edits are kept. Where pluginkit has changed the same lines, the file contains both between conflict markers, as
    in git. A copy of each changed file is kept as *.orig. pluginkit.toml is not changed.

    Exit code 0 if the project is up to date, 1 if there are conflicts to resolve.
    """
    writes = not (dry_run or check)
    done = scaffold.update(project, dry_run=not writes)
    console = terminal.console()
    for folder in done.worked_out:
        where = (folder / FILE_NAME).relative_to(done.project)
        click.echo(f"{where} isn't there: what pluginkit had written is worked out from pluginkit.toml.")
    if not done.changes and not done.worked_out and not done.unresolved:
        click.echo(f"{done.project} is up to date with pluginkit {__version__}.")
        return 0
    if done.changes:
        console.print(_table(done, writes=writes))
    click.echo(f"{done.same} file{' stays as it is' if done.same == 1 else 's stay as they are'}.")
    for path, line in done.unresolved:
        click.echo(f"Not resolved yet: {path.relative_to(done.project)}:{line}")
    if not writes:
        click.echo("Nothing was written." + (" pluginkit update does it." if done.changes or done.worked_out else ""))
        changes = done.changes or done.worked_out or done.unresolved
        return CheckFailed.exit_code if check and changes else 0
    click.echo("\nNext:")
    if done.conflicts or done.unresolved:
        click.echo(
            "  Resolve the conflicts: choose between the lines after <<<<<<< and after =======, remove the marks."
        )
    click.echo("  pluginkit build\n  pluginkit test")
    return CheckFailed.exit_code if done.conflicts or done.unresolved else 0


def _table(done: Update, *, writes: bool) -> Table:
    rows = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in ("file", "", "what"):
        rows.add_column(title, overflow="fold")
    for change in done.changes:
        name = str(change.path.relative_to(done.project))
        rows.add_row(
            Text(name), Text(change.what, style=_STYLES.get(change.what, "green")), Text(_description(change, writes))
        )
    return rows


def _description(change: Change, writes: bool) -> str:
    text = _MEANS.get(change.what, "")
    if change.conflicts:
        lines = ", ".join(f"{first}-{last}" for first, last in change.conflicts)
        text = f"lines {lines}"
    if change.kept is not None:
        text += f"; {'yours is kept' if writes else 'yours would be kept'} as {change.kept.name}"
    return text
