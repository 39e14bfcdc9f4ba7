"""The build of a layer with an IPluginV2DynamicExt, in TensorRT's order.

| step | what is called | why so |
| --- | --- | --- |
| network | createPlugin, setPluginNamespace | the parser sets what the creator has (S6) |
|  | clone, then destroy of the first | a network keeps a copy and its caller frees his own (L1, L4) |
| analysis | getNbOutputs, getOutputDataType, getOutputDimensions | before any configure (T1, T4, T9-T13, T16) |
| per profile | supportsFormatCombination for each tensor | later tensors are not set (C1) |
|  | configurePlugin with -1, min, opt, max | C11 |
|  | initialize, getWorkspaceSize at max and opt, terminate | L6, C14 |
| engine | getSerializationSize, serialize, destroy | S1, S2 |

The rules are those of TensorRT's headers (IPluginV2, IPluginV2Ext, IPluginV2DynamicExt). No kernel runs here: a builder
on a machine without a GPU calls enqueue only when it times tactics, and this host's runs are all in `context`.
"""

from __future__ import annotations

from collections.abc import Sequence

from pluginkit.dtypes import DType
from pluginkit.host import formats
from pluginkit.host.errors import Finding, HostBug
from pluginkit.host.expressions import ShapeProgram
from pluginkit.host.library import Creator, Fields
from pluginkit.host.plugin import LINEAR, Desc, Plugin, name_of
from pluginkit.host.spec import BuiltPlugin, TensorSpec, as_dict

Profile = Sequence[TensorSpec]

MAX_WORKSPACE = 1 << 40
"""Bytes; no GPU has as many. NVIDIA's builder gives a plugin that wants more than there is no tactic."""


def build(
    creator: Creator,
    layer_name: str,
    fields: Fields,
    profiles: Sequence[Profile],
    *,
    output_scales: Sequence[float] = (),
    output_formats: Sequence[int] = (),
    undeclared: Sequence[Sequence[int]] = (),
) -> BuiltPlugin:
    """Builds a layer for these profiles, each the list of the plugin's inputs.

    `output_scales` are the outputs' INT8 scales in implicit quantization, where configure sees them in `desc.scale`;
    none means explicit quantization: 1 for all. `output_formats` are numbers of `nvinfer1::TensorFormat`; none means
    linear. `undeclared` are formats of all inputs and outputs that the plugin must refuse.

    Raises:
        Finding: the plugin answers wrongly.
        HostBug: the profiles contradict each other or themselves.
    """
    _check_profiles(profiles)
    plugin = _network_clone(creator, layer_name, fields)
    types = tuple(spec.dtype for spec in profiles[0])
    dims = tuple(spec.dims for spec in profiles[0])
    nb_outputs = plugin.nb_outputs()
    out_types = [plugin.output_data_type(i, types) for i in range(nb_outputs)]
    shapes = tuple(plugin.output_dimensions(i, dims) for i in range(nb_outputs))
    _check_ways(plugin, profiles, shapes)
    how = list(zip(output_scales or [1.0] * nb_outputs, output_formats or [LINEAR] * nb_outputs, strict=True))
    outputs = [_outputs(profile, shapes, out_types, how) for profile in profiles]
    configured, workspaces = [], []
    for profile, outs in zip(profiles, outputs, strict=True):
        formats.walk(plugin, [s.desc() for s in (*profile, *outs)], len(profile))
        formats.check_declared(plugin, [s.desc() for s in (*profile, *outs)], len(profile), undeclared)
        described = [s.dynamic() for s in profile], [s.dynamic() for s in outs]
        plugin.configure_plugin(*described)
        configured.append({"inputs": [as_dict(d) for d in described[0]], "outputs": [as_dict(d) for d in described[1]]})
        plugin.initialize()
        workspaces.append(_workspace(plugin, profile, outs))
        plugin.terminate()
    _same_outputs(plugin, nb_outputs)
    serialized = plugin.serialize()
    plugin.destroy()
    return BuiltPlugin(
        layer_name,
        creator.name,
        creator.version,
        creator.namespace,
        serialized,
        dims,
        shapes,
        tuple(outputs),
        tuple(configured),
        max(workspaces),
    )


