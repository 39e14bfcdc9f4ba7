"""Options that several commands of the registry have."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from pluginkit.cli import progress, terminal
from pluginkit.errors import CheckFailed, UsageError
from pluginkit.registry import sources
from pluginkit.registry.bundles import archive
from pluginkit.registry.bundles.systems import KEYS
from pluginkit.registry.resolving import Chosen, Resolver, shown
from pluginkit.registry.storage import stores
from pluginkit.registry.storage.stores import Stores
from pluginkit.registry.trust import policy
from pluginkit.registry.trust.policy import Policy

F = TypeVar("F", bound=Callable[..., Any])

SYSTEM_HELP = (
    "The system that the plugins are to be loaded on, by " + ", ".join(KEYS) + ": tensorrt=10.13,sm=89,glibc=2.31."
)
store_option = click.option(
    "--store",
    "named",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help=f"Store folder; the first store with a matching bundle is used. May be repeated. Default: {stores.VARIABLE} "
    "(separated by colons), else pluginkit/store in the XDG data folder.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
largest_option = click.option(
    "--largest",
    type=click.FloatRange(0, min_open=True),
    default=archive.LARGEST / 2**30,
    show_default=True,
    metavar="GIB",
    help="Maximum total size of a bundle's files, in GiB.",
)

evidence_option = click.option(
    "--evidence",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="REPORT.json",
    help="Report of pluginkit test --json or bench --json for one of the libraries. May be repeated.",
)
release_option = click.option(
    "--release", default="0.0.0", show_default=True, help="Release number of the bundle, for example 1.2.0."
)
license_option = click.option(
    "--license", "license_", default="", metavar="SPDX", help="License as an SPDX identifier, for example Apache-2.0."
)
cpu_only_option = click.option("--cpu-only", is_flag=True, help="Allow libraries without GPU code.")


@dataclass(frozen=True)
class RegistryOptions:
    """What the user has said of registries, and of whose bundles are taken."""

    registries: tuple[str, ...] = ()
    trust: Path | None = None
    unsigned: bool = False

    @property
    def policy(self) -> Policy:
        """Whose bundles are taken."""
        return Policy.find(self.trust, unsigned=self.unsigned)


def trust_options(command: F) -> F:
    """`--trust` and `--unsigned`."""
    command = click.option(
        "--unsigned",
        is_flag=True,
        help="Accept bundles without the signature that trust.toml requires, but never revoked ones.",
    )(command)
    return click.option(
        "--trust",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        metavar="FILE",
        help=f"File with trusted signers. Default: {policy.VARIABLE}, else pluginkit/{policy.FILE_NAME} in the XDG "
        "configuration folder.",
    )(command)


def registry_options(command: F) -> F:
    """`--registry`, `--trust` and `--unsigned`, as one argument `asked`."""

    @functools.wraps(command)
    def called(*args: Any, registries: tuple[str, ...], trust: Path | None, unsigned: bool, **more: Any) -> Any:
        return command(*args, asked=RegistryOptions(registries, trust, unsigned), **more)

    return click.option(
        "--registry",
        "registries",
        multiple=True,
        metavar="HOST/REPOSITORY",
        help=f"OCI registry to search after the stores. May be repeated. Default: {sources.VARIABLE} (separated by "
        "spaces).",
    )(trust_options(called))  # type: ignore[return-value]


def asked_again(named: tuple[Path, ...], asked: RegistryOptions) -> list[str]:
    """The options by which another command looks into the same stores and registries."""
    words = [word for store in named for word in ("--store", str(store))]
    words += [word for registry in asked.registries for word in ("--registry", registry)]
    return words + (["--trust", str(asked.trust)] if asked.trust else []) + ["--unsigned"] * asked.unsigned


def chosen_for(name: str, resolver: Resolver) -> Chosen:
    """What implements a plugin that the user names, as `NAMESPACE::NAME[@VERSION]`.

    Raises:
        UsageError: it is not a name.
        CheckFailed: nothing does; the reasons are in the message.
    """
    plugin, _, version = name.partition("@")
    namespace, _, plugin = plugin.rpartition("::")
    if not plugin:
        raise UsageError(f"{name!r} is not a plugin's name.", hint="NAMESPACE::NAME, with @VERSION behind it.")
    identity = plugin, version or "1", namespace
    answer = resolver.plugin(identity)
    if answer.chosen is None:
        reasons = "".join(f"\n  {one.bundle}: {'; '.join(one.reasons)}" for one in answer.rejected)
        hint = answer.fix("pluginkit registry list shows what there is.")
        if answer.others:
            names = ", ".join(f"{f'{space}::' if space else ''}{plugin}@{one}" for plugin, one, space in answer.others)
            hint = f"Versions and namespaces are exact. There is: {names}"
        raise CheckFailed(f"Nothing implements {shown(identity)}.{reasons}", hint=hint)
    return answer.chosen


def libraries_of(found: Iterable[Chosen], opened: Stores) -> dict[str, list[Path]]:
    """The libraries of each target, once each; what a registry has is brought into the store."""
    libraries: dict[str, dict[Path, None]] = {}
    for one in found:
        path = opened.library(one.store, one.digest, one.variant.digest).resolve()
        libraries.setdefault(one.variant.target, {})[path] = None
    return {target: list(paths) for target, paths in libraries.items()}


@contextlib.contextmanager
def looked_into(named: tuple[Path, ...], asked: RegistryOptions) -> Iterator[tuple[Stores, Policy]]:
    """The stores and registries, and whose bundles are taken; what is read of registries is shown on a terminal."""
    found = asked.policy
    with (
        progress.transfer("reading", terminal.console(stderr=True)) as step,
        sources.opened(named, asked.registries, policy=found, progress=step) as opened,
    ):
        yield opened, found
