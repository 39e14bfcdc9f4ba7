"""What each interface's folder offers to the host, and all of them by name."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, Protocol, cast

from typing_extensions import Self

from pluginkit import bases
from pluginkit.host.descriptors import Desc
from pluginkit.host.handles import NONE, Handles
from pluginkit.host.library import Creator
from pluginkit.host.spec import Bounds, BuiltPlugin, LayerConfig, TensorSpec


class Layer(Protocol):
    """A layer of an engine in a context: what differs from interface to interface."""

    def name_of(self, method: str) -> str:
        """The C++ name of a method, for findings."""

    def reshape(self, inputs: Sequence[Desc], outputs: Sequence[Desc], bounds: Bounds | None = None) -> None:
        """Called before the first run, and before each whose shapes are others than the last one's; `bounds` are the
        profile's, without which each shape is its own."""

    def workspace_size(self, inputs: Sequence[Desc], outputs: Sequence[Desc]) -> int:
        """The workspace of a run, in bytes."""

    def enqueue(
        self,
        inputs: Sequence[Desc],
        outputs: Sequence[Desc],
        *,
        in_addresses: Sequence[int],
        out_addresses: Sequence[int],
        workspace: int,
        stream: int,
        times: int = 1,
    ) -> None:
        """Runs the plugin; so many times over, without Python between them, where that is measured."""

    def select_tactic(self, built: BuiltPlugin) -> None:
        """The runs that follow are with the tactic of the layer as it is given here: it is in another profile."""

    def second_context(self) -> Self:
        """The layer in a second context of the same engine, to be closed before this."""

    def close(self) -> None:
        """Ends the context, then the engine; of a second context, that alone."""


class Lifecycle(Protocol):
    """What a module `lifecycle` offers."""

    def build(
        self, plugin: Any, creator: Creator, layer: str, profiles: Sequence[Sequence[TensorSpec]], given: LayerConfig
    ) -> BuiltPlugin:
        """Builds the layer of a network's plugin, a `PLUGIN` of the same folder, which is destroyed by that.

        Raises:
            Finding: the plugin answers wrongly.
        """

    def restore(
        self, creator: Creator, built: BuiltPlugin, handles: Handles = NONE, *, initialize_clones: bool = False
    ) -> Layer:
        """Makes a plugin of what was serialized, and attaches it to a context with these handles. With
        `initialize_clones` clones are initialized and terminated too, which TensorRT doesn't do.

        Raises:
            Finding: the plugin answers wrongly.
        """


LIFECYCLES: dict[bases.Name, Lifecycle] = {
    name: cast("Lifecycle", importlib.import_module(f"pluginkit.host.bases.{name}.lifecycle")) for name in bases.BASES
}
"""Imported with this module, so that a worker forked later has them."""
