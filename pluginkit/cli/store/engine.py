"""`pluginkit engine ...`."""

from __future__ import annotations

import json
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
from pluginkit.process.escapes import quoted
from pluginkit.registry import deployment, engines, lock
from pluginkit.registry.bundles import digests
from pluginkit.registry.bundles.systems import described, this_machine
from pluginkit.registry.resolving import Resolver, shown

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

    The stores must have what MODEL.plan needs. Bundles in a registry are pulled into the store.

    Exit code 0 if everything is available, else 1.
    """
    with looked_into(named, asked) as (opened, policy):
        machine = described(system) if system else this_machine()
        found = engines.check(engine, Resolver(opened, machine, policy=policy))
        libraries = libraries_of([one.chosen for one in found.plugins if one.chosen], opened)
    if as_json:
        click.echo(
            json.dumps(
                {
                    **found.to_json(),
                    "libraries": [str(path) for those in libraries.values() for path in those],
                    "loading": {one.program: one.text for one in deployment.all_forms(libraries)},
                },
                indent=2,
            )
        )
        return found.exit_code
    console = terminal.console()
    how = {"note": f"by {engines.sidecar(engine).name}", "guess": "guessed from its bytes; there is no note next to it"}
    console.print(Text.assemble((str(engine), "bold"), f" needs {len(found.plugins)} plugins ({how[found.by]})"))
    for one in found.plugins:
        by = f"{one.chosen.bundle.label} ({digests.short(one.chosen.digest)})" if one.chosen else "nothing"
        console.print(Text.assemble(f"  {shown(one.identity)}: ", (by, "green" if one.chosen else "bold red")))
    console.print(problems(found.problems))
    if libraries and not found.exit_code:
        console.print(Text("\n" + "\n".join(deployment.shell_lines(libraries)), style="dim"))
    return found.exit_code
