"""The build and the runs of a layer with an IPluginV2."""

from __future__ import annotations

from pluginkit.host.bases import batched_lifecycle, static_lifecycle
from pluginkit.host.bases.v2.plugin import BasicPlugin
from pluginkit.host.handles import NONE, Handles
from pluginkit.host.library import Creator
from pluginkit.host.spec import BuiltPlugin

build = batched_lifecycle.build


def restore(
    creator: Creator, built: BuiltPlugin, handles: Handles = NONE, *, initialize_clones: bool = False
) -> static_lifecycle.StaticLayer[BasicPlugin]:
    """The layer in an execution context."""
    return static_lifecycle.StaticLayer(creator, built, BasicPlugin, handles, initialize_clones=initialize_clones)
