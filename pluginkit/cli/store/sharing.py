"""`pluginkit registry push | pull | tags`: bundles and OCI registries."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from pluginkit.cli import progress, terminal
from pluginkit.cli.store.options import SYSTEM_HELP, json_option, largest_option, store_option, trust_options
from pluginkit.errors import NothingSelected
from pluginkit.registry.bundles import compatibility, digests
from pluginkit.registry.bundles.bundle import Bundle, Variant
from pluginkit.registry.bundles.systems import System, described, this_machine
from pluginkit.registry.oci import artifacts, pulling, pushing, reference, repository
from pluginkit.registry.storage import stores
from pluginkit.registry.trust.policy import Policy

_REFERENCE = "HOST/REPOSITORY[:TAG]"


@click.command("push")
@click.argument("bundle", metavar="NAME[@RELEASE]|DIGEST")
@click.argument("target", metavar=_REFERENCE)
@click.option("--overwrite", is_flag=True, help="Replace the tag if it refers to another bundle.")
@store_option
def push(bundle: str, target: str, overwrite: bool, named: tuple[Path, ...]) -> int:
    """Push a bundle to an OCI registry under one tag.

    All variants, reports and signatures are pushed. The default tag is NAME-RELEASE. Credentials are those of
    docker login or oras login. Plain http is used only for this machine, or if the host is written with http://.
    """
    where = reference.parse(target)
    console = terminal.console()
    with stores.opened(named) as opened, repository.opened(where) as remote:
        store, entry = opened.find(bundle)
        content = store.content(entry.digest)
        with progress.transfer("pushing", terminal.console(stderr=True)) as step:
            done = pushing.push(
                content,
                remote,
                tag=where.tag,
                signatures=store.signatures(entry.digest),
                overwrite=overwrite,
                progress=step,
            )
    console.print(
        Text.assemble(
            "Pushed ", (entry.label, "bold"), f" ({digests.short(entry.digest)}) to ", (str(done.reference), "bold")
        )
    )
    console.print(
        Text(
            f"  index {done.index}; {done.sent} blobs sent, {done.there} were there",
            style="dim",
        )
    )
    console.print(
        Text.assemble("Next: ", (f"pluginkit registry pull {done.reference}", "bold"), ", on another machine")
    )
    return 0


@click.command("pull")
@click.argument("sources", nargs=-1, required=True, metavar="HOST/REPOSITORY:TAG...")
@click.option("--all", "everything", is_flag=True, help="Pull all variants, not only those that fit.")
@click.option(
    "--for",
    "systems",
    multiple=True,
    metavar="KEY=VALUE,...",
    help=f"{SYSTEM_HELP} May be repeated. Default: this machine.",
)
@largest_option
@trust_options
@store_option
def pull(
    sources: tuple[str, ...],
    everything: bool,
    systems: tuple[str, ...],
    largest: float,
    trust: Path | None,
    unsigned: bool,
    named: tuple[Path, ...],
) -> int:
    """Pull bundles from an OCI registry into the store.

    By default only the variants that fit, and their reports, are pulled. All data is checked against its digest
    before it enters the store. Interrupted downloads are resumed.
    """
    references = [reference.parse(one) for one in sources]
    wanted = [described(one) for one in systems] or [this_machine()]
    policy = Policy.find(trust, unsigned=unsigned)
    console = terminal.console()
    with stores.writable(named) as store:
        for where in references:
            with (
                repository.opened(where) as remote,
                progress.transfer("pulling", terminal.console(stderr=True)) as step,
            ):
                done = pulling.pull(
                    remote,
                    where.name or the_tag(remote),
                    store,
                    choose=lambda bundle: bundle.variants if everything else fitting(bundle, wanted),
                    accept=policy.check_remote,
                    largest=int(largest * 2**30),
                    progress=step,
                )
            show(done, console, store.folder)
        console.print(Text.assemble("Next: ", ("pluginkit resolve MODEL.onnx", "bold")))
    return 0


@click.command("tags")
@click.argument("source", metavar="HOST/REPOSITORY")
@json_option
def tags(source: str, as_json: bool) -> int:
    """List the tags of a repository, one per line."""
    where = reference.parse(source)
    with repository.opened(where) as remote:
        found = sorted(one for one in remote.tags() if not artifacts.is_own_tag(one))
    if as_json:
        click.echo(json.dumps(found, indent=2))
    else:
        click.echo("\n".join(found) if found else f"{where.place} has no tags.")
    return 0


def show(done: pulling.Pulled, console: Console, folder: Path) -> None:
    """Print what a pull has brought."""
    what = "Pulled" if done.new else "Is there already:"
    console.print(
        Text.assemble(
            f"{what} ", (done.label, "bold"), f" ({digests.short(done.digest)}) from {done.where} into {folder}"
        )
    )
    console.print(Text(f"  here: {', '.join(done.files)}"))
    if done.others:
        console.print(Text(f"  not here: {', '.join(done.others)} (--all, or --for another system)", style="dim"))
    for one in done.without:
        console.print(Text(f"  {one} is not in the registry", style="yellow"))


def fitting(bundle: Bundle, systems: Collection[System]) -> list[Variant]:
    """The variants that fit at least one of some systems.

    Raises:
        NothingSelected: there is none; it says why.
    """
    found = [one for one in bundle.variants if any(not compatibility.misfits(one, system) for system in systems)]
    if not found:
        reasons = "".join(
            f"\n  {one.file} ({one.target}), for {system.name}: {'; '.join(compatibility.misfits(one, system))}"
            for one in bundle.variants
            for system in systems
        )
        raise NothingSelected(
            f"No variant of {bundle.label} fits:{reasons}", hint="--all takes all; --for names another system."
        )
    return found


def the_tag(remote: repository.Repository) -> str:
    """The only tag of a repository, where the user has given none.

    Raises:
        NothingSelected: there is none, or there are several.
    """
    found = [one for one in remote.tags() if not artifacts.is_own_tag(one)]
    if len(found) == 1:
        return found[0]
    place = remote.reference.place
    if not found:
        raise NothingSelected(f"{place} has no tags.", hint=f"pluginkit registry push NAME {place}")
    shown = ", ".join(sorted(found)[:5]) + (", ..." if len(found) > 5 else "")
    raise NothingSelected(
        f"{place} has {len(found)} tags: {shown}.", hint=f"pluginkit registry pull {place}:{min(found)}"
    )
