"""What implements each node of a model when NVIDIA's parser meets it.

The order is the parser's, tried on TensorRT-RTX 1.7.1: a plugin of the node's type, by the attributes `plugin_version`
and `plugin_namespace`, where the node has the latter; an operator that the parser knows itself, whatever the node's
domain; a local function of that name, whatever its domain; then a plugin without that attribute, also by the node's
domain as namespace.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import onnx

from pluginkit import layouts, nvidia_plugins
from pluginkit.build import Instrumentation
from pluginkit.creators.facts import CreatorFacts
from pluginkit.importing.onnx_graph import Place, function_name, places
from pluginkit.importing.plugin_node import NAMESPACE, VERSION, attribute, text
from pluginkit.manifest.project import Member

By = Literal["native", "plugin", "function", "missing"]


@dataclass(frozen=True)
class PluginLibrary:
    """A library that was given with the model.

    Attributes:
        path: the library.
        creators: what it brings.
        plugins: its plugins' manifests, where it is a project's library.
        target: `cpu`, `gpu` or `unknown`.
        checked: the same sources built with checks of `pluginkit.build.SANITIZERS`, for target cpu.
        host_version: the TensorRT that pluginkit's host plays with it.
        registers: whether it registers its creators itself, so that IPluginRegistry::loadLibrary doesn't take it.
        for_rtx: whether it does so in TensorRT-RTX's process.
    """

    path: Path
    creators: tuple[CreatorFacts, ...]
    plugins: tuple[Member, ...] = ()
    target: str = "unknown"
    checked: Mapping[Instrumentation, Path] = field(default_factory=dict)
    host_version: int = layouts.LAYOUTS[0].host_version
    registers: bool = False
    for_rtx: bool = False

    def of(self, instrumentation: Instrumentation) -> Path:
        """The library with these checks, or the plain one."""
        return self.checked[instrumentation] if instrumentation.sanitizers else self.path


@dataclass(frozen=True)
class Implementation:
    """A node, and what implements it.

    Attributes:
        place: the node.
        by: `native`: NVIDIA's parser itself; `plugin`; `function`: a local function of the model; or `missing`.
        library, creator: the plugin's.
        function: the local function's `domain::name`.
    """

    place: Place
    by: By
    library: PluginLibrary | None = None
    creator: CreatorFacts | None = None
    function: str = ""

    @property
    def member(self) -> Member | None:
        """The plugin's manifest in its library's project; None where there is none."""
        if self.library is None or self.creator is None:
            return None
        name = self.creator.name
        return next((one for one in self.library.plugins if one.name == name), None)

    @property
    def who(self) -> str:
        """For the user."""
        if self.library is not None and self.creator is not None:
            return f"plugin {self.creator.name} {self.creator.version} of {self.library.path.name}"
        return f"function {self.function}" if self.function else self.by

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "node": self.place.label,
            "operator": self.place.operator,
            "by": self.by,
            "library": str(self.library.path) if self.library else None,
            "plugin": [self.creator.name, self.creator.version, self.creator.namespace] if self.creator else None,
            "function": self.function or None,
        }


def find_implementations(
    model: onnx.ModelProto, libraries: Sequence[PluginLibrary], native: Callable[[str], bool]
) -> list[Implementation]:
    """What implements each node of the main graph, and of each local function that is called.

    Args:
        model: the model.
        libraries: of equal creators the first one's counts.
        native: whether the parser knows an operator itself.
    """
    by_name = {function.name: function for function in model.functions}
    implementations = [_implementation(place, libraries, by_name, native) for place in places(model.graph)]
    called: set[str] = set()
    while new := {one.place.node.op_type for one in implementations if one.by == "function"} - called:
        called |= new
        for name in sorted(new):
            implementations += [_implementation(place, libraries, by_name, native) for place in places(by_name[name])]
    return implementations


def _implementation(
    place: Place,
    libraries: Sequence[PluginLibrary],
    functions: dict[str, onnx.FunctionProto],
    native: Callable[[str], bool],
) -> Implementation:
    node = place.node
    own = native(node.op_type)
    for identity in wanted(node, native=own or node.op_type in functions):
        for library in libraries:
            for creator in library.creators:
                if (creator.name, creator.version, creator.namespace) == identity:
                    return Implementation(place, "plugin", library, creator)
    if own:
        return Implementation(place, "native")
    if node.op_type in functions:
        return Implementation(place, "function", function=function_name(functions[node.op_type]))
    # A plugin that TensorRT-RTX's registry has of its own.
    asked = wanted(node, native=False)
    if any(version in nvidia_plugins.rtx_plugins(name) and not namespace for name, version, namespace in asked):
        return Implementation(place, "native")
    return Implementation(place, "missing")


def wanted(node: onnx.NodeProto, *, native: bool) -> list[tuple[str, str, str]]:
    """The (name, version, namespace) of the plugins that the parser looks for, in its order.

    Args:
        node: the node.
        native: whether the parser implements the operator itself, or by a function of the model: a plugin goes before
            it only where the node names a namespace, be it the empty one.
    """
    if native and attribute(node, NAMESPACE) is None:
        return []
    version = text(node, VERSION, "1")
    namespaces = (text(node, NAMESPACE, ""), *(() if native else (node.domain,)))
    return list(dict.fromkeys((node.op_type, version, one) for one in namespaces))
