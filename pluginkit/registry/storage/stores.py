"""Several stores in order, as a read-only one of the team before one's own, and registries behind them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Protocol

from pluginkit.errors import UsageError
from pluginkit.paths import user_folder
from pluginkit.registry.bundles.bundle import Bundle
from pluginkit.registry.storage.index import Entry
from pluginkit.registry.storage.store import NotFoundError, Store, newness

VARIABLE = "PLUGINKIT_STORE"
GROUP = "pluginkit.plugins"
"""The entry points by which a package declares its store: each is a path."""


def folders(named: Sequence[Path] = ()) -> tuple[Path, ...]:
    """Where the stores lie: those named, else those of PLUGINKIT_STORE (by colons), else one in XDG's data folder.

    The first is where bundles are added to, if it can be written; else the first that can.
    """
    if named:
        return tuple(dict.fromkeys(named))
    variable = [Path(one).expanduser() for one in os.environ.get(VARIABLE, "").split(os.pathsep) if one]
    if variable:
        return tuple(dict.fromkeys(variable))
    return (user_folder("XDG_DATA_HOME", ".local/share") / "store",)


def installed() -> tuple[Path, ...]:
    """The stores in installed packages: what their entry points of the group `pluginkit.plugins` name.

    Raises:
        UsageError: an entry point can't be loaded, or names no folder.
    """
    found = []
    for entry in metadata.entry_points(group=GROUP):
        try:
            folder = Path(entry.load())
        except Exception as error:  # noqa: BLE001 - a package's own code
            raise UsageError(f"The entry point {entry.name} of the group {GROUP} is broken: {error!r}.") from None
        found.append(folder)
    return tuple(found)


class BundlePlace(Protocol):
    """What bundles are looked for in: a store on this machine, or a registry. See `Store`.

    Attributes:
        remote: whether it is a registry: what is there has not been let in yet.
        place: where it is, for people.
    """

    @property
    def remote(self) -> bool: ...
    @property
    def place(self) -> str: ...
    def entries(self, text: str = "") -> list[Entry]: ...
    def having(self, name: str, version: str, namespace: str) -> list[Entry]: ...
    def identities(self, name: str) -> list[tuple[str, str, str]]: ...
    def find(self, text: str) -> Entry: ...
    def here(self, digest: str) -> frozenset[str]: ...
    def bundle(self, digest: str) -> Bundle: ...
    def signatures(self, digest: str) -> list[bytes]: ...
    def library(self, bundle: str, variant: str) -> Path: ...


class Stores:
    """Open stores, and registries. What several have, the first gives.

    Attributes:
        stores: in order.
        absent: folders where there is none yet.
        registries: asked after all stores.
        sources: the stores and the registries.
    """

    def __init__(
        self, stores: Sequence[Store], absent: Sequence[Path] = (), registries: Sequence[BundlePlace] = ()
    ) -> None:
        self.stores = tuple(stores)
        self.absent = tuple(absent)
        self.registries = tuple(registries)
        self.sources: tuple[BundlePlace, ...] = (*self.stores, *self.registries)

    def find(self, text: str) -> tuple[Store, Entry]:
        """The bundle that the user means (see `Store.find`), and the store that has it.

        Raises:
            NotFoundError: no store has it.
            UsageError: more than one bundle of one store may be meant.
        """
        for store in self.stores:
            with contextlib.suppress(NotFoundError):
                return store, store.find(text)
        where = ", ".join(str(one) for one in (*(store.folder for store in self.stores), *self.absent))
        raise NotFoundError(f"No bundle {text} is in {where}.", hint="pluginkit registry list shows what there is.")

    def having(self, name: str, version: str, namespace: str) -> list[tuple[tuple[BundlePlace, ...], Entry]]:
        """The bundles with a plugin of that identity, the newest first, each once, with all that have it."""
        found: dict[str, tuple[list[BundlePlace], Entry]] = {}
        for source in self.sources:
            for entry in source.having(name, version, namespace):
                found.setdefault(entry.digest, ([], entry))[0].append(source)
        ordered = sorted(found.values(), key=lambda one: newness(one[1]), reverse=True)
        return [(tuple(sources), entry) for sources, entry in ordered]

    def library(self, place: str, bundle: str, variant: str) -> Path:
        """A library's file, verified; a registry's is brought into a store first.

        Raises:
            CheckFailed: it isn't there, or its bytes are others.
            UsageError, RegistryUnavailable: as `pulling.pull`.
        """
        return next(one for one in self.sources if one.place == place).library(bundle, variant)

    def identities(self, name: str) -> list[tuple[str, str, str]]:
        """Every (name, version, namespace) of plugins of that name."""
        return sorted({identity for source in self.sources for identity in source.identities(name)})


@contextlib.contextmanager
def opened(named: Sequence[Path] = ()) -> Iterator[Stores]:
    """The stores there are, to be read; a folder without one is passed over.

    Unless some are named, those of installed packages come last.

    Raises:
        UsageError: a folder holds no store but something else, or one of a later pluginkit.
    """
    where = folders(named)
    with contextlib.ExitStack() as stack:
        there = [one for one in where if Store.exists(one)]
        stores = [stack.enter_context(Store.open(one, create=False)) for one in there]
        packages = () if named else installed()
        stores += [stack.enter_context(Store.open(one, create=False, write=False)) for one in packages]
        yield Stores(stores, [one for one in where if one not in there])


@contextlib.contextmanager
def writable(named: Sequence[Path] = ()) -> Iterator[Store]:
    """The store that bundles are added to: the first that can be written, made where there is none.

    Raises:
        UsageError: none can be written.
    """
    where = folders(named)
    for folder in where:
        with Store.open(folder) as store:
            if store.writable:
                yield store
                return
    raise UsageError(
        f"No store can be written: {', '.join(map(str, where))}.", hint=f"--store or {VARIABLE} names one."
    )
