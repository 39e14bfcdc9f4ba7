"""One IPluginV2."""

from __future__ import annotations

from pluginkit import _native
from pluginkit.bases import BASES
from pluginkit.host.bases.batched_plugin import BatchedPlugin


class BasicPlugin(BatchedPlugin[_native.BasicPlugin]):
    """A plugin with static shapes without the batch, and one type for all tensors."""

    BASE = "v2"
    INTERFACE = BASES[BASE].interface
    NATIVE = _native.BasicPlugin


PLUGIN = BasicPlugin
