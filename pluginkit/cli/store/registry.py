"""`pluginkit registry ...`."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from pluginkit.cli import progress, terminal
from pluginkit.cli.inspection.inspect import problems
from pluginkit.cli.store import sharing, signing
from pluginkit.cli.store.options import (
    RegistryOptions,
    asked_again,
    chosen_for,
    json_option,
    largest_option,
    libraries_of,
    looked_into,
    registry_options,
    store_option,
    trust_options,
)
from pluginkit.errors import CheckFailed, NothingSelected, PluginkitError, UsageError, unwritable
from pluginkit.registry import deployment
from pluginkit.registry.bundles import archive, conflicts, digests, packing
from pluginkit.registry.bundles.archive import SUFFIX
from pluginkit.registry.bundles.bundle import Bundle
from pluginkit.registry.bundles.systems import described, this_machine
from pluginkit.registry.oci.remote import RegistryStore
from pluginkit.registry.resolving import Resolver, shown
from pluginkit.registry.storage import stores
from pluginkit.registry.storage.index import Entry
from pluginkit.registry.storage.store import Store, newness
from pluginkit.registry.storage.stores import BundlePlace, Stores
from pluginkit.registry.trust.policy import Policy


@click.group("registry")
def command() -> None:
    """Manage bundles of built plugins in local stores and OCI registries."""


for _one in (sharing.push, sharing.pull, sharing.tags, signing.sign):
    command.add_command(_one)


@command.command("add")
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="BUNDLE|PROJECT...")
@store_option
@largest_option
def add(sources: tuple[Path, ...], named: tuple[Path, ...], largest: float) -> int:
    """Add bundles to the store; a project folder is packed first."""
    console = terminal.console()
    with stores.writable(named) as store:
        for source in sources:
            with progress.spinner(f"adding {source}", console) as show:
                opened = (
                    packing.packed(packing.PackOptions(source), show)
                    if source.is_dir()
                    else archive.opened(source, largest=_bytes(largest))
                )
                with opened as content:
                    with stores.opened((store.folder, *stores.folders(named))) as others:
                        found = tuple(conflicts.of_bundle(content.bundle, others))
                    new = store.add(content)
            what = "Added" if new else "Is there already:"
            console.print(Text(f"{what} {content.bundle.label} ({digests.short(content.digest)}) in {store.folder}"))
            if found:
                console.print(problems(found))
        console.print(Text.assemble("Next: ", ("pluginkit resolve MODEL.onnx", "bold")))
    return 0


@command.command("list")
@store_option
@json_option
def list_(named: tuple[Path, ...], as_json: bool) -> int:
    """List the bundles, newest release of each name first."""
    with stores.opened(named) as opened:
        return _listed(opened, "", as_json=as_json)


@command.command("search")
@click.argument("text")
@store_option
@registry_options
@json_option
def search(text: str, named: tuple[Path, ...], asked: RegistryOptions, as_json: bool) -> int:
    """List the bundles with TEXT in their name or plugins.

    It may be part of a plugin's name, namespace or description. In registries every tag is read.
    """
    return _list(named, text, asked, as_json=as_json)


@command.command("show")
@click.argument("bundle", metavar="NAME[@RELEASE]|DIGEST")
@store_option
@json_option
def show(bundle: str, named: tuple[Path, ...], as_json: bool) -> int:
    """Show a bundle's plugins, patterns, variants and reports."""
    with stores.opened(named) as opened:
        store, entry = opened.find(bundle)
        found = store.bundle(entry.digest)
        if as_json:
            plain = found.model_dump(mode="json", by_alias=True)
            click.echo(json.dumps({"digest": entry.digest, "store": str(store.folder), "manifest": plain}, indent=2))
        else:
            terminal.console().print(_bundle(found, entry.digest, store))
    return 0


