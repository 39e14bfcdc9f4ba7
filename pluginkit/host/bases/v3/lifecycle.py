"""A layer with an IPluginV3, in TensorRT's order.

| step | what is called | why so |
| --- | --- | --- |
| network | createPlugin(kBUILD), getCapabilityInterface, getPluginName, ... | L9, I1; it comes initialized (F12) |
|  | clone, then deletion of the first | a network keeps a copy and its caller deletes his own (L1, L4, L9) |
| analysis | getNbOutputs, getOutputDataTypes, getOutputShapes, getAliasedInput | before configure (T1, T6, T9, T16) |
| per profile | supportsFormatCombination for each tensor | later tensors are not set (C1) |
|  | configurePlugin with -1, min, opt, max | C11, C13 |
|  | getNbTactics, getValidTactics, getWorkspaceSize | V1, C14: one workspace for the profile, asked for at build only |
| engine | getFieldsToSerialize, deletion | S10 |
| load | createPlugin(kRUNTIME) with those fields | in another process (S9) |
| context | attachToContext, setTactic on its answer | a new plugin for each context (L10), V2 |
| another profile | setTactic, if it has another tactic | "to be used in the subsequent call to enqueue()" |
| new shapes or profile | onShapeChange with the real dimensions | not configurePlugin, which belongs to the build |
| run | enqueue | the workspace is that of the build |
| end | deletion of the context's plugin, then of the engine's | |

There is no initialize, no terminate and no setPluginNamespace. The rules are those of NVIDIA's headers (IPluginV3,
IPluginV3OneCore, IPluginV3OneBuild, IPluginV3OneRuntime); that the network's plugin is a clone and that analysis comes
before configure, TensorRT-RTX's builder shows (tests/host/test_v3_rtx.py).

A size tensor's value is known after enqueue only. Before it a dimension that depends on one is -1 in the output's
descriptor, and the memory is as large as its upper bound asks for: how TensorRT fills that descriptor at run time is
documented nowhere that we know of, so a plugin should look at neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace

from typing_extensions import Self

from pluginkit.demands import warn
from pluginkit.dtypes import DType
from pluginkit.host import formats
from pluginkit.host.bases.changed_fields import Fields
from pluginkit.host.bases.v2_lifecycle import MAX_WORKSPACE
from pluginkit.host.bases.v2_plugin import Serialized
from pluginkit.host.bases.v3.plugin import Capability, Identity, PluginV3, build_name, difference, runtime_name
from pluginkit.host.descriptors import Desc, DynamicDesc
from pluginkit.host.errors import Finding, HostBug
from pluginkit.host.expressions import ShapeProgram
from pluginkit.host.handles import NONE, Handles
from pluginkit.host.library import Creator
from pluginkit.host.spec import Bounds, BuiltPlugin, LayerConfig, TensorSpec, V3Facts, as_dict

Profile = Sequence[TensorSpec]

BUILD: tuple[Capability, ...] = ("kCORE", "kBUILD", "kRUNTIME")
RUNTIME: tuple[Capability, ...] = ("kCORE", "kRUNTIME")


def build(
    plugin: PluginV3,
    creator: Creator,
    layer: str,
    profiles: Sequence[Profile],
    given: LayerConfig,
) -> BuiltPlugin:
    """Builds the layer of a plugin, which is destroyed by that.

    Raises:
        Finding: the plugin answers wrongly.
    """
    shape_inputs = given.shape_inputs
    tensors = [_without(profile, shape_inputs) for profile in profiles]
    types = tuple(spec.dtype for spec in tensors[0])
    dims = tuple(spec.dims for spec in tensors[0])
    values = tuple(profiles[0][index].dims for index in shape_inputs)
    nb_outputs = plugin.nb_outputs()
    given.check_count(build_name("getNbOutputs"), nb_outputs)
    out_types = plugin.output_data_types(nb_outputs, types)
    given.check_types(build_name("getOutputDataTypes"), types, out_types)
    shapes = plugin.output_shapes(dims, [len(value) for value in values], nb_outputs)
    if plugin.output_shapes(dims, [len(value) for value in values], nb_outputs) != shapes:
        warn("T18", build_name("getOutputShapes"), "answered other expressions when asked again")
    _check_sizes(shapes, out_types)
    aliases = plugin.aliases(len(types), nb_outputs)
    plugin.format_combination_limit()
    texts = plugin.stable_texts()
    how = given.outputs(nb_outputs)
    network = (*dims, *values)
    outputs, configured, tactics, workspaces = [], [], [], []
    for whole, profile in zip(profiles, tensors, strict=True):
        points = [[*profile, *(whole[index] for index in shape_inputs)]]
        outs = _outputs(network, points[0], shapes, out_types, how)
        described = [s.dynamic() for s in profile], [s.dynamic() for s in outs]
        walked, descs = WalkedV3(plugin, described[0] + described[1]), [s.desc() for s in (*profile, *outs)]
        formats.walk(walked, descs, len(profile))
        formats.check_declared(walked, descs, len(profile), given)
        if given.chooses and whole is profiles[0]:
            formats.ask_all(walked, descs, len(profile))
        plugin.configure_plugin(*described)
        configured.append({"inputs": [as_dict(d) for d in described[0]], "outputs": [as_dict(d) for d in described[1]]})
        tactics.append(plugin.tactics())
        workspaces.append(_workspace(plugin, *described))
        outputs.append(outs)
    if plugin.nb_outputs() != nb_outputs:
        message = f"answered {nb_outputs} before configurePlugin and another after it"
        raise Finding(build_name("getNbOutputs"), message, rule="T1")
    if plugin.stable_texts()[0] != texts[0]:
        raise Finding(
            build_name("getTimingCacheID"),
            f"answered {texts[0]!r} before configurePlugin and {plugin.stable_texts()[0]!r} after it: it may depend on "
            "what the plugin was created with only",
            rule="V3",
        )
    kept = plugin.fields_to_serialize()
    plugin.destroy()
    return BuiltPlugin(
        plugin.BASE,
        layer,
        creator.name,
        creator.version,
        creator.namespace,
        Serialized(b""),
        network,
        shapes,
        tuple(outputs),
        tuple(configured),
        max(workspaces),
        v3=V3Facts(kept, tuple(tactics), aliases, tuple(shape_inputs)),
    )


def with_tactic(built: BuiltPlugin, profile: int, index: int) -> BuiltPlugin:
    """The layer with another tactic of that profile: what a builder chooses by time. Beyond the last: the last one."""
    if built.v3 is None:
        return built
    tactics = built.v3.tactics[profile]
    return replace(built, v3=replace(built.v3, tactic=tactics[min(index, len(tactics) - 1)]))


def _without(profile: Profile, indices: Sequence[int]) -> list[TensorSpec]:
    return [spec for index, spec in enumerate(profile) if index not in indices]


def network_clone(creator: Creator, layer: str, fields: Fields) -> PluginV3:
    """The copy that a network keeps.

    Raises:
        Finding: no plugin, or one of another name, version or namespace than its creator's.
    """
    original = creator.create_v3(layer, fields)
    original.check_capabilities(BUILD)
    _check_identity(original.identity(), creator.name, creator.version, creator.namespace)
    plugin = original.clone(BUILD)
    original.destroy()
    return plugin


def _check_identity(found: Identity, name: str, version: str, namespace: str) -> None:
    for method, mine, its in (
        ("getPluginName", found.name, name),
        ("getPluginVersion", found.version, version),
        ("getPluginNamespace", found.namespace, namespace),
    ):
        if mine != its:
            message = f"answered {mine!r}, but its creator is that of {its!r}"
            raise Finding(f"IPluginV3OneCore::{method}", message, rule="I1")


def _check_sizes(shapes: Sequence[ShapeProgram], types: Sequence[DType]) -> None:
    for size in shapes[0].sizes if shapes else ():
        if types[size.output] is not DType.INT32:
            raise Finding(
                build_name("getOutputDataTypes"),
                f"output {size.output} is a size tensor of type {types[size.output].trt}, expected kINT32",
                rule="T8",
            )


def _outputs(
    network: Sequence[tuple[int, ...]],
    inputs: Profile,
    shapes: Sequence[ShapeProgram],
    types: Sequence[DType],
    how: Sequence[tuple[float, int]],
) -> tuple[TensorSpec, ...]:
    low, opt, high = ([getattr(s, point) for s in inputs] for point in ("min", "opt", "max"))
    return tuple(
        TensorSpec(dtype, shape.dims, *shape.range(network, low, opt, high), scale, form)
        for shape, dtype, (scale, form) in zip(shapes, types, how, strict=True)
    )


class WalkedV3:
    """What the format walk asks, with the profile's bounds in each descriptor."""

    def __init__(self, plugin: PluginV3, bounds: Sequence[DynamicDesc]) -> None:
        self._plugin = plugin
        self._bounds = bounds

    def name_of(self, method: str) -> str:
        return build_name(method)

    def supports_format_combination(self, pos: int, in_out: Sequence[Desc], nb_inputs: int, nb_outputs: int) -> bool:
        described = [
            replace(bound, desc=desc) if desc.dims == bound.desc.dims else DynamicDesc(desc, *[desc.dims] * 3)
            for bound, desc in zip(self._bounds, in_out, strict=True)
        ]
        return self._plugin.supports_format_combination(pos, described, nb_inputs, nb_outputs)


