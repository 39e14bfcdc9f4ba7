"""Bundles by digest from other stores, archives and registries into one's own store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pluginkit.errors import CheckFailed
from pluginkit.registry.bundles import archive, digests
from pluginkit.registry.bundles.archive import SUFFIX, Content
from pluginkit.registry.storage.store import Store

if TYPE_CHECKING:
    # Not when it runs: requests comes with it, which pluginkit.load and pack do without.
    from pluginkit.registry.oci.remote import RegistryStore


@dataclass(frozen=True)
class Fetched:
    """A bundle that is in the store now: its `name release`, digest, and where it came from; empty: it was there."""

    label: str
    digest: str
    source: str


def fetch(
    wanted: Iterable[tuple[str, str]],
    store: Store,
    sources: Sequence[Path],
    registries: Sequence[RegistryStore] = (),
) -> list[Fetched]:
    """Bring bundles into a store, each verified. Without registries no network takes part.

    Args:
        wanted: the digests of bundles, each with that of a library that is needed of it.
        store: where they are brought.
        sources: other stores, archives, and folders with archives.
        registries: asked for what none of the sources has; only the libraries come that are needed.

    Raises:
        CheckFailed: a bundle is in none of them; all that were found are in the store then. Or one is damaged.
        UsageError: the store can't be written, or a source can't be read.
        RegistryUnavailable: a registry doesn't answer.
    """
    found, missing = list[Fetched](), list[str]()
    needed: dict[str, set[str]] = {}
    for bundle, variant in wanted:
        needed.setdefault(bundle, set()).add(variant)
    with ExitStack() as stack:
        stores = [stack.enter_context(Store.open(one, create=False)) for one in sources if Store.exists(one)]
        archives = [path for one in sources if not Store.exists(one) for path in _archives(one)]
        for digest, variants in needed.items():
            if variants <= store.here(digest):
                found.append(Fetched(store.bundle(digest).label, digest, ""))
            elif done := (
                _from_stores(digest, variants, store, stores)
                or _from_archives(digest, store, archives)
                or _from_registries(digest, variants, store, registries)
            ):
                found.append(done)
            else:
                missing.append(digest)
    if missing:
        where = ", ".join([*map(str, sources), *(one.place for one in registries)]) or "no source was named"
        raise CheckFailed(
            f"{', '.join(digests.short(one) for one in missing)} is in none of: {where}.",
            hint="--from names other stores and archives, --registry registries.",
        )
    return found


def _from_stores(digest: str, variants: set[str], store: Store, stores: Sequence[Store]) -> Fetched | None:
    for other in stores:
        if variants <= other.here(digest):
            return _added(other.content(digest), store, other.folder)
    return None


def _from_registries(
    digest: str, variants: set[str], store: Store, registries: Sequence[RegistryStore]
) -> Fetched | None:
    for one in registries:
        if (done := one.bring(digest, variants, store)) is not None:
            return Fetched(done.label, digest, done.where)
    return None


def _from_archives(digest: str, store: Store, archives: Sequence[Path]) -> Fetched | None:
    for path in archives:
        # Another archive may have it; that this one is damaged matters only if none has.
        with suppress(CheckFailed), archive.opened(path) as content:
            if content.digest == digest:
                return _added(content, store, path)
    return None


def _added(content: Content, store: Store, source: Path) -> Fetched:
    store.add(content)
    return Fetched(content.bundle.label, content.digest, str(source))


def _archives(path: Path) -> list[Path]:
    return sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else [path]