@command.command("verify")
@click.argument("bundle", required=False, metavar="[NAME[@RELEASE]|DIGEST]")
@store_option
@trust_options
@click.option("--repair", is_flag=True, help="Rebuild the index from the manifests in the store.")
def verify(bundle: str | None, named: tuple[Path, ...], trust: Path | None, unsigned: bool, repair: bool) -> int:
    """Verify the files and signatures of one bundle or of all.

    Files must match their digests and the manifest, signatures must be those that trust.toml requires.

    Exit code 1 if a file is damaged, or a bundle has no trusted signature that trust.toml requires.
    """
    console = terminal.console()
    policy = Policy.find(trust, unsigned=unsigned)
    bad, any_damage = 0, False
    with stores.opened(named) as opened:
        _some(opened.stores, opened.absent)
        chosen = [opened.find(bundle)] if bundle else [(store, None) for store in opened.stores]
        for store, entry in chosen:
            if repair:
                console.print(f"{store.folder}: the index has {store.rebuild()} bundles now.")
            with progress.bar("verifying", terminal.console(stderr=True)) as step:
                damage = store.verify(entry.digest if entry else None, partial(step, "verifying"))
            for one in damage:
                console.print(Text.assemble((f"damaged {digests.short(one.digest)}: ", "bold red"), one.text))
            bad += len(damage)
            any_damage = any_damage or bool(damage)
            if damage:
                continue
            refused = _refused(store, [entry] if entry else store.entries(), policy, console, every=bool(entry))
            bad += refused
            count = 1 if entry else len(store.entries())
            if not refused:
                console.print(
                    Text(f"{store.folder}: {_bundles(count)}, all as {'it' if count == 1 else 'they'} should be.")
                )
        if any_damage:
            console.print(Text.assemble(("  fix: ", "bold"), "Add the bundles again, or remove them."))
    return CheckFailed.exit_code if bad else 0


@command.command("remove")
@click.argument("bundles", nargs=-1, required=True, metavar="NAME[@RELEASE]|DIGEST...")
@store_option
def remove(bundles: tuple[str, ...], named: tuple[Path, ...]) -> int:
    """Remove bundles from the store. `gc` then deletes files that no other bundle uses."""
    with stores.writable(named) as store:
        for name in bundles:
            entry = store.find(name)
            store.remove(entry.digest)
            click.echo(f"Removed {entry.label} ({digests.short(entry.digest)}) from {store.folder}")
    click.echo("Next: pluginkit registry gc")
    return 0


@command.command("gc")
@store_option
def gc(named: tuple[Path, ...]) -> int:
    """Delete the files that no bundle in the store uses."""
    with stores.writable(named) as store:
        freed = store.gc()
        click.echo(f"{store.folder}: {freed.files} files removed, {freed.size / 2**20:.1f} MiB")
    return 0


@command.command("export")
@click.argument("bundles", nargs=-1, metavar="[NAME[@RELEASE]|DIGEST...]")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=".", help="Output folder. Default: the current folder."
)
@store_option
def export(bundles: tuple[str, ...], output: Path, named: tuple[Path, ...]) -> int:
    """Write bundles to files, one file each. Default: all bundles."""
    with stores.opened(named) as opened:
        chosen = [opened.find(name) for name in bundles] or [
            (one, entry) for one in opened.stores for entry in one.entries()
        ]
        if not chosen:
            raise NothingSelected("There is no bundle to export.", hint="pluginkit registry list")
        try:
            output.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(output, error) from None
        for store, entry in chosen:
            content = store.content(entry.digest)
            path = output / archive.file_name(content.bundle)
            if path.exists():
                # Bundles of one name and release differ by their digests.
                path = output / f"{entry.name}-{entry.release}-{entry.digest[7:19]}{SUFFIX}"
            archive.write(content, path)
            click.echo(f"Wrote {path} ({digests.short(entry.digest)})")
    return 0


@command.command("import")
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="BUNDLE|FOLDER...")
@store_option
@largest_option
def import_(sources: tuple[Path, ...], named: tuple[Path, ...], largest: float) -> int:
    """Add all bundles of a folder to the store, except damaged ones.

    Exit code 1 if there was a damaged one.
    """
    files = [path for one in sources for path in (sorted(one.glob(f"*{SUFFIX}")) if one.is_dir() else [one])]
    if not files:
        raise NothingSelected(f"There is no bundle in {', '.join(map(str, sources))}.", hint=f"They end in {SUFFIX}.")
    bad = 0
    with stores.writable(named) as store:
        for path in files:
            message, taken = _taken(path, store, _bytes(largest))
            click.echo(message, err=not taken)
            bad += not taken
        click.echo(f"{store.folder}: {_bundles(len(files) - bad)} taken, {bad} refused")
    return CheckFailed.exit_code if bad else 0