def _workspace(plugin: PluginV3, inputs: Sequence[DynamicDesc], outputs: Sequence[DynamicDesc]) -> int:
    """For the whole profile; for a narrower one, that ends at opt, the plugin may not want more (C14)."""

    def at_opt(descs: Sequence[DynamicDesc]) -> list[DynamicDesc]:
        return [replace(desc, max=desc.opt) for desc in descs]

    most, some = plugin.workspace_size(inputs, outputs), plugin.workspace_size(at_opt(inputs), at_opt(outputs))
    method = build_name("getWorkspaceSize")
    if most < some:
        message = f"answered {most} bytes for the profile and more, {some}, where its opt is its max"
        raise Finding(method, message, rule="C14")
    if most > MAX_WORKSPACE:
        raise Finding(method, f"answered {most} bytes, and this host takes {MAX_WORKSPACE} at most", rule="T2")
    return most


class V3Layer:
    """The layer in an execution context: made of the fields alone."""

    def __init__(
        self, creator: Creator, built: BuiltPlugin, handles: Handles = NONE, *, initialize_clones: bool = False
    ) -> None:
        del handles, initialize_clones  # an IPluginV3 is given none, and has no initialize
        if built.v3 is None:
            raise HostBug("a layer that was not built as IPluginV3")
        self._built = built
        self._engine = creator.restore_v3(built.layer, built.v3.kept)
        self._engine.check_capabilities(RUNTIME)
        _check_identity(self._engine.identity(), built.name, built.version, built.namespace)
        again = self._engine.fields_to_serialize()
        if again != built.v3.kept:
            warn(
                "S4",
                "IPluginCreatorV3One::createPlugin",
                f"the plugin made of the serialized fields gives others: {difference(built.v3.kept, again)}",
            )
        self._tactic = built.v3.tactic
        self._attach()
        self._first = True

    def _attach(self) -> None:
        self._plugin = self._engine.attach_to_context(RUNTIME)
        self._plugin.set_tactic(self._tactic)

    def name_of(self, method: str) -> str:
        """The C++ name of a method, for findings."""
        return runtime_name(method)

    def reshape(self, inputs: Sequence[Desc], outputs: Sequence[Desc], bounds: Bounds | None = None) -> None:
        """Passes the plugin the shapes of the runs that follow; onShapeChange gets no bounds."""
        del bounds
        self._plugin.on_shape_change(inputs, outputs)

    def workspace_size(self, inputs: Sequence[Desc], outputs: Sequence[Desc]) -> int:
        """The workspace of a run, in bytes: what was asked for at build."""
        del inputs, outputs
        return self._built.workspace

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
        """Runs the plugin."""
        self._plugin.enqueue(
            inputs,
            outputs,
            in_addresses=in_addresses,
            out_addresses=out_addresses,
            workspace=workspace,
            stream=stream,
            times=times,
        )

    def select_tactic(self, built: BuiltPlugin) -> None:
        """Passes the plugin the tactic of another profile, if it is another one."""
        tactic = built.v3.tactic if built.v3 is not None else 0
        if tactic != self._tactic:
            self._tactic = tactic
            self._plugin.set_tactic(tactic)

    def second_context(self) -> Self:
        """A second context of the same engine, to be closed before this."""
        other = copy(self)
        other._attach()
        other._first = False
        return other

    def close(self) -> None:
        """Ends the context, then the engine."""
        self._plugin.destroy()
        if self._first:
            self._engine.destroy()


restore = V3Layer
