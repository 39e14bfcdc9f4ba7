"""The registry: bundles of built plugins in stores, and which of them implements a model, an engine or a process.

    from pluginkit import registry

    with registry.packed(registry.PackOptions(Path("my_plugin"))) as content, registry.writable() as store:
        store.add(content)
    with registry.opened() as stores:
        found = registry.resolve(Path("model.onnx"), registry.Resolver(stores, registry.this_machine()))

Everything that the commands `pack`, `registry`, `resolve`, `fetch` and `engine` do is done by what stands here.
"""

from __future__ import annotations

from pluginkit.registry.bundles.archive import Content
from pluginkit.registry.bundles.archive import opened as open_archive
from pluginkit.registry.bundles.archive import write as write_archive
from pluginkit.registry.bundles.bundle import Bundle, Variant
from pluginkit.registry.bundles.packing import PackOptions, packed
from pluginkit.registry.bundles.systems import System, described, this_machine
from pluginkit.registry.engines import check as check_engine
from pluginkit.registry.engines import write as note_engine
from pluginkit.registry.fetching import fetch
from pluginkit.registry.lock import Lock
from pluginkit.registry.lock import read as read_lock
from pluginkit.registry.lock import write as write_lock
from pluginkit.registry.registration import LoadedPlugins, load
from pluginkit.registry.resolving import Resolution, Resolver, resolve
from pluginkit.registry.storage.store import Damage, Store
from pluginkit.registry.storage.stores import Stores, opened, writable

__all__ = [
    "Bundle",
    "Content",
    "Damage",
    "LoadedPlugins",
    "Lock",
    "PackOptions",
    "Resolution",
    "Resolver",
    "Store",
    "Stores",
    "System",
    "Variant",
    "check_engine",
    "described",
    "fetch",
    "load",
    "note_engine",
    "open_archive",
    "opened",
    "packed",
    "read_lock",
    "resolve",
    "this_machine",
    "writable",
    "write_archive",
    "write_lock",
]
