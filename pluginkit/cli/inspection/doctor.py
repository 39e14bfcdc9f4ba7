"""`pluginkit doctor`."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pluginkit.cli import progress
from pluginkit.cli.inspection import model_report
from pluginkit.errors import PluginkitError, UsageError
from pluginkit.importing import Imported, ImportOptions, run
from pluginkit.reporting import model_page


@click.command("doctor")
@click.argument("models", type=click.Path(path_type=Path), metavar="MODEL.onnx...", nargs=-1, required=True)
@model_report.options
def command(
    *,
    models: tuple[Path, ...],
    profiles: tuple[str, ...],
    seed: int,
    timeout: float,
    strict: bool,
    html: Path | None,
    as_json: bool,
) -> int:
    """Say what keeps NVIDIA's parser and builder from taking a model, and what to do: no plugins are needed.

    Every node that nobody serves, the rules that the model breaks, NVIDIA's build, a run by onnxruntime, and the
    command that makes a plugin project of each operator that is missing. `pluginkit import` is the same with plugins.
    Exit code 0 if all models are fine, 1 if something is wrong with one, 2 if one can't be read.
    """
    if profiles and len(models) > 1:
        raise UsageError("--profile is for one model.", hint="Run doctor for each model with its own profile.")
    if html:
        model_page.check()
    console = model_report.opened(as_json=as_json)
    found: list[Imported] = []
    unread: dict[Path, PluginkitError] = {}
    for model in models:
        options = ImportOptions(model, (), profiles, seed, timeout, strict)
        try:
            with progress.spinner(f"{model}: reading", console) as step:
                found.append(run(options, step))
        except PluginkitError as error:
            unread[model] = error
            continue
        if not as_json:
            model_report.show(found[-1], console, title=str(model) if len(models) > 1 else "")
    if len(models) == len(unread) == 1:
        raise next(iter(unread.values()))
    if html:
        model_page.write(found, html)
    if as_json:
        read = [one.to_json() for one in found]
        read += [{"model": str(path), "error": str(error)} for path, error in unread.items()]
        click.echo(json.dumps({"models": read}, indent=2))
    elif len(models) > 1:
        _summary(found, unread, console)
    codes = [*(one.exit_code for one in found), *(error.exit_code for error in unread.values())]
    return max(codes, default=0)


def _summary(found: list[Imported], unread: dict[Path, PluginkitError], console: Console) -> None:
    rows = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in ("model", "nodes", "served by nobody", "errors", "build", "run"):
        rows.add_column(title, overflow="fold")
    for one in found:
        errors = sum(problem.level == "error" for problem in one.problems)
        rows.add_row(
            str(one.model),
            str(len(one.served)),
            ", ".join(operator.operator for operator in one.unserved) or "-",
            str(errors),
            Text(one.verdict.status if one.verdict else "not asked"),
            one.ran.status,
            style="" if one.exit_code == 0 else "red",
        )
    for path, error in unread.items():
        rows.add_row(str(path), "-", "-", "not read", "-", "-", style="red")
        console.print(Text.assemble(("\nerror: ", "bold red"), error.message), soft_wrap=True)
        console.print(Text.assemble(("  fix: ", "bold"), error.hint), soft_wrap=True)
    console.print(Text())
    console.print(rows)
