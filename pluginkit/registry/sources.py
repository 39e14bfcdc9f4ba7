"""Where bundles are looked for: the stores on this machine, then registries."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from pluginkit.registry.oci import reference
from pluginkit.registry.oci.progress import Progress, nothing
from pluginkit.registry.oci.reference import RegistryReference
from pluginkit.registry.storage import stores
from pluginkit.registry.storage.stores import Stores
from pluginkit.registry.trust.policy import Policy

VARIABLE = "PLUGINKIT_REGISTRY"


def references(named: Sequence[str] = ()) -> tuple[RegistryReference, ...]:
    """The repositories that are asked: those named, else those of PLUGINKIT_REGISTRY (by spaces), else none.

    Raises:
        UsageError: one is not a reference.
    """
    return tuple(dict.fromkeys(reference.parse(one) for one in named or os.environ.get(VARIABLE, "").split()))


@contextlib.contextmanager
def opened(
    named: Sequence[Path] = (),
    registries: Sequence[str] = (),
    *,
    policy: Policy | None = None,
    progress: Progress = nothing,
) -> Iterator[Stores]:
    """The stores and registries that there are, to be read. No registry is asked before something of it is wanted.

    Args:
        named: folders of stores; see `stores.opened`.
        registries: references; see `references`.
        policy: whose bundles are taken; None: by the user's trust.toml.
        progress: called with what is read or loaded.

    Raises:
        UsageError: as `stores.opened`; or a reference is none.
    """
    asked = references(registries)
    with contextlib.ExitStack() as stack:
        local = stack.enter_context(stores.opened(named))
        if not asked:
            yield local
            return
        # requests and what comes with it, which a store on this machine does without.
        from pluginkit.registry.oci import repository
        from pluginkit.registry.oci.remote import RegistryStore

        accept = (policy or Policy.find()).check_remote
        remotes = [
            RegistryStore(stack.enter_context(repository.opened(one)), lambda: stores.writable(named), accept, progress)
            for one in asked
        ]
        yield Stores(local.stores, local.absent, remotes)
