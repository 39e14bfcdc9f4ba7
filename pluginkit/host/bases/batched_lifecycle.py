"""The build and the runs of a layer with an IPluginV2 or IPluginV2Ext; `v2_lifecycle` has the order of all calls.

Neither sees the batch in shapes, "even if the plugin is expected to be run in a network with explicit batch mode
enabled" (NvInferRuntimePlugin.h, IPluginV2::getOutputDimensions; configureWithFormat and IPluginV2Ext::configurePlugin
say the same of theirs): all inputs' first dimension is passed as batchSize.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pluginkit.errors import CheckFailed
from pluginkit.formats import Format
from pluginkit.host import formats
from pluginkit.host.bases import static_lifecycle
from pluginkit.host.bases.batched_plugin import BatchedPlugin
from pluginkit.host.bases.v2_lifecycle import Profile
from pluginkit.host.descriptors import Desc
from pluginkit.host.library import Creator
from pluginkit.host.spec import BuiltPlugin, LayerConfig


def build(
    plugin: BatchedPlugin[Any],
    creator: Creator,
    layer: str,
    profiles: Sequence[Profile],
    given: LayerConfig,
) -> BuiltPlugin:
    """Builds the layer of a plugin, which is destroyed by that.

    Raises:
        CheckFailed: a dimension is dynamic, or the inputs have no batch in common.
        Finding: the plugin answers wrongly.
    """
    whole = static_lifecycle.shapes(plugin, layer, profiles)
    size = static_lifecycle.batch(whole)
    if size is None:
        raise CheckFailed(
            f"layer {layer!r}: the inputs have the shapes {', '.join(map(str, map(list, whole)))}, and an "
            f"{plugin.INTERFACE} gets shapes without their first dimension, the batch, which all have in common",
            hint="Give all inputs the same first dimension, or write the plugin against IPluginV3.",
        )

    def ask(plugin: BatchedPlugin[Any], ins: Sequence[Desc], outs: Sequence[Desc]) -> None:
        formats.walk(plugin, [*ins, *outs], len(ins))
        # Which tensor a type is for isn't asked, and tensors of several formats can't be: so there is less to declare.
        same = [row for row in given.undeclared if len(set(row) - {Format.LINEAR.code}) == 1]
        less = replace(given, undeclared=same, declared_types=())
        formats.check_declared(plugin, [*ins, *outs], len(ins), less)
        if given.chooses:
            formats.ask_all(plugin, [*ins, *outs], len(ins))

    def configure(plugin: BatchedPlugin[Any], ins: Sequence[Desc], outs: Sequence[Desc]) -> None:
        plugin.configure(ins, outs, size)

    return static_lifecycle.build(plugin, creator, layer, profiles[0], given, ask, configure, size)