def _check_profiles(profiles: Sequence[Profile]) -> None:
    if not profiles:
        raise HostBug("a build without a profile")
    first = [(s.dtype, s.dims) for s in profiles[0]]
    for profile in profiles:
        if [(s.dtype, s.dims) for s in profile] != first:
            raise HostBug(f"profiles of one network with different inputs: {profile} and {profiles[0]}")
        for spec in profile:
            rows = list(zip(spec.dims, spec.min, spec.opt, spec.max, strict=True))
            # A min is negative where it is a bound of what another plugin computes: see ShapeProgram.range.
            if any(not low <= opt <= high or opt < 0 for _, low, opt, high in rows):
                raise HostBug(f"{spec} has not min <= opt <= max")
            if any(dim >= 0 and {low, opt, high} != {dim} for dim, low, opt, high in rows):
                raise HostBug(f"{spec} has a constant dimension with other values in its profile")


def _network_clone(creator: Creator, layer: str, fields: Fields) -> Plugin:
    original = creator.create(layer, fields)
    original.set_plugin_namespace(creator.namespace)
    for method, mine, its in (
        ("getPluginType", original.plugin_type(), creator.name),
        ("getPluginVersion", original.plugin_version(), creator.version),
    ):
        if mine != its:
            raise Finding(name_of(method), f"answered {mine!r}, but its creator is that of {its!r}")
    plugin = original.clone()
    original.destroy()
    return plugin


def _outputs(
    inputs: Profile, shapes: Sequence[ShapeProgram], types: Sequence[DType], how: Sequence[tuple[float, int]]
) -> tuple[TensorSpec, ...]:
    network = [s.dims for s in inputs]
    low, opt, high = ([getattr(s, point) for s in inputs] for point in ("min", "opt", "max"))
    specs = []
    for shape, dtype, (scale, form) in zip(shapes, types, how, strict=True):
        specs.append(TensorSpec(dtype, shape.dims, *shape.range(network, low, opt, high), scale, form))
    return tuple(specs)


def _check_ways(plugin: Plugin, profiles: Sequence[Profile], shapes: Sequence[ShapeProgram]) -> None:
    """The same shapes must come out of a network whose dimensions are all constant (rule T10)."""
    network = [s.dims for s in profiles[0]]
    points = [tuple(getattr(s, point) for s in profile) for profile in profiles for point in ("min", "opt", "max")]
    for dims in dict.fromkeys(points):
        for index, shape in enumerate(shapes):
            try:
                symbolic = shape.at(network, dims)
            except Finding:
                continue  # min and max may be bounds of what another plugin computes, and no shapes
            constant = plugin.output_dimensions(index, dims).at(dims, dims)
            if constant != symbolic:
                raise Finding(
                    name_of("getOutputDimensions"),
                    f"output {index} for inputs of the shapes {list(dims)}: {list(constant)} where the network's "
                    f"dimensions are constant, {list(symbolic)} where they are dynamic",
                )


def _workspace(plugin: Plugin, inputs: Profile, outputs: Profile) -> int:
    def ask(point: str) -> int:
        def at(specs: Profile) -> list[Desc]:
            return [s.at(getattr(s, point)) for s in specs]

        return plugin.workspace_size(at(inputs), at(outputs))

    most, some = ask("max"), ask("opt")
    if most < some:
        raise Finding(
            name_of("getWorkspaceSize"), f"answered {most} bytes for the profile's max and more, {some}, for its opt"
        )
    if most > MAX_WORKSPACE:
        raise Finding(name_of("getWorkspaceSize"), f"answered {most} bytes, expected at most {MAX_WORKSPACE}")
    return most


def _same_outputs(plugin: Plugin, before: int) -> None:
    now = plugin.nb_outputs()
    if now != before:
        raise Finding(name_of("getNbOutputs"), f"answered {before} before configurePlugin and {now} after it")
