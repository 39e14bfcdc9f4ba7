"""The build and the runs of a layer with an IPluginV2IOExt; `v2_lifecycle` has the order of all calls.

What enqueue needs must be in the serialized bytes: it gets no shapes, and a deserialized plugin is not configured
again.

The dimensions are passed in two ways, which contradict each other (docs/bases.md has the sources), so a layer can
be built in either: with the batch as the first of the dimensions and batchSize 1, or without it and batchSize N.
"""

from __future__ import annotations

from collections.abc import Sequence

from pluginkit.errors import CheckFailed
from pluginkit.host import formats
from pluginkit.host.bases.ioext.plugin import IOExtPlugin
from pluginkit.host.bases.v2_lifecycle import Profile, V2Layer, check_outputs, check_workspace
from pluginkit.host.descriptors import Desc, DynamicDesc
from pluginkit.host.errors import Finding, HostBug
from pluginkit.host.expressions import ShapeProgram
from pluginkit.host.handles import NONE, Handles
from pluginkit.host.library import Creator
from pluginkit.host.spec import Bounds, BuiltPlugin, LayerConfig, TensorSpec, as_dict

_CONSTANT = 1
"""The kind of a node that is a number (see `_native.pyi`)."""


def build(
    plugin: IOExtPlugin,
    creator: Creator,
    layer: str,
    profiles: Sequence[Profile],
    given: LayerConfig,
) -> BuiltPlugin:
    """Builds the layer of a plugin, which is destroyed by that.

    Raises:
        CheckFailed: a dimension is open.
        Finding: the plugin answers wrongly.
        HostBug: an implicit batch, and inputs that have none in common.
    """
    implicit_batch = given.implicit_batch
    whole = [spec.dims for spec in profiles[0]]
    _check_static(layer, profiles, whole)
    batch = _batch(whole) if implicit_batch else 1
    without_batch = [dims[1:] if implicit_batch else dims for dims in whole]
    types = [spec.dtype for spec in profiles[0]]
    nb_outputs = plugin.nb_outputs()
    out_types = [plugin.output_data_type(i, types) for i in range(nb_outputs)]
    given.check_types(plugin.name_of("getOutputDataType"), types, out_types)
    out_dims = [plugin.output_dimensions(i, without_batch) for i in range(nb_outputs)]
    plugin.check_broadcast(len(without_batch), nb_outputs)
    ins = [Desc(d, s.dtype.code, s.format, s.scale) for d, s in zip(without_batch, profiles[0], strict=True)]
    how = given.outputs(nb_outputs)
    outs = [Desc(d, t.code, form, scale) for d, t, (scale, form) in zip(out_dims, out_types, how, strict=True)]
    formats.walk(plugin, [*ins, *outs], len(ins))
    formats.check_declared(plugin, [*ins, *outs], len(ins), given)
    plugin.configure_plugin(ins, outs)
    plugin.initialize()
    workspace = check_workspace(plugin, _workspace(plugin, batch))
    check_outputs(plugin, nb_outputs)
    # Before terminate, after which a plugin may be good for nothing more.
    serialized = plugin.serialize()
    plugin.terminate()
    plugin.destroy()
    out_whole = [(batch, *d) if implicit_batch else d for d in out_dims]
    specs = [TensorSpec(t, d, d, d, d, *one) for t, d, one in zip(out_types, out_whole, how, strict=True)]
    return BuiltPlugin(
        plugin.BASE,
        layer,
        creator.name,
        creator.version,
        creator.namespace,
        serialized,
        tuple(whole),
        tuple(_program(d) for d in out_whole),
        (tuple(specs),),
        ({"inputs": [_record(d) for d in ins], "outputs": [_record(d) for d in outs]},),
        workspace,
        batch,
    )


def _check_static(layer: str, profiles: Sequence[Profile], dims: Sequence[tuple[int, ...]]) -> None:
    open_ = [index for index, one in enumerate(dims) if any(dim < 0 for dim in one)]
    if open_:
        raise CheckFailed(
            f"layer {layer!r}: input {open_[0]} has the dimensions {list(dims[open_[0]])}, and an IPluginV2IOExt takes "
            "no open ones (-1)",
            hint="Give each input a fixed shape, or write the plugin against IPluginV2DynamicExt or IPluginV3.",
        )
    if any([spec.dims for spec in profile] != list(dims) for profile in profiles):
        raise HostBug(f"layer {layer!r}: profiles of different static shapes")


def _batch(dims: Sequence[tuple[int, ...]]) -> int:
    first = {one[:1] for one in dims}
    if len(first) != 1 or first == {()}:
        raise HostBug(f"inputs of the shapes {list(dims)} have no batch in common")
    return dims[0][0]


def _workspace(plugin: IOExtPlugin, batch: int) -> int:
    most, one = plugin.workspace_size(batch), plugin.workspace_size(1)
    if batch > 0 and most < one:
        raise Finding(
            plugin.name_of("getWorkspaceSize"),
            f"answered {most} bytes for {batch} batches and more, {one}, for one",
            rule="C14",
        )
    return most


def _program(dims: tuple[int, ...]) -> ShapeProgram:
    nodes = tuple((_CONSTANT, 0, 0, 0, dim) for dim in dims)
    return ShapeProgram(nodes, tuple(range(len(dims))), method=IOExtPlugin.name_of("getOutputDimensions"))


def _record(desc: Desc) -> dict[str, object]:
    return as_dict(DynamicDesc(desc, desc.dims, desc.dims, desc.dims))


class IOExtLayer(V2Layer[IOExtPlugin]):
    """The layer in an execution context."""

    def __init__(self, creator: Creator, built: BuiltPlugin, handles: Handles = NONE) -> None:
        super().__init__(creator, built, IOExtPlugin, handles)

    def reshape(self, inputs: Sequence[Desc], outputs: Sequence[Desc], bounds: Bounds | None = None) -> None:
        """Nothing: the shapes are those of the build."""

    def workspace_size(self, inputs: Sequence[Desc], outputs: Sequence[Desc]) -> int:
        """The workspace of a run, in bytes."""
        del inputs, outputs
        return self._plugin.workspace_size(self.built.batch)

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
        del inputs, outputs
        self._plugin.enqueue(
            self.built.batch,
            in_addresses=in_addresses,
            out_addresses=out_addresses,
            workspace=workspace,
            stream=stream,
            times=times,
        )


restore = IOExtLayer