@command.command("env")
@click.argument("plugins", nargs=-1, required=True, metavar="NAMESPACE::NAME[@VERSION]...")
@click.option(
    "--for", "system", metavar="KEY=VALUE,...", help="Target system instead of this machine, as in pluginkit resolve."
)
@store_option
@registry_options
def env(plugins: tuple[str, ...], system: str | None, named: tuple[Path, ...], asked: RegistryOptions) -> int:
    """Print shell lines that load plugins into other programs.

    The libraries are verified now; they are loaded from the store.
    """
    with looked_into(named, asked) as (opened, policy):
        resolver = Resolver(opened, described(system) if system else this_machine(), policy=policy)
        found = {name: chosen_for(name, resolver) for name in plugins}
        lines = [f"# {name}: {one.bundle.label}, target {one.variant.target}" for name, one in found.items()]
        libraries = libraries_of(found.values(), opened)
        if "cpu" in libraries:
            lines += _without_gpu_code(plugins, Resolver(opened, described("target=gpu"), policy=policy), named, asked)
    click.echo("\n".join([*lines, *deployment.shell_lines(libraries)]))
    return 0


def _without_gpu_code(
    plugins: tuple[str, ...], resolver: Resolver, named: tuple[Path, ...], asked: RegistryOptions
) -> list[str]:
    """What engines on a GPU take: a command that finds it, or how it comes into a store."""
    try:
        for name in plugins:
            chosen_for(name, resolver)
    except CheckFailed:
        return [
            "# No engine can use a library of target cpu, and no store has one of target gpu. In the project:",
            "#     pluginkit build --target all && pluginkit pack && pluginkit registry add BUNDLE",
        ]
    words = ["pluginkit", "registry", "env", "--for", "target=gpu", *asked_again(named, asked), *plugins]
    return ["# No engine can use a library of target cpu. Those of target gpu:", f"#     {shlex.join(words)}"]


def _taken(path: Path, store: Store, largest: int) -> tuple[str, bool]:
    """Put an archive into a store: what came of it, and whether it is in."""
    try:
        with archive.opened(path, largest=largest) as content:
            what = "Added" if store.add(content) else "Is there already:"
            return f"{what} {content.bundle.label} ({digests.short(content.digest)})", True
    except PluginkitError as error:
        return f"refused {path}: {error.message}", False


def _refused(store: Store, entries: list[Entry], policy: Policy, console: Console, *, every: bool) -> int:
    """Hold bundles' signatures against trust.toml, and say what is not as it asks; with `every`, who has signed too."""
    count = 0
    for one in entries:
        signatures = store.signatures(one.digest)
        reason = policy.refusal(store.bundle(one.digest), one.digest, signatures, remote=False)
        if reason:
            count += 1
            console.print(Text.assemble((f"refused {one.label} ({digests.short(one.digest)}): ", "bold red"), reason))
            console.print(Text.assemble(("  fix: ", "bold"), policy.hint(reason)))
        elif every:
            console.print(Text(f"{one.label}: {_signed(policy, store.bundle(one.digest), one.digest, signatures)}"))
    return count


def _signed(policy: Policy, bundle: Bundle, digest: str, signatures: list[bytes]) -> str:
    if not signatures:
        return "not signed"
    names = ", ".join(f"'{one.name}'" for one in policy.signers(bundle, digest, signatures))
    if names:
        return f"signed by {names}"
    if not policy.file:
        return f"signed, but no signer is trusted: there is no {policy.path}"
    return f"signed, but by none of the signers in {policy.path}"


def _list(named: tuple[Path, ...], text: str, asked: RegistryOptions, *, as_json: bool) -> int:
    with looked_into(named, asked) as (opened, _):
        return _listed(opened, text, as_json=as_json)


def _listed(opened: Stores, text: str, *, as_json: bool) -> int:
    rows = [(source, entry) for source in opened.sources for entry in source.entries(text)]
    rows.sort(key=lambda one: (one[1].name, newness(one[1])), reverse=True)
    rows.sort(key=lambda one: one[1].name)
    for source in opened.registries:
        for tag, why in source.damaged.items() if isinstance(source, RegistryStore) else ():
            click.echo(f"passed over {source.place}:{tag}: {why}", err=True)
    if as_json:
        click.echo(json.dumps([{**asdict(entry), "store": source.place} for source, entry in rows], indent=2))
        return 0
    if not rows:
        where = ", ".join([*(one.place for one in opened.sources), *map(str, opened.absent)])
        what = f"Nothing with '{text}'" if text else "No bundle"
        click.echo(f"{what} in {where}.\nNext: pluginkit pack, then pluginkit registry add BUNDLE")
        return 0
    terminal.console().print(_rows(rows, several=len(opened.sources) > 1 or bool(opened.registries)))
    return 0


