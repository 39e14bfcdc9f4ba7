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
    help="Subgraph to replace: nodes:NAME,... | values:FROM,...->TO,... | scope:PATH | chain:TYPE,... | FILE.toml | "
    "FILE.py:FUNCTION | the name of a pattern that the plugin's project contains (docs/grafting.md).",
)
@click.option(
    "--by",
    "plugin",
    required=True,
    metavar="LIB.so|PROJECT|NAMESPACE::NAME[@VERSION]",
    help="Replacement plugin: a library; a project folder, which is built first; or a plugin name, which is looked "
    "up in the stores as in pluginkit resolve.",
)
@click.option(
    "-o",
    "--output",
    "out",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="OUT.onnx",
    help="Output model. It is written only if both models give the same results.",
)
@click.option(
    "--place", "places", multiple=True, type=click.IntRange(1), help="Only the match with this number. May be repeated."
)
@click.option(
    "--plugins",
    "others",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="LIB.so|PROJECT",
    help="Library or project of plugins that the model already uses. May be repeated.",
)
@click.option("--fold", is_flag=True, help="Fold constants first, for example sizes of Resize nodes and pads.")
@click.option(
    "--data",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="IN.npz",
    help="Inputs for the comparison besides random ones; the arrays have the model's input names. May be repeated.",
)
@click.option("--rtol", type=click.FloatRange(0), help="Relative tolerance. Default: as in pluginkit import.")
@click.option("--atol", type=click.FloatRange(0), help="Absolute tolerance. Default: as in pluginkit import.")
@click.option(
    "--profile",
    "profiles",
    multiple=True,
    metavar="NAME:SHAPES",
    help="Shapes of an input, as in pluginkit import. May be repeated.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Random seed for the inputs.")
@click.option(
    "--timeout", type=click.FloatRange(1), default=60.0, show_default=True, help="Seconds before a step is stopped."
)
@store_option
@registry_options
@json_option
def command(
    *, plugin: str, named: tuple[Path, ...], asked: RegistryOptions, as_json: bool, out: Path, **given: Any
) -> int:
    """Replace subgraphs of MODEL.onnx with a plugin node.

    Before OUT.onnx is written, both models run on random inputs, the original in onnxruntime and the other with the
    plugin's kernel on the CPU, and must agree. Then NVIDIA's builder builds it, as in pluginkit import.

    Exit code 0 if OUT.onnx is written and built, 1 if the models differ (nothing is written) or OUT.onnx has a problem,
    2 if the pattern does not fit the plugin or the model, 3 if the pattern matches nothing.
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
