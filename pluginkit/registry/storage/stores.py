"""Several stores in order, as a read-only one of the team before one's own."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path

from pluginkit.errors import UsageError
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
    data = os.environ.get("XDG_DATA_HOME", "")
    # The specification has relative paths ignored.
    base = Path(data) if data.startswith("/") else Path.home() / ".local" / "share"
    return (base / "pluginkit" / "store",)


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


class Stores:
    """Open stores. What several have, the first gives.

    Attributes:
        stores: in order.
        absent: folders where there is none yet.
    """

    def __init__(self, stores: Sequence[Store], absent: Sequence[Path] = ()) -> None:
        self.stores = tuple(stores)
        self.absent = tuple(absent)

    def find(self, text: str) -> tuple[Store, Entry]:
        """The bundle that a person means (see `Store.find`), and the store that has it.

        Raises:
            NotFoundError: no store has it.
            UsageError: more than one bundle of one store may be meant.
        """
        for store in self.stores:
            with contextlib.suppress(NotFoundError):
                return store, store.find(text)
        where = ", ".join(str(one) for one in (*(store.folder for store in self.stores), *self.absent))
        raise NotFoundError(f"No bundle {text} is in {where}.", hint="pluginkit registry list shows what there is.")

    def having(self, name: str, version: str, namespace: str) -> list[tuple[Store, Entry]]:
        """The bundles with a plugin of that identity, the newest first, each once."""
        found: dict[str, tuple[Store, Entry]] = {}
        for store in self.stores:
            for entry in store.having(name, version, namespace):
                found.setdefault(entry.digest, (store, entry))
        return sorted(found.values(), key=lambda one: newness(one[1]), reverse=True)

    def identities(self, name: str) -> list[tuple[str, str, str]]:
        """Every (name, version, namespace) of plugins of that name."""
        return sorted({identity for store in self.stores for identity in store.identities(name)})


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
