"""`pluginkit history`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pluginkit.cli import terminal
from pluginkit.cli.report_files import check_writable, json_option
from pluginkit.history import BeganToFail, History, Slower, began_to_fail, slower
from pluginkit.history.store import PastResult
from pluginkit.history.trends import BEFORE, RECENT
from pluginkit.process import files


@click.command("history")
@click.argument("folder", type=click.Path(path_type=Path))
@json_option
def command(folder: Path, json_file: Path | None) -> int:
    """Show new failures and slower cases in the runs recorded by `pluginkit test --history FOLDER`.

    A case is slower if its last three runs on a machine all took longer than the normal variation of the earlier
    runs, of which there must be at least five.
    """
    check_writable(json_file)
    entries = History(folder).entries()
    failing, slow = began_to_fail(entries), slower(entries)
    to_stdout = json_file is not None and str(json_file) == "-"
    if json_file is not None:
        plain = {
            "runs": len({one.run for one in entries}),
            "began_to_fail": [asdict(one) for one in failing],
            "slower": [asdict(one) for one in slow],
        }
        text = json.dumps(plain, indent=2)
        if to_stdout:
            click.echo(text)
        else:
            files.write(json_file, text + "\n")
    _show(entries, failing, slow, terminal.console(stderr=to_stdout))
    return 0


def _show(
    entries: Sequence[PastResult], failing: Sequence[BeganToFail], slow: Sequence[Slower], console: Console
) -> None:
    if failing:
        console.print(_failing(failing))
    if slow:
        console.print(_slow(slow))
    runs = len({one.run for one in entries})
    plugins = len({one.plugin for one in entries})
    span = f", {entries[0].time} to {entries[-1].time}" if entries else ""
    head = f"{runs} run{'s' * (runs != 1)} of {plugins} plugin{'s' * (plugins != 1)}{span}: "
    verdict = f"{len(failing)} began to fail, {len(slow)} became slower"
    console.print(Text(head + verdict, style="bold red" if failing else "bold green"))
    if runs and runs < BEFORE + RECENT:
        console.print(Text(f"Times are compared from {BEFORE + RECENT} runs on.", style="dim"))


def _table(title: str, columns: Sequence[str]) -> Table:
    made = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in columns:
        made.add_column(name, overflow="fold")
    return made


def _failing(failing: Sequence[BeganToFail]) -> Table:
    made = _table("Began to fail", ("plugin", "what", "place", "how", "since", "passed until", "library"))
    for one in failing:
        first = one.first
        where = f"{first.place}, only on {one.only}" if one.only else first.place
        how = f"{first.outcome}, {one.runs} run{'s' * (one.runs != 1)}"
        changed = "another" if first.sha256 != one.passed.sha256 else "the same"
        made.add_row(first.plugin, first.id, where, how, first.time, one.passed.time, changed)
    return made


def _slow(slow: Sequence[Slower]) -> Table:
    made = _table("Became slower", ("plugin", "what", "place", "machine", "before", "now", "varied by"))
    for one in slow:
        last = one.last
        times = [f"{value * 1e3:.3g} ms" for value in (one.before, one.now, one.noise)]
        made.add_row(last.plugin, last.id, last.place, last.machine, *times)
    return made
