"""A repository as a store that is read: what bundles it has, and the one library that is wanted of one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from pluginkit.errors import CheckFailed, UsageError
from pluginkit.registry.bundles import digests
from pluginkit.registry.bundles.archive import LARGEST
from pluginkit.registry.bundles.bundle import Bundle
from pluginkit.registry.oci import artifacts, pulling
from pluginkit.registry.oci.progress import Progress, nothing
from pluginkit.registry.oci.pulling import Accept, Pulled, RemoteBundle
from pluginkit.registry.oci.repository import Repository
from pluginkit.registry.oci.transport import CONNECTIONS, NotInRegistry
from pluginkit.registry.storage.index import Entry
from pluginkit.registry.storage.store import NotFoundError, Store, newness


@dataclass(frozen=True)
class _Tagged:
    """A bundle by its index, the tags that name it, and what the index says of it."""

    entry: Entry
    index: str
    tags: tuple[str, ...]
    description: str


class RegistryStore:
    """The bundles of a repository. Its tags and indexes are read once, when they are first asked for.

    Attributes:
        repository: where they are.
        damaged: the tags whose index says nothing that can be believed, with the reasons; they are passed over.
    """

    remote = True

    def __init__(
        self,
        repository: Repository,
        cache: Callable[[], AbstractContextManager[Store]],
        accept: Accept,
        progress: Progress = nothing,
    ) -> None:
        """Args:
        repository: where the bundles are.
        cache: the store that libraries are brought into.
        accept: as of `pulling.pull`.
        progress: called with how many tags were read, and what is loaded.
        """
        self.repository = repository
        self.damaged: dict[str, str] = {}
        self._cache, self._accept, self._progress = cache, accept, progress
        self._read: list[_Tagged] | None = None
        self._bundles: dict[str, RemoteBundle] = {}
        self._signatures: dict[str, list[bytes]] = {}

    @property
    def place(self) -> str:
        """Where it is, for people."""
        return self.repository.reference.place

    def entries(self, text: str = "") -> list[Entry]:
        """The bundles by their tags; with `text`, those whose names or description have it."""
        wanted = text.casefold()
        return [
            one.entry
            for one in self._tagged()
            if any(
                wanted in part.casefold()
                for part in (
                    one.entry.name,
                    one.description,
                    *(name for plugin in one.entry.plugins for name in (plugin[0], plugin[2])),
                )
            )
        ]

    def tags(self, digest: str) -> tuple[str, ...]:
        """The tags that name a bundle."""
        return next((one.tags for one in self._tagged() if one.entry.digest == digest), ())

    def having(self, name: str, version: str, namespace: str) -> list[Entry]:
        """The bundles with a plugin of that very identity, by what their indexes say."""
        return [one.entry for one in self._tagged() if (name, version, namespace) in one.entry.plugins]

    def identities(self, name: str) -> list[tuple[str, str, str]]:
        """Every (name, version, namespace) of plugins of that name."""
        return sorted({plugin for one in self._tagged() for plugin in one.entry.plugins if plugin[0] == name})

    def find(self, text: str) -> Entry:
        """The one bundle that the user means: `Store.find`, or a tag.

        Raises:
            NotFoundError: there is none.
        """
        name, _, release = text.partition("@")
        tagged = self._tagged()
        found = [one.entry for one in tagged if one.entry.name == name and release in {"", one.entry.release}]
        found = found or [one.entry for one in tagged if text in one.tags or one.entry.digest == text]
        if not found:
            raise NotFoundError(f"No bundle {text} is in {self.place}.", hint=f"pluginkit registry tags {self.place}")
        return max(found, key=newness)

    def bundle(self, digest: str) -> Bundle:
        """A bundle's manifest.

        Raises:
            NotInRegistry: it isn't there.
            CheckFailed: what is there says something else than its index.
        """
        return self._look(digest).bundle

    def here(self, digest: str) -> frozenset[str]:
        """The digests of the files that can be had of a bundle."""
        return frozenset(self.bundle(digest).files())

    def signatures(self, digest: str) -> list[bytes]:
        """The signatures of a bundle, whoever made them."""
        if digest not in self._signatures:
            self._signatures[digest] = pulling.signatures_of(self.repository, self._look(digest).index.digest)
        return self._signatures[digest]

    def library(self, bundle: str, variant: str) -> Path:
        """A library of a bundle, brought into the store on this machine.

        Raises:
            UsageError, CheckFailed, RegistryUnavailable: as `pulling.pull`.
        """
        with self._cache() as store:
            self.bring(bundle, {variant}, store)
            return store.file(variant)

    def bring(self, digest: str, variants: Collection[str], store: Store) -> Pulled | None:
        """Pull libraries of a bundle; None if the registry doesn't have it."""
        try:
            found = self._look(digest)
        except NotInRegistry:
            return None
        return pulling.pull(
            self.repository,
            found.index.digest,
            store,
            choose=lambda bundle: [one for one in bundle.variants if one.digest in variants],
            accept=self._accept,
            expected=digest,
            progress=self._progress,
            largest=LARGEST,
        )

    def _look(self, digest: str) -> RemoteBundle:
        if digest not in self._bundles:
            known = next((one.index for one in self._read or () if one.entry.digest == digest), "")
            found = pulling.look(self.repository, known or artifacts.digest_tag(digest))
            if found.digest != digest:
                raise CheckFailed(
                    f"{found.where} is {digests.short(found.digest)}, not the bundle {digests.short(digest)}.",
                    hint="Have it pushed again.",
                )
            self._bundles[digest] = found
        return self._bundles[digest]

    def _tagged(self) -> list[_Tagged]:
        if self._read is None:
            tags = sorted(one for one in self.repository.tags() if not artifacts.is_own_tag(one))
            by_index: dict[str, _Tagged] = {}
            with ThreadPoolExecutor(CONNECTIONS) as pool:
                for number, (tag, found) in enumerate(zip(tags, pool.map(self._index, tags), strict=True)):
                    self._progress(f"reading {self.place}", number + 1, len(tags))
                    if found is None:
                        continue
                    index, summary, description = found
                    before = by_index.get(index)
                    entry = Entry(number, summary.digest, summary.name, summary.release, summary.license, summary.size,
                                  summary.targets, summary.plugins)  # fmt: skip
                    by_index[index] = _Tagged(entry, index, (*(before.tags if before else ()), tag), description)
            # Indexes of one bundle that differ, as with other annotations: one of them.
            self._read = list({one.entry.digest: one for one in by_index.values()}.values())
        return self._read

    def _index(self, tag: str) -> tuple[str, artifacts.Summary, str] | None:
        """What a tag names, if it is a bundle."""
        with contextlib.suppress(NotInRegistry):
            raw = self.repository.manifest(tag)
            try:
                index, summary = artifacts.read_index(raw, str(self.repository.reference.at(tag)))
            except CheckFailed as error:
                self.damaged[tag] = error.message
            except UsageError:
                pass
            else:
                return raw.digest, summary, index.annotations.get(artifacts.DESCRIPTION, "")
        return None
