"""One IPluginV2Ext."""

from __future__ import annotations

from pluginkit import _native
from pluginkit.bases import BASES
from pluginkit.host.bases.batched_plugin import BatchedPlugin


class ExtPlugin(BatchedPlugin[_native.ExtPlugin]):
    """A plugin with static shapes without the batch, and a type for each tensor."""

    BASE = "v2ext"
    INTERFACE = BASES[BASE].interface
    NATIVE = _native.ExtPlugin


PLUGIN = ExtPlugin
