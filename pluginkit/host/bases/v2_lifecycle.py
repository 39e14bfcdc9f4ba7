"""The order in which TensorRT calls a V2 plugin, and the calls that both V2 interfaces have in common.

D marks what IPluginV2DynamicExt alone has, IO what the interfaces with static shapes have: IPluginV2IOExt, and
IPluginV2Ext and IPluginV2, which are asked supportsFormat for each tensor that is not of integers instead of
supportsFormatCombination, and get dimensions without the batch, types and one format; IPluginV2 has none of
getOutputDataType, the two questions on broadcasts, attachToContext and detachFromContext, and is configured by
configureWithFormat.

| step | what is called | why so |
| --- | --- | --- |
| network | IPluginCreator::setPluginNamespace, createPlugin | the creator is registered in any namespace (I6) |
|  | setPluginNamespace | the parser sets what the creator has (I5) |
|  | getNbOutputs, getOutputDataType | 8.5.3 asks the first object: `first-object` |
|  | clone, then destroy of the first | a network keeps a copy and its caller frees his own (L1, L4) |
| analysis | getNbOutputs, getOutputDataType, getOutputDimensions | before any configure (T1, T6, T9-T12, T16) |
|  | IO, layout 10: isOutputBroadcastAcrossBatch, canBroadcastInputAcrossBatch | TensorRT 11 has neither |
| build | clone of the network's, of that one more for configurePlugin | 8.5.3: `formats-asked` |
|  | supportsFormatCombination for each tensor | later tensors are not set (C1) |
|  | the same for every type and format at each tensor | 8.5.3, also behind a no: `formats-asked` |
|  | D: configurePlugin with the types of other candidates | 8.5.3: `candidates` |
|  | D: configurePlugin with -1, min, opt, max | C11 |
|  | D: getWorkspaceSize at max and opt | C14; 8.5.3 asks before initialize: `workspace-asked` |
|  | IO: configurePlugin with dims, type, format, scale | once, "prior to initialize()" |
|  | IO, layout 8: getWorkspaceSize(maxBatchSize) | 8.5.3, before initialize: `workspace-asked` |
|  | initialize | L6 |
|  | IO: getWorkspaceSize(maxBatchSize) | "after initialize()", for any batch up to the maximum |
|  | getSerializationSize, serialize, twice | initialized, before terminate (S1, S2) |
|  | terminate, destroy | L4, L6 |
|  | layout 8: all that `timed` calls of one more clone | 8.5.3, where it times enqueue: `timed-object` |
| engine | deserializePlugin, setPluginNamespace, initialize | in another process (S3, I5, I6, L6) |
| context | clone, attachToContext on the clone | a clone of an initialized plugin needs no initialize (L2, L11) |
|  | an IPluginV2 itself, no clone | 8.5.3: `object-of-v2` |
| first run | D: configurePlugin with the profile's opt as dims, where the run has other shapes | C11 |
| new shapes, profile | D: configurePlugin with real dimensions, the profile's min, opt, max | C11; IO never again |
| run | D: getWorkspaceSize, enqueue | the workspace has exactly that size, null for none |
|  | IO: getWorkspaceSize(batchSize), enqueue(batchSize) | gets no shapes |
| end | detachFromContext, destroy of the clone | L4 |
|  | terminate, destroy of the engine's | L4, L6 |

D: `build` is done for each profile on clones of its own, and what the last one serializes is the engine's. IO has one
shape a profile. Where the builder chooses no types (`LayerConfig.chooses`), only the network's own are asked for and
configured.

The ids are those of docs/demands.md and, of what TensorRT 8.5.3 was seen to do, of docs/behaviours.md; quotations are
from NvInferRuntimePlugin.h. `dynamic.lifecycle` and `static_lifecycle` carry out analysis, build, new shapes and run;
this module does the rest. No kernel runs at build: a builder on a machine without a GPU calls enqueue only when it
times tactics, and this host's runs are all in `context`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, Generic, TypeVar

from typing_extensions import Self

from pluginkit import _native
from pluginkit.demands import warn
from pluginkit.dtypes import DType
from pluginkit.host.bases.changed_fields import Fields, changed
from pluginkit.host.bases.v2_plugin import V2Plugin
from pluginkit.host.errors import Finding
from pluginkit.host.handles import NONE, Handles
from pluginkit.host.library import SPACE, Creator
from pluginkit.host.spec import BuiltPlugin, TensorSpec
from pluginkit.layouts import BEFORE_V3, Layout, layout

P = TypeVar("P", bound=V2Plugin[Any])

UNREADY = (
    "clone() of an initialized plugin gives one that isn't ready: TensorRT calls initialize() of the engine's plugin\n"
    "  alone, and runs its clones. Called of the clones too, {}."
)
"""What is wrong where all is well with initialize() of clones; `L2`."""
SHARE = "Let clone() share what initialize() made, by std::shared_ptr, or make its own and free it in destroy()."

Profile = Sequence[TensorSpec]
"""The plugin's inputs in one profile."""

MAX_WORKSPACE = 1 << 40
"""Bytes; no GPU has as many. NVIDIA's builder gives a plugin that wants more than there is no tactic."""


