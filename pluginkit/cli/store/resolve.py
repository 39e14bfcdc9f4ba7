"""`pluginkit resolve`."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from dataclasses import replace
from pathlib import Path

import click
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pluginkit.cli import terminal
from pluginkit.cli.inspection.inspect import problems
from pluginkit.cli.store.options import (
    SYSTEM_HELP,
    RegistryOptions,
    asked_again,
    json_option,
    libraries_of,
    looked_into,
    registry_options,
    store_option,
)
from pluginkit.registry import deployment, lock
from pluginkit.registry.bundles import digests
from pluginkit.registry.bundles.systems import System, described, this_machine
from pluginkit.registry.lock import Lock
from pluginkit.registry.resolving import PluginResolution, Resolution, Resolver, resolve, shown
from pluginkit.registry.storage import stores

_STYLES = {"native": "dim", "bundle": "green", "TensorRT's plugins": "cyan", "function": "cyan", "missing": "bold red"}
NATIVE = 12
"""So many native nodes are shown; all others are."""


@click.command("resolve")
@click.argument("model", type=click.Path(path_type=Path), metavar="MODEL.onnx")
@click.option(
    "--for",
    "systems",
    multiple=True,
    metavar="KEY=VALUE,...",
    help=f"{SYSTEM_HELP} May be repeated. Default: this machine.",
)
@click.option("--lock", "write", is_flag=True, help=f"Write the chosen bundles to {lock.FILE_NAME} next to the model.")
@click.option("--locked", is_flag=True, help=f"Use only the bundles in {lock.FILE_NAME} next to the model.")
@store_option
@registry_options
@json_option
def command(
    model: Path,
    systems: tuple[str, ...],
    write: bool,
    locked: bool,
    named: tuple[Path, ...],
    asked: RegistryOptions,
    as_json: bool,
) -> int:
    """Show which bundle, version and variant implements each node of MODEL.onnx, and why others do not fit.

    Exit code 0 if every node is covered, else 1.
    """
    console = terminal.console(stderr=as_json)
    path = lock.path_for(model)
    before = lock.read(path) if locked else None
    found = [resolved(model, one, named, before, path, asked) for one in described_or_this(systems)]
    libraries = {} if systems or found[0].exit_code else _here(found[0], named)
    if as_json:
        plain = [one.to_json() for one in found]
        if libraries:
            plain[0]["loading"] = {one.program: one.text for one in deployment.all_forms(libraries)}
        click.echo(json.dumps(plain if len(plain) != 1 else plain[0], indent=2))
    else:
        for one in found:
            console.print(_resolution(one))
        if libraries and not locked:
            names = [f"{space}::{name}@{version}" for name, version, space in found[0].answers]
            words = ["pluginkit", "registry", "env", *asked_again(named, asked), *names]
            console.print(Text.assemble("\nTo load it in other programs: ", (shlex.join(words), "bold")))
    if write:
        lock.write(path, found)
        console.print(
            Text.assemble(f"\nWrote {path}. Next: ", ("pluginkit fetch --locked", "bold"), " where it is wanted")
        )
    return max(one.exit_code for one in found)


def described_or_this(systems: tuple[str, ...]) -> list[System]:
    """The systems that --for describes; this machine where there is none."""
    return [described(text) for text in systems] or [this_machine()]


def resolved(
    model: Path,
    system: System,
    named: tuple[Path, ...],
    before: Lock | None,
    path: Path,
    asked: RegistryOptions,
) -> Resolution:
    """Resolve a model for a system; with a lock hold the two together."""
    allowed = None
    if before is not None:
        allowed = before.allowed("" if system.name == "this machine" else system.key)
    with looked_into(named, asked) as (opened, policy):
        found = resolve(model, Resolver(opened, system, allowed, policy=policy))
    if before is not None:
        lock.check(before, list(found.answers), path)
    return found


def libraries_for(model: Path, named: tuple[Path, ...]) -> list[Path]:
    """The libraries that a model is resolved to here without a GPU, by the lock next to it where there is one."""
    path = lock.path_for(model)
    found = resolved(
        model,
        replace(this_machine(), sm=0, cuda=""),
        named,
        lock.read(path) if path.exists() else None,
        path,
        RegistryOptions(),
    )
    with looked_into(named, RegistryOptions()) as (opened, _):
        return [opened.library(one.store, one.digest, one.variant.digest) for one in found.chosen]


def _here(found: Resolution, named: tuple[Path, ...]) -> dict[str, list[Path]]:
    """The libraries of each target, if all of them are in stores on this machine."""
    with stores.opened(named) as opened:
        places = {store.place for store in opened.stores}
        return libraries_of(found.chosen, opened) if {one.store for one in found.chosen} <= places else {}


def _resolution(found: Resolution) -> Group:
    rows = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in ("node", "operator", "implemented by"):
        rows.add_column(title, overflow="fold")
    native = 0
    for one in found.nodes:
        native += one.by == "native"
        if one.by == "native" and native > NATIVE:
            continue
        answer = found.answers.get(one.identity) if one.identity else None
        rows.add_row(Text(one.label), Text(one.place.operator), Text(_by(one.by, answer), style=_STYLES[one.by]))
    count: Counter[str] = Counter(one.by for one in found.nodes)
    counts = ", ".join(f"{count[by]} {by}" for by in _STYLES if count[by])
    hidden = f" ({native - NATIVE} native ones are not shown; --json has all)" if native > NATIVE else ""
    head = Text.assemble(("for ", "dim"), (found.system.name, "bold"))
    if found.system.key != found.system.name:
        head.append(f" ({found.system.key})", style="dim")
    parts: list[RenderableType] = [head, rows, Text(f"\n{len(found.nodes)} nodes: {counts or 'none'}{hidden}.")]
    for answer in found.answers.values():
        parts += _answer(answer)
    if found.problems:
        parts.append(problems(found.problems))
    return Group(*parts)


def _by(by: str, answer: PluginResolution | None) -> str:
    if answer is None or answer.chosen is None:
        return by
    return f"{answer.chosen.bundle.label}, {answer.chosen.variant.target}"


def _answer(answer: PluginResolution) -> list[Text]:
    found = []
    if answer.chosen:
        one = answer.chosen
        found.append(
            Text.assemble(
                "\n",
                (shown(answer.identity), "bold"),
                ": ",
                (one.bundle.label, "green"),
                f" ({digests.short(one.digest)}) of {one.store}",
            )
        )
        found.append(Text(f"  {one.variant.file}, target {one.variant.target} ({digests.short(one.variant.digest)})"))
        found += [Text(f"  note: {remark}", style="yellow") for remark in one.remarks]
    else:
        found.append(Text.assemble("\n", (shown(answer.identity), "bold"), ": ", ("nothing", "bold red")))
    for rejected in answer.rejected:
        what = f", target {rejected.target}" if rejected.target else ""
        found.append(Text(f"  not {rejected.bundle}{what}: {'; '.join(rejected.reasons)}", style="dim"))
    return found
