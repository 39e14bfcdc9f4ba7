"""`pluginkit import`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from pluginkit.api.models import read
from pluginkit.cli import progress
from pluginkit.cli.inspection import model_report
from pluginkit.cli.report_files import check_writable
from pluginkit.cli.store.options import store_option
from pluginkit.cli.store.resolve import libraries_for
from pluginkit.importing import ImportOptions
from pluginkit.layouts import targets
from pluginkit.reporting import model_page


@click.command("import")
@click.argument("model", type=click.Path(path_type=Path), metavar="MODEL.onnx")
@click.option(
    "--plugins",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="LIB.so|PROJECT",
    help="Plugin library, or project folder, which is built first. May be repeated.",
)
@click.option(
    "--resolve", "resolving", is_flag=True, help="Take the plugin libraries from the stores, as pluginkit resolve does."
)
@store_option
@click.option(
    "--data",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="IN.npz",
    help="Inputs for the run on the CPU; the arrays have the model's input names. Missing inputs get random values.",
)
@click.option(
    "--expected",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="OUT.npz",
    help="Expected outputs for --data, instead of those of onnxruntime and reference.py.",
)
@click.option(
    "--sanitize",
    multiple=True,
    metavar="CHECKS",
    help="Build the plugins with sanitizers for the run on the CPU, separated by commas: address, undefined, "
    "thread, memory.",
)
@model_report.options
def command(
    *,
    model: Path,
    plugins: tuple[Path, ...],
    resolving: bool,
    named: tuple[Path, ...],
    data: Path | None,
    expected: Path | None,
    sanitize: tuple[str, ...],
    profiles: tuple[str, ...],
    asked_for: tuple[str, ...],
    seed: int,
    timeout: float,
    strict: bool,
    html: Path | None,
    as_json: bool,
) -> int:
    """Parse MODEL.onnx with your plugins: what implements each node, problems, NVIDIA's build, a run on the CPU.

    Exit code 0 if the model is fine, 1 if there is a problem, 6 if a plugin crashes or hangs. The last line says what
    was built and run, and how to run the rest.
    """
    if html:
        check_writable(html)
        model_page.check()
    console = model_report.opened(as_json=as_json)
    with progress.spinner("reading the model", console, elapsed=True) as show:
        if resolving:
            plugins = (*plugins, *libraries_for(model, named))
        checks = tuple(name.strip() for names in sanitize for name in names.split(","))
        options = ImportOptions(
            model, plugins, profiles, seed, timeout, strict, data, expected, checks, (), targets(asked_for)
        )
        found = read(options, show)
    if html:
        model_page.write([found], html)
    if as_json:
        click.echo(json.dumps(found.to_json(), indent=2))
    else:
        model_report.show(found, console)
    return found.exit_code
