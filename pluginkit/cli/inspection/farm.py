"""`pluginkit farm`."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.table import Table
from rich.text import Text

from pluginkit import farm
from pluginkit.cli import progress, terminal
from pluginkit.cli.report_files import check_writable, json_option
from pluginkit.errors import ToolMissing
from pluginkit.process import files

if TYPE_CHECKING:
    from pluginkit.farm.fleet import FarmWorker, Fleet


@click.command("farm")
@click.argument("address")
@json_option
def command(address: str, json_file: Path | None) -> int:
    """Show the workers of the Dask cluster at ADDRESS: what each has, and what cannot be tested on it.

    ADDRESS is tcp://HOST:PORT, tls://HOST:PORT, a scheduler file, or local:N.
    """
    check_writable(json_file)
    to_stdout = json_file is not None and str(json_file) == "-"
    console = terminal.console(stderr=to_stdout)
    with progress.spinner("asking the workers", console) as step, farm.open_fleet(address) as found:
        step("asking the workers")
        workers, obstacle = found.workers, _obstacle(found)
    if json_file is not None:
        text = json.dumps([_plain(one) for one in workers], indent=2)
        if to_stdout:
            click.echo(text)
        else:
            files.write(json_file, text + "\n")
    console.print(_table(workers))
    for line in _absent(workers):
        console.print(Text(line, style="yellow"))
    if obstacle is not None:
        raise obstacle
    console.print(Text(f"\nNext: pluginkit test --farm {address}"))
    return 0


def _obstacle(fleet: Fleet) -> ToolMissing | None:
    """Why no run can begin; asked while the fleet is there, and said below the table."""
    try:
        fleet.check()
    except ToolMissing as error:
        return error
    return None


def _table(workers: list[FarmWorker]) -> Table:
    shown = Table(title=f"{len(workers)} worker{'s' * (len(workers) != 1)}", title_justify="left", box=None)
    for name in ("machine", "worker", "threads", "memory", "GPUs", "pluginkit", "evaluators"):
        shown.add_column(name, overflow="fold")
    for one in workers:
        facts = one.facts
        if facts is None:
            shown.add_row("?", one.name, str(one.threads), "", "", "", Text(one.problem, style="bold red"))
            continue
        gpus = Counter(f"{gpu.name}, sm_{gpu.arch}" for gpu in facts.gpus)
        shown.add_row(
            f"{facts.host} ({facts.machine})",
            one.name,
            str(one.threads),
            f"{facts.memory / 2**30:.0f} GiB",
            "\n".join(f"{count} x {name}" for name, count in gpus.items()) or "none",
            facts.pluginkit,
            Text(one.problem, style="bold red")
            if one.problem
            else "\n".join(f"{name} {it.version}".rstrip() for name, it in facts.evaluators.items() if it.found),
        )
    return shown


def _absent(workers: list[FarmWorker]) -> list[str]:
    """What can't be tested: an evaluator that no worker has, with the first one's reason."""
    ready = [one.facts for one in workers if one.facts and not one.problem]
    lines = []
    for name in ready[0].evaluators if ready else ():
        if not any(facts.evaluators[name].found for facts in ready):
            first = ready[0].evaluators[name]
            lines.append(f"{name}: on no worker: {first.reason}" + (f" ({first.remedy})" if first.remedy else ""))
    return lines


def _plain(one: FarmWorker) -> dict[str, object]:
    return {**{name: value for name, value in asdict(one).items() if name != "held"}, "place": one.place}
