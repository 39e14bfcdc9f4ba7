"""`pluginkit doctor`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pluginkit.api.models import ModelReport, read
from pluginkit.cli import progress
from pluginkit.cli.inspection import model_report, split
from pluginkit.cli.report_files import check_writable
from pluginkit.errors import PluginkitError, UsageError
from pluginkit.importing import ImportOptions, onnx_graph
from pluginkit.importing import profiles as profiles_
from pluginkit.importing.rewrites.fixing import fix
from pluginkit.layouts import targets
from pluginkit.process.escapes import shown
from pluginkit.reporting import model_page


@click.command("doctor")
@click.argument("models", type=click.Path(path_type=Path), metavar="MODEL.onnx...", nargs=-1, required=True)
@click.option(
    "--fix",
    "fixed",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="OUT.onnx",
    help="Write the model with all known rewrites, if onnxruntime gives the same outputs on random inputs.",
)
@click.option(
    "--cut",
    "cuts",
    multiple=True,
    metavar="TENSOR[,TENSOR]",
    help="Cut the model after these tensors and write MODEL-A.onnx, MODEL-B.onnx, ... May be repeated.",
)
@click.option(
    "--outputs",
    metavar="TENSOR[,TENSOR]",
    help="Write the model with these tensors as its outputs, as MODEL-outputs.onnx.",
)
@click.option(
    "--into",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="Output folder for --cut and --outputs. Default: the current folder.",
)
@model_report.options
def command(
    *,
    models: tuple[Path, ...],
    fixed: Path | None,
    cuts: tuple[str, ...],
    outputs: str | None,
    into: Path,
    profiles: tuple[str, ...],
    asked_for: tuple[str, ...],
    seed: int,
    timeout: float,
    strict: bool,
    html: Path | None,
    as_json: bool,
) -> int:
    """Show what keeps NVIDIA's parser and builder from accepting a model, and how to fix it. No plugins are needed.

    The report has every unsupported node, the rules that the model breaks, NVIDIA's build, a run with onnxruntime, and
    the command that makes a plugin project for each missing operator. `pluginkit import` does the same with plugins.
    Exit code 0 if all models are fine, 1 if there is a problem with one, 2 if one cannot be read.
    """
    _check_single_change({"--fix": fixed, "--cut": cuts, "--outputs": outputs}, {"--profile": profiles}, models)
    if html:
        check_writable(html)
        model_page.check()
    console = model_report.opened(as_json=as_json)
    options = ImportOptions(models[0], (), profiles, seed, timeout, strict, targets=targets(asked_for))
    found, unread = _read(models, options, console, as_json=as_json)
    made: list[ModelReport] = []
    if cuts:
        made = split.cut(found[0], [_names(one) for one in cuts], into, options, console, as_json=as_json)
    elif outputs:
        made = split.outputs(found[0], _names(outputs), into, options, console, as_json=as_json)
    elif fixed:
        made = _fix(found[0], fixed, options, console, as_json=as_json)
    found += made
    if html:
        model_page.write(found, html)
    if as_json:
        plain = [one.to_json() for one in found]
        plain += [{"model": str(path), "error": str(error)} for path, error in unread.items()]
        click.echo(json.dumps({"models": plain}, indent=2))
    elif len(models) > 1:
        _summary(found, unread, console)
    # What was made counts, where something was.
    return max([*(one.exit_code for one in made or found), *(error.exit_code for error in unread.values())])


def _check_single_change(changes: dict[str, object], others: dict[str, object], models: tuple[Path, ...]) -> None:
    """That a model is changed in one way, and that what is for one model isn't asked of several."""
    asked = [option for option, given in changes.items() if given]
    if len(asked) > 1:
        raise UsageError(f"{' and '.join(asked)} can't be together.", hint="Change the model by one, then the result.")
    single = [*asked, *(option for option, given in others.items() if given)]
    if single and len(models) > 1:
        raise UsageError(f"{single[0]} is for one model.", hint="Run doctor for each model by itself.")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _read(
    models: tuple[Path, ...], options: ImportOptions, console: Console, *, as_json: bool
) -> tuple[list[ModelReport], dict[Path, PluginkitError]]:
    """A report of each model, printed at once, and why others can't be read.

    Raises:
        PluginkitError: there is one model, and it can't be read.
    """
    found: list[ModelReport] = []
    unread: dict[Path, PluginkitError] = {}
    for path in models:
        try:
            with progress.spinner(f"{path}: reading", console, elapsed=True) as step:
                found.append(read(replace(options, model=path), step))
        except PluginkitError as error:
            if len(models) == 1:
                raise
            unread[path] = error
            continue
        if not as_json:
            model_report.show(found[-1], console, title=str(path) if len(models) > 1 else "")
    return found, unread


def _fix(
    before: ModelReport, made: Path, options: ImportOptions, console: Console, *, as_json: bool
) -> list[ModelReport]:
    """Rewrite the model, and look at what came of it; nothing where there is nothing to rewrite."""
    profile = before.profile or profiles_.profile(profiles_.declared_inputs(onnx_graph.load(before.model)), [])
    with progress.spinner("comparing the rewritten model with the original", console, elapsed=True) as step:
        done = fix(before.model, made, before.unserved, profile, seed=options.seed, timeout=options.timeout)
        if not done.changes:
            if not as_json:
                console.print(Text(f"\n{made} is not written: no rewrite is known for this model.", style="yellow"))
            return []
        step(f"{made}: reading")
        after = read(replace(options, model=made), step)
    if not as_json:
        console.print(Text(f"\n{shown(str(made))}", style="bold"))
        for change in done.changes:
            console.print(Text(f"  {shown(change)}"))
        equal = f"  onnxruntime gives the same on {done.runs} random inputs (largest difference {done.difference:.1e})"
        console.print(Text(equal, style="green"))
        model_report.show(after, console)
    return [after]


def _summary(found: list[ModelReport], unread: dict[Path, PluginkitError], console: Console) -> None:
    rows = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in ("model", "nodes", "not implemented", "errors", "build", "run"):
        rows.add_column(title, overflow="fold")
    for one in found:
        errors = sum(problem.level == "error" for problem in one.problems)
        rows.add_row(
            Text(shown(str(one.model))),
            str(len(one.implementations)),
            Text(shown(", ".join(operator.operator for operator in one.unserved)) or "-"),
            str(errors),
            Text(one.verdict.status if one.verdict else "not asked"),
            one.ran.status,
            style="" if one.exit_code == 0 else "red",
        )
    for path, error in unread.items():
        rows.add_row(Text(shown(str(path))), "-", "-", "not read", "-", "-", style="red")
        console.print(Text.assemble(("\nerror: ", "bold red"), shown(error.message, "\n")))
        console.print(Text.assemble(("  fix: ", "bold"), shown(error.hint, "\n")))
    console.print(Text())
    console.print(rows)
