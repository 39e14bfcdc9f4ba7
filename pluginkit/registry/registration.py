"""Plugins by name into the registry of the TensorRT that this process has: `pluginkit.load("acme::MyPlugin")`."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from packaging.version import Version
from typing_extensions import Self

from pluginkit import elf
from pluginkit.errors import CheckFailed, UsageError
from pluginkit.library.origin import registers_here
from pluginkit.registry import sources
from pluginkit.registry.bundles import systems
from pluginkit.registry.resolving import Identity, Resolver, shown
from pluginkit.registry.storage import stores as stores_
from pluginkit.registry.trust.policy import Policy
from pluginkit.runtimes.nvidia import registering

MODULES = {"tensorrt": "tensorrt", "tensorrt_rtx": "rtx", "tensorrt_lean": "lean"}
"""NVIDIA's Python modules, and what `systems` calls the kind."""
_LOG = logging.getLogger("pluginkit")


@dataclass
class LoadedPlugins:
    """A plugin library in a registry. Use it as a context, or call `unload`.

    Attributes:
        library: the file.
        bundle: its bundle's `name release`, and its digest.
        registry: NVIDIA's registry that has it.
        creators: NVIDIA's creators of the plugins that came with it.
        did: what was done, a sentence each.
    """

    library: Path
    bundle: tuple[str, str]
    registry: Any
    creators: tuple[Any, ...]
    did: tuple[str, ...]
    _handle: Any = field(default=None, repr=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.unload()

    def creator(self, name: str = "") -> Any:
        """The creator of that name, or the only one.

        Raises:
            UsageError: there is none, or there are several and no name.
        """
        found = [one for one in self.creators if name in {"", one.name}]
        if len(found) != 1:
            names = ", ".join(one.name for one in self.creators)
            raise UsageError(f"{self.library.name} has the creators {names}; one of them must be named.")
        return found[0]

    def unload(self) -> None:
        """Take the library out of the registry, its creators too. Nothing happens the second time.

        No plugin, network or engine that was made with it may be alive any more. A library that registers its creators
        itself stays open.
        """
        if self._handle is not None:
            self.creators = ()
            self.registry.deregister_library(self._handle)
            self._handle = None
        for one in self.creators:
            self.registry.deregister_creator(one)
        self.creators = ()


def load(
    plugin: str,
    *,
    version: str = "1",
    release: str = "",
    target: Literal["cpu", "gpu"] | None = None,
    stores: Sequence[Path] = (),
    registries: Sequence[str] = (),
    trust: Path | None = None,
    unsigned: bool = False,
    tensorrt: ModuleType | None = None,
) -> LoadedPlugins:
    """Find a plugin's library, verify it, and hand it to the registry of the TensorRT in this process.

    Args:
        plugin: `namespace::Name`, or the name alone.
        version: the plugin's version, exactly.
        release: the bundle's; empty: the newest that fits.
        target: the kind of library; None: `gpu` where there is a GPU, else `cpu` before `gpu`.
        stores: folders; none: those of PLUGINKIT_STORE, or the one in XDG's data folder.
        registries: `HOST/REPOSITORY`, asked after the stores; what is chosen there is pulled. None: those of
            PLUGINKIT_REGISTRY, or none.
        trust: the file that says whose bundles are taken; None: that of PLUGINKIT_TRUST, else the user's trust.toml.
        unsigned: whether bundles are taken without the signature that it asks for.
        tensorrt: NVIDIA's module; None: the one that is imported (tensorrt, tensorrt_rtx or tensorrt_lean).

    Raises:
        UsageError: none of NVIDIA's modules is imported, or several are; or no store has the plugin.
        CheckFailed: no variant fits this process, or whose bundle it is isn't trusted; the library was changed; or
            TensorRT's registry refuses it.
        RegistryUnavailable: a registry of bundles doesn't answer.
    """
    module = tensorrt or _imported()
    kind = MODULES.get(module.__name__, "tensorrt")
    host = systems.host_of(kind, Version(module.__version__)), str(module.__version__)
    namespace, _, name = plugin.rpartition("::")
    identity: Identity = (name, version, namespace)
    policy = Policy.find(trust, unsigned=unsigned)
    with sources.opened(stores, registries, policy=policy) as opened:
        system = replace(systems.this_machine(host), target=target)
        resolver = Resolver(opened, system, release=release, policy=policy)
        chosen = resolver.plugin(identity).chosen
        if chosen is None:
            raise _nothing(identity, release, resolver)
        library = opened.library(chosen.store, chosen.digest, chosen.variant.digest)
    did = [
        f"chose {chosen.bundle.label} ({chosen.variant.file}, target {chosen.variant.target}) of {chosen.store}",
        f"verified {chosen.variant.digest}",
    ]
    registry = module.get_plugin_registry()
    before = set(map(_identity, registry.all_creators))
    taken = [(one.name, one.version, one.namespace) for one in chosen.bundle.plugins]
    if already := [one for one in taken if one in before]:
        raise CheckFailed(
            f"{module.__name__}'s registry has {', '.join(map(shown, already))} already.",
            hint="Unload what has brought it, or use the creators that are there.",
        )
    handle = taken_by(registry, library, rtx=kind == "rtx")
    creators = tuple(one for one in registry.all_creators if _identity(one) not in before)
    if not creators:
        raise CheckFailed(
            f"{module.__name__} {module.__version__} refuses {library}.", hint=f"pluginkit inspect --load {library}"
        )
    did.append(
        f"loaded into {module.__name__} {module.__version__}: {', '.join(shown(_identity(one)) for one in creators)}"
    )
    for line in did:
        _LOG.info(line)
    return LoadedPlugins(library, (chosen.bundle.label, chosen.digest), registry, creators, tuple(did), handle)


def taken_by(registry: Any, library: Path, *, rtx: bool) -> Any:
    """Has a registry, TensorRT-RTX's or TensorRT's, take a library: by loadLibrary, whose handle is the answer, or by
    opening one that registers its creators itself: None.

    Raises:
        CheckFailed: such a library can't be opened, or its init functions answer false.
    """
    how = registers_here(elf.read(library), rtx=rtx)
    if how is None:
        return registry.load_library(str(library))
    registering.opened(str(library), how.init_functions, "", lambda: len(registry.all_creators))
    return None


def _identity(creator: Any) -> Identity:
    return str(creator.name), str(creator.plugin_version), str(creator.plugin_namespace)


def _imported() -> ModuleType:
    found = [sys.modules[name] for name in MODULES if name in sys.modules]
    if len(found) == 1:
        return found[0]
    names = ", ".join(MODULES)
    if not found:
        raise UsageError(f"No TensorRT is imported: none of {names}.", hint="import tensorrt before pluginkit.load().")
    there = ", ".join(one.__name__ for one in found)
    raise UsageError(f"Several are imported: {there}.", hint="Name one: pluginkit.load(..., tensorrt=tensorrt_rtx).")


def _nothing(identity: Identity, release: str, resolver: Resolver) -> CheckFailed | UsageError:
    answer = resolver.plugin(identity)
    wanted = shown(identity) + (f" of release {release}" if release else "")
    if answer.rejected:
        reasons = "".join(f"\n  {one.bundle} {one.target}: {'; '.join(one.reasons)}" for one in answer.rejected)
        return CheckFailed(
            f"No variant of {wanted} fits this process:{reasons}", hint=answer.fix("Add a bundle that has one.")
        )
    where = ", ".join(
        [
            *map(str, stores_.folders([store.folder for store in resolver.stores.stores])),
            *(one.place for one in resolver.stores.registries),
        ]
    )
    others = "; there is " + ", ".join(map(shown, answer.others)) if answer.others else ""
    return UsageError(f"{wanted} is in none of {where}{others}.", hint="pluginkit registry add BUNDLE puts it in.")
