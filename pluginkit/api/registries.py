"""`pluginkit.Registry`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from pluginkit.registry import sources
from pluginkit.registry.bundles import archive, packing, systems
from pluginkit.registry.registration import LoadedPlugins, load
from pluginkit.registry.resolving import Resolution, Resolver, resolve
from pluginkit.registry.storage import stores
from pluginkit.registry.storage.index import Entry
from pluginkit.registry.trust.policy import Policy


class Registry:
    """Bundles of built plugins: the stores on this machine, and OCI registries.

    Args:
        stores: folders; none: those of PLUGINKIT_STORE, else the user's, and those of installed packages.
        registries: `HOST/REPOSITORY`, asked after the stores; none: those of PLUGINKIT_REGISTRY.
        trust: the file that says whose bundles are taken; None: that of PLUGINKIT_TRUST, else the user's trust.toml.
        unsigned: whether bundles are taken without the signature that it asks for.
    """

    def __init__(
        self,
        stores: Sequence[str | os.PathLike[str]] = (),
        registries: Sequence[str] = (),
        *,
        trust: str | os.PathLike[str] | None = None,
        unsigned: bool = False,
    ) -> None:
        self._stores = tuple(map(Path, stores))
        self._registries = tuple(registries)
        self._trust = None if trust is None else Path(trust)
        self._unsigned = unsigned

    def bundles(self, text: str = "") -> list[Entry]:
        """The bundles in the stores, each once; with `text`, those whose name or description has it.

        Raises:
            UsageError: a folder holds no store but something else.
        """
        with stores.opened(self._stores) as opened:
            found = {entry.digest: entry for store in opened.stores for entry in store.entries(text)}
        return list(found.values())

    def add(self, bundle: str | os.PathLike[str]) -> bool:
        """Put a bundle into the first store that can be written: a file of `pluginkit pack`, or a project, packed now.

        Returns:
            Whether it was not there before.

        Raises:
            UsageError: no bundle or built project there, or no store can be written.
            CheckFailed: the file is damaged.
        """
        path = Path(bundle)
        content = packing.packed(packing.PackOptions(path)) if path.is_dir() else archive.opened(path)
        with content as opened, stores.writable(self._stores) as store:
            return store.add(opened)

    def resolve(
        self, model: str | os.PathLike[str], *, target: Literal["cpu", "gpu"] | None = None, release: str = ""
    ) -> Resolution:
        """Find the bundle for each node of an ONNX model that TensorRT does not implement, as `pluginkit resolve`.

        Args:
            model: the ONNX file.
            target: the kind of library; None: `gpu` where there is a GPU, else `cpu` before `gpu`.
            release: the only release that may be taken; empty: the newest that fits.

        Raises:
            UsageError: the model can't be read.
            CheckFailed: a store's manifest was changed.
            RegistryUnavailable: an OCI registry doesn't answer.
        """
        policy = Policy.find(self._trust, unsigned=self._unsigned)
        with sources.opened(self._stores, self._registries, policy=policy) as opened:
            system = replace(systems.this_machine(), target=target)
            return resolve(Path(model), Resolver(opened, system, release=release, policy=policy))

    def load(self, plugin: str, *, version: str = "1", release: str = "") -> LoadedPlugins:
        """`pluginkit.load` from these stores and registries.

        Raises:
            UsageError, CheckFailed, RegistryUnavailable: as `pluginkit.load`.
        """
        return load(
            plugin,
            version=version,
            release=release,
            stores=self._stores,
            registries=self._registries,
            trust=self._trust,
            unsigned=self._unsigned,
        )
