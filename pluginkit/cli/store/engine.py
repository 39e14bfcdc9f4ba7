"""`pluginkit engine ...`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import click
from rich.text import Text

from pluginkit.cli import terminal
from pluginkit.cli.inspection.inspect import problems
from pluginkit.cli.store.options import (
    SYSTEM_HELP,
    RegistryOptions,
    json_option,
    libraries_of,
    looked_into,
    registry_options,
    store_option,
)
from pluginkit.cli.store.resolve import resolved
from pluginkit.errors import CheckFailed
from pluginkit.importing.engines.loading import Deserialized, deserialize
from pluginkit.process.escapes import quoted
from pluginkit.registry import deployment, engines, lock
from pluginkit.registry.bundles import digests
from pluginkit.registry.bundles.systems import described, this_machine
from pluginkit.registry.resolving import PluginResolution, Resolver, shown
from pluginkit.registry.storage.stores import Stores

_for = click.option("--for", "system", metavar="KEY=VALUE,...", help=f"{SYSTEM_HELP} Default: this machine.")


@click.group("engine")
def command() -> None:
    """Record and check which plugins a serialized engine (plan) needs."""


@command.command("note")
@click.argument("engine", type=click.Path(path_type=Path), metavar="MODEL.plan")
@click.option(
    "--from",
    "model",
    required=True,
    type=click.Path(path_type=Path),
    metavar="MODEL.onnx",
    help="ONNX model that the engine was built from.",
)
@_for
@store_option
@registry_options
def note(engine: Path, model: Path, system: str | None, named: tuple[Path, ...], asked: RegistryOptions) -> int:
    """Record what an engine needs in a file next to it.

    The file names TensorRT, the GPU and the bundle of each plugin. Bundles are chosen as in pluginkit resolve, or
    by the lock file next to the model if there is one.
    """
    path = lock.path_for(model)
    before = lock.read(path) if path.exists() else None
    found = resolved(model, described(system) if system else this_machine(), named, before, path, asked)
    written = engines.write(engine, found)
    click.echo(f"Wrote {engines.sidecar(engine)}: {len(written.plugins)} plugins, {written.host} {written.tensorrt}")
    click.echo(f"Next: pluginkit engine check {quoted(str(engine))}, where the engine is to be loaded")
    return 0


@command.command("check")
@click.argument("engine", type=click.Path(path_type=Path), metavar="MODEL.plan")
@_for
@store_option
@registry_options
@json_option
def check(engine: Path, system: str | None, named: tuple[Path, ...], asked: RegistryOptions, as_json: bool) -> int:
    """Check that an engine and its plugins fit this machine.

    The stores must have what MODEL.plan needs. Bundles in a registry are pulled into the store. Where TensorRT 8 is
    here with a GPU, and the engine is one of TensorRT 8, it is deserialized with these libraries.

    Exit code 0 if everything is available, else 1.
    """
    with looked_into(named, asked) as (opened, policy):
        machine = described(system) if system else this_machine()
        found = engines.check(engine, Resolver(opened, machine, policy=policy))
        libraries = libraries_of([one.chosen for one in found.plugins if one.chosen], opened)
        here = not system and not found.exit_code and found.tensorrt.startswith("8.")
        loaded = deserialize(engine, _with_namespaces(found.plugins, opened)) if here else None
    if as_json:
        click.echo(
            json.dumps(
                {
                    **found.to_json(),
                    "exit_code": _code(found, loaded),
                    "deserialized": loaded and asdict(loaded),
                    "libraries": [str(path) for those in libraries.values() for path in those],
                    "loading": {one.program: one.text for one in deployment.all_forms(libraries)},
                },
                indent=2,
            )
        )
        return _code(found, loaded)
    console = terminal.console()
    count = f"{len(found.plugins)} plugin{'' if len(found.plugins) == 1 else 's'}"
    how = {"note": f"by {engines.sidecar(engine).name}", "guess": "guessed from its bytes; there is no note next to it"}
    console.print(Text.assemble((str(engine), "bold"), f" needs {count} ({how[found.by]})"))
    for one in found.plugins:
        by = f"{one.chosen.bundle.label} ({digests.short(one.chosen.digest)})" if one.chosen else "nothing"
        console.print(Text.assemble(f"  {shown(one.identity)}: ", (by, "green" if one.chosen else "bold red")))
    console.print(problems(found.problems))
    if loaded is not None:
        text, style = ("deserializes it", "green") if loaded.ok else ("doesn't deserialize it", "bold red")
        console.print(Text.assemble((f"TensorRT {loaded.version} {text}", style), f": {loaded.message}"))
    if libraries and not _code(found, loaded):
        console.print(Text("\n" + "\n".join(deployment.shell_lines(libraries)), style="dim"))
    return _code(found, loaded)


def _with_namespaces(plugins: Iterable[PluginResolution], opened: Stores) -> list[tuple[Path, str]]:
    """The libraries of target gpu, each once, with the namespace that their plugins are registered under."""
    found: dict[Path, str] = {}
    for one in plugins:
        if one.chosen and one.chosen.variant.target == "gpu":
            path = opened.library(one.chosen.store, one.chosen.digest, one.chosen.variant.digest).resolve()
            found[path] = one.identity[2]
    return list(found.items())


def _code(found: engines.Checked, loaded: Deserialized | None) -> int:
    """1 if something is missing, or if TensorRT doesn't take the engine."""
    return CheckFailed.exit_code if loaded is not None and not loaded.ok else found.exit_code