def network_clone(creator: Creator, layer: str, fields: Fields, types: Sequence[DType]) -> V2Plugin[Any]:
    """The copy that a network keeps; `types` are the inputs', for which the first plugin is asked its outputs' too.

    Raises:
        Finding: no plugin, or one of another name or version than its creator's.
    """
    with creator.in_another_namespace() as namespace:
        original = creator.create(layer, fields)
    _put_into_namespace(original, "createPlugin", namespace)
    for method, mine, its in (
        ("getPluginType", original.plugin_type(), creator.name),
        ("getPluginVersion", original.plugin_version(), creator.version),
    ):
        if mine != its:
            message = f"answered {mine!r}, but its creator is that of {its!r}"
            raise Finding(original.name_of(method), message, rule="I1")
    for index in range(original.nb_outputs()):
        original.output_data_type(index, types)
    plugin = original.clone()
    original.destroy()
    return plugin


def timed(plugin: V2Plugin[Any], configure: Callable[[V2Plugin[Any]], None]) -> None:
    """Of a plugin for TensorRT 8, the life of a clone whose enqueue 8.5.3 times where types compete: `timed-object`."""
    if not for_8(plugin):
        return
    clone = plugin.clone()
    configure(clone)
    clone.initialize()
    clone.attach_to_context()
    clone.detach_from_context()
    clone.terminate()
    clone.detach_from_context()
    clone.destroy()


def _put_into_namespace(plugin: V2Plugin[Any], made_by: str, creators: str | None) -> None:
    """Sets a plugin's namespace; the method `made_by` should have set that of its creator, `creators` (I6)."""
    found = plugin.plugin_namespace()
    if found != creators:
        message = f"made a plugin in namespace {found!r}; its creator is in {creators!r}"
        warn("I6", f"IPluginCreator::{made_by}", message)
    plugin.set_plugin_namespace(SPACE)


def check_outputs(plugin: V2Plugin[Any], before: int) -> None:
    """Raises a Finding when configurePlugin has changed the number of outputs."""
    now = plugin.nb_outputs()
    if now != before:
        message = f"answered {before} before configurePlugin and {now} after it"
        raise Finding(plugin.name_of("getNbOutputs"), message, rule="T1")


def check_workspace(plugin: V2Plugin[Any], size: int) -> int:
    """The size, or a Finding that it is too much."""
    if size > MAX_WORKSPACE:
        message = f"answered {size} bytes, and this host takes {MAX_WORKSPACE} at most"
        raise Finding(plugin.name_of("getWorkspaceSize"), message, rule="T2")
    return size


class V2Layer(Generic[P]):
    """A plugin of an engine and its clone in a context, from the serialized bytes."""

    def __init__(
        self, creator: Creator, built: BuiltPlugin, kind: type[P], handles: Handles, *, initialize_clones: bool = False
    ) -> None:
        self.built = built
        self._initialize_clones = initialize_clones
        with creator.in_another_namespace() as namespace:
            engine = creator.deserialize(built.layer, built.serialized.data)
        if not isinstance(engine, kind):
            raise Finding(
                "IPluginCreator::deserializePlugin",
                f"made an {engine.INTERFACE}, but the layer was built as an {kind.INTERFACE}",
                rule="S3",
            )
        self._engine = engine
        self._engine.fields = built.fields
        _put_into_namespace(engine, "deserializePlugin", namespace)
        _check_restored(self._engine, built)
        self._engine.initialize()
        # 8.5.3 runs an engine's IPluginV2 itself: `object-of-v2`.
        self._plugin = self._engine if kind.BASE == "v2" else self._clone()
        self._plugin.attach_to_context(handles if _layout(self._plugin).hands_handles else NONE)
        self._first = True

    def _clone(self) -> P:
        clone = self._engine.clone()
        if self._initialize_clones:
            clone.initialize()
        return clone

    def name_of(self, method: str) -> str:
        """The C++ name of a method."""
        return self._plugin.name_of(method)

    def select_tactic(self, built: BuiltPlugin) -> None:
        """Nothing: a plugin of the second generation has none."""

    def second_context(self) -> Self:
        """A second context of the same engine, to be closed before this."""
        other = copy(self)
        other._plugin = self._clone()
        other._plugin.attach_to_context()
        other._first = False
        return other

    def close(self) -> None:
        """Detaches, terminates and destroys."""
        self._plugin.detach_from_context()
        if self._plugin is not self._engine:
            if self._initialize_clones:
                self._plugin.terminate()
            self._plugin.destroy()
        if not self._first:
            return
        self._engine.terminate()
        self._engine.destroy()


def for_8(plugin: V2Plugin[Any]) -> bool:
    """Whether its class is TensorRT 8's, so that no other one calls it."""
    return _layout(plugin) is BEFORE_V3


def _layout(plugin: V2Plugin[Any]) -> Layout:
    """The layout that it was compiled for."""
    return layout(_native.layout_of(plugin.tensorrt_version() & 0xFFFFFF))


def _check_restored(plugin: V2Plugin[Any], built: BuiltPlugin) -> None:
    again = plugin.serialize()
    if not again.like(built.serialized):
        raise Finding(
            "IPluginCreator::deserializePlugin",
            f"the plugin made of {len(built.serialized.data)} bytes serializes to {len(again.data)} other bytes"
            + changed(built.fields, built.serialized.data, again.data, "{} after deserialize, {} before"),
            rule="S3",
        )
    count = plugin.nb_outputs()
    if count != len(built.shapes):
        raise Finding(
            plugin.name_of("getNbOutputs"),
            f"answered {count} after deserialization, {len(built.shapes)} at build",
            rule="T1",
        )
