"""`pluginkit fetch`."""

from __future__ import annotations

from pathlib import Path

import click

from pluginkit.cli.store.options import SYSTEM_HELP, RegistryOptions, looked_into, registry_options, store_option
from pluginkit.cli.store.resolve import described_or_this, resolved
from pluginkit.errors import UsageError
from pluginkit.registry import fetching, lock
from pluginkit.registry.bundles import digests
from pluginkit.registry.bundles.systems import described
from pluginkit.registry.oci.remote import RegistryStore
from pluginkit.registry.storage import stores
from pluginkit.registry.storage.store import Store


@click.command("fetch")
@click.argument("model", required=False, type=click.Path(path_type=Path), metavar="[MODEL.onnx]")
@click.option(
    "--locked",
    is_flag=True,
    help=f"Fetch exactly the bundles in {lock.FILE_NAME} next to the model or in the current folder.",
)
@click.option("--for", "systems", multiple=True, metavar="KEY=VALUE,...", help=f"{SYSTEM_HELP} May be repeated.")
@click.option(
    "--from",
    "sources",
    multiple=True,
    type=click.Path(path_type=Path, exists=True),
    metavar="STORE|BUNDLE|FOLDER",
    help="Additional source: a store, a bundle file or a folder of bundles. May be repeated.",
)
@store_option
@registry_options
def command(
    model: Path | None,
    locked: bool,
    systems: tuple[str, ...],
    sources: tuple[Path, ...],
    named: tuple[Path, ...],
    asked: RegistryOptions,
) -> int:
    """Copy the bundles that a model needs into the store: from other stores and files, then from registries.

    From a registry only the needed variants are downloaded. Without a registry, the network is not used.
    """
    with stores.writable(named) as store, looked_into(named, asked) as (opened, _):
        others = [one for one in stores.folders(named) if one != store.folder]
        if locked:
            found = lock.read(lock.path_for(model) if model else Path(lock.FILE_NAME))
            names = [described(text).key for text in systems] or [one.name for one in found.systems]
            wanted = [(one.bundle, one.variant) for name in names for one in found.system(name).bundles]
        elif model is None:
            raise UsageError("No model is named.", hint="pluginkit fetch MODEL.onnx, or pluginkit fetch --locked")
        else:
            looked = tuple(one for one in (store.folder, *others, *sources) if Store.exists(one))
            path = lock.path_for(model)
            answers = [resolved(model, one, looked, None, path, asked) for one in described_or_this(systems)]
            if missing := [one for answer in answers for one in answer.problems if one.level == "error"]:
                raise UsageError(missing[0].text, hint=missing[0].fix)
            wanted = [(one.digest, one.variant.digest) for answer in answers for one in answer.chosen]
        remotes = [one for one in opened.registries if isinstance(one, RegistryStore)]
        for one in fetching.fetch(wanted, store, [*sources, *others], remotes):
            what = f"fetched from {one.source}" if one.source else "was there"
            click.echo(f"{one.label} ({digests.short(one.digest)}): {what}")
        click.echo(f"All of it is in {store.folder}.")
    return 0
