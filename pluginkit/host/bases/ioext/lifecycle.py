"""The build and the runs of a layer with an IPluginV2IOExt; `v2_lifecycle` has the order of all calls.

What enqueue needs must be in the serialized bytes: it gets no shapes, and a deserialized plugin is not configured
again.

The dimensions are passed in two ways, which contradict each other (docs/bases.md has the sources), so a layer can
be built in either: with the batch as the first of the dimensions and batchSize 1, or without it and batchSize N.
"""

from __future__ import annotations

from collections.abc import Sequence

from pluginkit.host import formats
from pluginkit.host.bases import static_lifecycle
from pluginkit.host.bases.ioext.plugin import IOExtPlugin
from pluginkit.host.bases.v2_lifecycle import Profile
from pluginkit.host.descriptors import Desc
from pluginkit.host.errors import HostBug
from pluginkit.host.handles import NONE, Handles
from pluginkit.host.library import Creator
from pluginkit.host.spec import BuiltPlugin, LayerConfig


def build(
    plugin: IOExtPlugin,
    creator: Creator,
    layer: str,
    profiles: Sequence[Profile],
    given: LayerConfig,
) -> BuiltPlugin:
    """Builds the layer of a plugin, which is destroyed by that.

    Raises:
        CheckFailed: a dimension is dynamic.
        Finding: the plugin answers wrongly.
        HostBug: an implicit batch, and inputs that have none in common.
    """
    implicit_batch = given.implicit_batch
    whole = static_lifecycle.shapes(plugin, layer, profiles)
    if implicit_batch and static_lifecycle.batch(whole) is None:
        raise HostBug(f"inputs of the shapes {whole} have no batch in common")

    def ask(plugin: IOExtPlugin, ins: Sequence[Desc], outs: Sequence[Desc]) -> None:
        formats.walk(plugin, [*ins, *outs], len(ins))
        formats.check_declared(plugin, [*ins, *outs], len(ins), given)
        if given.chooses:
            formats.ask_all(plugin, [*ins, *outs], len(ins))

    def configure(plugin: IOExtPlugin, ins: Sequence[Desc], outs: Sequence[Desc]) -> None:
        plugin.configure_plugin(ins, outs)

    return static_lifecycle.build(
        plugin,
        creator,
        layer,
        profiles[0],
        given,
        ask,
        configure,
        static_lifecycle.batch(whole) if implicit_batch else None,
    )


def restore(
    creator: Creator, built: BuiltPlugin, handles: Handles = NONE, *, initialize_clones: bool = False
) -> static_lifecycle.StaticLayer[IOExtPlugin]:
    """The layer in an execution context."""
    return static_lifecycle.StaticLayer(creator, built, IOExtPlugin, handles, initialize_clones=initialize_clones)
