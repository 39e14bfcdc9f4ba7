"""The build and the runs of a layer with an IPluginV2DynamicExt; `v2_lifecycle` has the order of all calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from pluginkit.dtypes import DType
from pluginkit.formats import Format
from pluginkit.host import formats
from pluginkit.host.bases.dynamic.plugin import DynamicPlugin
from pluginkit.host.bases.v2_lifecycle import Profile, V2Layer, check_outputs, check_workspace, timed
from pluginkit.host.descriptors import Desc, DynamicDesc
from pluginkit.host.errors import Finding
from pluginkit.host.expressions import ShapeProgram
from pluginkit.host.handles import NONE, Handles
from pluginkit.host.library import Creator
from pluginkit.host.spec import Bounds, BuiltPlugin, LayerConfig, TensorSpec, as_dict


def build(
    plugin: DynamicPlugin,
    creator: Creator,
    layer: str,
    profiles: Sequence[Profile],
    given: LayerConfig,
) -> BuiltPlugin:
    """Builds the layer of a plugin, which is destroyed by that.

    Raises:
        Finding: the plugin answers wrongly.
    """
    types = tuple(spec.dtype for spec in profiles[0])
    dims = tuple(spec.dims for spec in profiles[0])
    nb_outputs = plugin.nb_outputs()
    given.check_count(plugin.name_of("getNbOutputs"), nb_outputs)
    out_types = [plugin.output_data_type(i, types) for i in range(nb_outputs)]
    given.check_types(plugin.name_of("getOutputDataType"), types, out_types)
    shapes = tuple(plugin.output_dimensions(i, dims) for i in range(nb_outputs))
    _check_ways(plugin, profiles, shapes)
    how = given.outputs(nb_outputs)
    outputs = [_outputs(profile, shapes, out_types, how) for profile in profiles]
    configured, workspaces = [], []
    for index, (profile, outs) in enumerate(zip(profiles, outputs, strict=True)):
        asked = plugin.clone()
        descs = [s.desc() for s in (*profile, *outs)]
        formats.walk(asked, descs, len(profile))
        formats.check_declared(asked, descs, len(profile), given)
        if given.chooses and not index:
            formats.ask_all(asked, descs, len(profile))
        one = asked.clone()
        described = [s.dynamic() for s in profile], [s.dynamic() for s in outs]
        for candidate in _other_candidates(asked, descs, len(profile), given):
            one.configure_plugin(
                *(_of_types(tensors, codes) for tensors, codes in zip(described, candidate, strict=True))
            )
        one.configure_plugin(*described)
        configured.append({"inputs": [as_dict(d) for d in described[0]], "outputs": [as_dict(d) for d in described[1]]})
        workspaces.append(_workspace(one, profile, outs))
        one.initialize()
        check_outputs(one, nb_outputs)
        serialized = one.serialize()
        # A plugin that has been terminated may be good for nothing more: for each profile there is one.
        one.terminate()
        one.destroy()
        if given.chooses and not index:
            timed(asked, partial(_configure, described=described))
        asked.destroy()
    plugin.destroy()
    return BuiltPlugin(
        plugin.BASE,
        layer,
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


def _configure(plugin: DynamicPlugin, described: tuple[Sequence[DynamicDesc], Sequence[DynamicDesc]]) -> None:
    plugin.configure_plugin(*described)


Types = Sequence[int]
"""Codes of the tensors' types."""


def _other_candidates(
    plugin: DynamicPlugin, descs: Sequence[Desc], nb_inputs: int, given: LayerConfig
) -> Iterator[tuple[Types, Types]]:
    """The types of inputs and of outputs that the builder may try besides the network's: those declared and taken."""
    if not given.chooses or any(desc.format != Format.LINEAR.code for desc in descs):
        return
    for row in given.declared_types:
        codes = [kind.code for kind in row]
        asked = [replace(desc, type=code, scale=0.0) for desc, code in zip(descs, codes, strict=True)]
        if codes != [desc.type for desc in descs] and formats.takes(plugin, asked, nb_inputs):
            yield codes[:nb_inputs], codes[nb_inputs:]


def _of_types(descs: Sequence[DynamicDesc], codes: Types) -> list[DynamicDesc]:
    return [replace(d, desc=replace(d.desc, type=code)) for d, code in zip(descs, codes, strict=True)]


def _outputs(
    inputs: Profile, shapes: Sequence[ShapeProgram], types: Sequence[DType], how: Sequence[tuple[float, int]]
) -> tuple[TensorSpec, ...]:
    network = [s.dims for s in inputs]
    low, opt, high = ([getattr(s, point) for s in inputs] for point in ("min", "opt", "max"))
    specs = []
    for shape, dtype, (scale, form) in zip(shapes, types, how, strict=True):
        specs.append(TensorSpec(dtype, shape.dims, *shape.range(network, low, opt, high), scale, form))
    return tuple(specs)


def _check_ways(plugin: DynamicPlugin, profiles: Sequence[Profile], shapes: Sequence[ShapeProgram]) -> None:
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
                    plugin.name_of("getOutputDimensions"),
                    f"output {index} for inputs of the shapes {list(dims)}: {list(constant)} where the network's "
                    f"dimensions are constant, {list(symbolic)} where they are dynamic",
                    rule="T10",
                )


def _workspace(plugin: DynamicPlugin, inputs: Profile, outputs: Profile) -> int:
    def ask(point: str) -> int:
        def at(specs: Profile) -> list[Desc]:
            return [s.at(getattr(s, point)) for s in specs]

        return plugin.workspace_size(at(inputs), at(outputs))

    most, some = ask("max"), ask("opt")
    if most < some:
        raise Finding(
            plugin.name_of("getWorkspaceSize"),
            f"answered {most} bytes for the profile's max and more, {some}, for its opt",
            rule="C14",
        )
    return check_workspace(plugin, most)


class DynamicLayer(V2Layer[DynamicPlugin]):
    """The layer in an execution context."""

    def __init__(
        self, creator: Creator, built: BuiltPlugin, handles: Handles = NONE, *, initialize_clones: bool = False
    ) -> None:
        super().__init__(creator, built, DynamicPlugin, handles, initialize_clones=initialize_clones)

    def reshape(self, inputs: Sequence[Desc], outputs: Sequence[Desc], bounds: Bounds | None = None) -> None:
        """Passes the plugin the shapes of the runs that follow, within the profile's bounds."""
        if bounds is None:
            self._plugin.configure_plugin([_fixed(d) for d in inputs], [_fixed(d) for d in outputs])
        else:
            self._plugin.configure_plugin(_within(inputs, bounds[0]), _within(outputs, bounds[1]))

    def workspace_size(self, inputs: Sequence[Desc], outputs: Sequence[Desc]) -> int:
        """The workspace of a run, in bytes."""
        return self._plugin.workspace_size(inputs, outputs)

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


restore = DynamicLayer


def _within(descs: Sequence[Desc], bounds: Profile) -> list[DynamicDesc]:
    return [DynamicDesc(d, spec.min, spec.opt, spec.max) for d, spec in zip(descs, bounds, strict=True)]


def _fixed(desc: Desc) -> DynamicDesc:
    return DynamicDesc(desc, desc.dims, desc.dims, desc.dims)
