"""One IPluginV2IOExt: its virtual methods besides those of every V2 plugin with static shapes."""

from __future__ import annotations

from collections.abc import Sequence

from pluginkit import _native
from pluginkit.bases import BASES
from pluginkit.host.bases.static_plugin import StaticPlugin
from pluginkit.host.descriptors import Desc


class IOExtPlugin(StaticPlugin[_native.IOExtPlugin]):
    """A plugin with static shapes, and a type and format for each tensor."""

    BASE = "ioext"
    INTERFACE = BASES[BASE].interface
    NATIVE = _native.IOExtPlugin

    def configure_plugin(self, inputs: Sequence[Desc], outputs: Sequence[Desc]) -> None:
        """Passes it types, formats, shapes and INT8 scales."""
        self.made_over = None
        self.native.configure_plugin([d.native() for d in inputs], [d.native() for d in outputs])


PLUGIN = IOExtPlugin
