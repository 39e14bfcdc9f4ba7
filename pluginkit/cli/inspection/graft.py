"""`pluginkit graft`."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pluginkit.cli import progress
from pluginkit.cli.inspection import model_report
from pluginkit.cli.report_files import check_writable
from pluginkit.cli.store.options import (
    RegistryOptions,
    chosen_for,
    json_option,
    looked_into,
    registry_options,
    store_option,
)
from pluginkit.errors import CheckFailed
from pluginkit.grafting import BundledPlugin, Grafted, GraftOptions, PluginSignature, graft
from pluginkit.importing import ImportOptions, run
from pluginkit.process.escapes import quoted, shown
from pluginkit.registry.bundles.systems import this_machine
from pluginkit.registry.resolving import Resolver


@click.command("graft")
@click.argument("model", type=click.Path(path_type=Path), metavar="MODEL.onnx")
@click.option(
    "--replace",
    "pattern",
    required=True,
    metavar="PATTERN",
    help="What is replaced: nodes:NAME,... | values:FROM,...->TO,... | scope:PATH | chain:TYPE,... | FILE.toml | "
    "FILE.py:FUNCTION | the name of a pattern that the plugin's project ships (docs/grafting.md).",
)
@click.option(
    "--by",
    "plugin",
    required=True,
    metavar="LIB.so|PROJECT|NAMESPACE::NAME[@VERSION]",
    help="The plugin that takes its place: a library; a project's folder, which is built first; or a plugin's name, "
    "which is looked for in the stores, as pluginkit resolve does.",
)
@click.option(
    "-o",
    "--output",
    "out",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="OUT.onnx",
    help="The file to write. Nothing is written unless both models give the same.",
)
@click.option(
    "--place", "places", multiple=True, type=click.IntRange(1), help="Only the place of that number. May be repeated."
)
@click.option(
    "--plugins",
    "others",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="LIB.so|PROJECT",
    help="Of plugins whose nodes the model has already. May be repeated.",
)
@click.option("--fold", is_flag=True, help="Compute first what follows from constants: sizes of upsamplings, pads.")
@click.option(
    "--data",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="IN.npz",
    help="Inputs to compare on, besides random ones, under the model's names. May be repeated.",
)
@click.option("--rtol", type=click.FloatRange(0), help="Relative tolerance. Default: as of pluginkit import.")
@click.option("--atol", type=click.FloatRange(0), help="Absolute tolerance. Default: as of pluginkit import.")
@click.option("--profile", "profiles", multiple=True, metavar="NAME:SHAPES", help="As of pluginkit import.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="What random inputs follow from.")
@click.option(
    "--timeout", type=click.FloatRange(1), default=60.0, show_default=True, help="Seconds until a step is given up."
)
@store_option
@registry_options
@json_option
def command(
    *, plugin: str, named: tuple[Path, ...], asked: RegistryOptions, as_json: bool, out: Path, **given: Any
) -> int:
    """Replace subgraphs of MODEL.onnx by a plugin's node.

    Before OUT.onnx is written, both models run on random inputs, the original in onnxruntime and the other with the
    plugin's kernel on the CPU, and must agree. Then NVIDIA's builder builds it, as pluginkit import does.

    Exit code 0 if OUT.onnx is written and built, 1 if the models differ (nothing is written) or something is wrong
    with OUT.onnx, 2 if the pattern does not fit the plugin or the model, 3 if no place fits the pattern.
    """
    check_writable(out)
    library, bundled = _plugin(plugin, named, asked)
    options = GraftOptions(plugin=library, bundled=bundled, out=out, **given)
    console = model_report.opened(as_json=as_json)
    with progress.spinner("reading the model", console, elapsed=True) as show:
        done = graft(options, show)
        others = (options.plugin, *options.others)
        built = run(ImportOptions(done.out, others, options.profiles, options.seed, options.timeout), show)
    if as_json:
        click.echo(json.dumps({**_plain(done), "import": built.to_json()}, indent=2))
        return built.exit_code
    _show(done, console)
    model_report.show(built, console)
    plugins = " ".join(f"--plugins {quoted(str(one))}" for one in others)
    console.print(Text("\nTo look at it again:", style="bold"))
    console.print(Text(f"  pluginkit import {quoted(str(done.out))} {plugins}"))
    return built.exit_code


def _plugin(text: str, named: tuple[Path, ...], asked: RegistryOptions) -> tuple[Path, BundledPlugin | None]:
    """The library or project, or the library that a bundle has for the CPU, on which both models are compared."""
    path = Path(text)
    if path.exists() or path.name != text or path.suffix == ".so":
        return path, None
    with looked_into(named, asked) as (opened, policy):
        try:
            chosen = chosen_for(text, Resolver(opened, replace(this_machine(), target="cpu"), policy=policy))
        except CheckFailed as error:
            error.message = f"There is no library or folder {text}, and no bundle for it. {error.message}"
            raise
        library = opened.library(chosen.store, chosen.digest, chosen.variant.digest).resolve()
    name, _, version = text.partition("@")
    namespace, _, name = name.rpartition("::")
    asked_for = name, version or "1", namespace
    found = next(one for one in chosen.bundle.plugins if (one.name, one.version, one.namespace) == asked_for)
    lists = frozenset(one.name for one in found.fields if one.type.endswith("]"))
    signature = PluginSignature(tuple(one.name for one in found.inputs), len(found.outputs), lists)
    return library, BundledPlugin(asked_for, signature, {one.name: one.text for one in chosen.bundle.patterns})


def _plain(done: Grafted) -> dict[str, Any]:
    return {
        "out": str(done.out),
        "plugin": done.plugin,
        "found": done.found,
        "places": [asdict(one) for one in done.places],
        "compared": [asdict(one) for one in done.runs],
        "tolerance": {"rtol": done.tolerance.rtol, "atol": done.tolerance.atol},
    }


def _show(done: Grafted, console: Console) -> None:
    for one in done.places:
        attributes = ", ".join(f"{name}={_short(value)}" for name, value in one.attributes.items())
        head = f"place {one.number}: {one.label} ({', '.join(one.nodes)})"
        console.print(Text(shown(head), style="bold"))
        node = f"  {done.plugin} ({', '.join(one.inputs)}) -> {', '.join(one.outputs)}"
        console.print(Text(shown(f"{node}: {attributes}" if attributes else node)))
    console.print()
    left = done.found - len(done.places)
    if left:
        console.print(Text(f"{left} more of {done.found} places left as they are.", style="dim"))
    runs = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in ("both models on inputs", "largest difference", "allowed there", "mean", "of output"):
        runs.add_column(title, overflow="fold")
    for run_ in done.runs:
        mean = "" if run_.mean is None else f"{run_.mean:.1e}"
        runs.add_row(run_.inputs, f"{run_.error:.1e}", f"{run_.allowed:.1e}", mean, Text(shown(run_.output)))
    console.print(runs)
    tolerance = f"rtol {done.tolerance.rtol:g}, atol {done.tolerance.atol:g}"
    console.print(Text(f"The same, within {tolerance}. Written: {done.out}", style="green"))


def _short(value: object) -> str:
    """An attribute's value; of a number what float32 holds of it."""
    if isinstance(value, list):
        return f"[{', '.join(map(_short, value))}]"
    return f"{value:.7g}" if isinstance(value, float) else str(value)