def _rows(rows: list[tuple[BundlePlace, Entry]], *, several: bool) -> Group:
    found = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in ("bundle", "release", "plugins", "for", "MiB", "digest", *(["where"] if several else [])):
        found.add_column(title, overflow="fold", justify="right" if title == "MiB" else "left")
    for store, one in rows:
        plugins = ", ".join(map(shown, one.plugins))
        cells = [one.name, one.release, plugins, one.targets, f"{one.size / 2**20:.1f}", digests.short(one.digest)]
        found.add_row(*(Text(cell) for cell in (*cells, *([_where(store, one)] if several else []))))
    more = "pluginkit registry show NAME shows more."
    if any(store.remote for store, _ in rows):
        more = "pluginkit registry pull HOST/REPOSITORY:TAG brings one."
    return Group(found, Text(f"\n{_bundles(len(rows))}. {more}", style="dim"))


def _where(place: BundlePlace, entry: Entry) -> str:
    """A store's folder; in a registry, what pull takes."""
    tags = place.tags(entry.digest) if isinstance(place, RegistryStore) else ()
    return f"{place.place}:{tags[0]}" if tags else place.place


def _bundle(found: Bundle, digest: str, store: Store) -> Group:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    revision = found.source.revision + (" with changes" if found.source.changed else "")
    facts = {"digest": digest, "store": str(store.folder), "license": found.license or "not stated",
            "sources": revision or "not stated", "made by": found.made_by}  # fmt: skip
    for name, text in facts.items():
        table.add_row(name, Text(text))
    parts: list[Any] = [Text(found.label, style="bold"), table]
    for plugin in found.plugins:
        parts.append(Text.assemble("\n", (shown((plugin.name, plugin.version, plugin.namespace)), "bold"),
                                   f" ({plugin.base}) {plugin.description}"))  # fmt: skip
        for title, tensors in (("input", plugin.inputs), ("output", plugin.outputs)):
            parts += [Text(f"  {title} {one.name}: [{', '.join(one.shape)}] {', '.join(one.types)}") for one in tensors]
        parts += [
            Text(
                f"  field {one.name}: {one.type}{'' if one.default is None else f' = {one.default}'}  {one.description}"
            )
            for one in plugin.fields
        ]
    if found.patterns:
        parts.append(Text(f"\npatterns for graft: {', '.join(one.name for one in found.patterns)}"))
    rows = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in ("library", "target", "machine", "GPU code", "CUDA", "needs at least", "loaded by"):
        rows.add_column(title, overflow="fold")
    here = store.here(digest)
    for one in found.variants:
        floors = ", ".join(f"{kind} {version}" for kind, version in one.floors.items())
        cells = (
            one.file if one.digest in here else f"{one.file} (not pulled)",
            one.target,
            one.machine,
            ", ".join(map(str, one.gpu_code)),
            one.cuda,
            floors,
            ", ".join(one.hosts),
        )
        rows.add_row(*(Text(cell) for cell in cells))
    parts += [Text(), rows]
    for report in found.evidence:
        mark = ("passed", "green") if report.passed else ("not passed", "bold red")
        where = ", ".join(f"{name} {what}" for name, what in report.where.items())
        parts.append(Text.assemble(f"\nevidence: {report.kind} of {digests.short(report.library)}: ", mark,
                                   f": {report.summary}; {where}"))  # fmt: skip
    return Group(*parts)


def _some(found: tuple[Store, ...], absent: tuple[Path, ...]) -> None:
    if not found:
        raise UsageError(
            f"There is no store in {', '.join(map(str, absent))}.", hint="pluginkit registry add makes it."
        )


def _bundles(count: int) -> str:
    return f"{count} bundle{'' if count == 1 else 's'}"


def _bytes(gib: float) -> int:
    return int(gib * 2**30)
