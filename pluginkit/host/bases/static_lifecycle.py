"""The build and the runs of a layer with static shapes, whichever V2 interface; `v2_lifecycle` has the order of calls.

What enqueue needs must be in the serialized bytes: it gets no shapes, and a deserialized plugin is not configured
again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pluginkit.errors import CheckFailed
from pluginkit.host.bases.static_plugin import MAX_DIMS, StaticPlugin
from pluginkit.host.bases.v2_lifecycle import Profile, V2Layer, check_outputs, check_workspace, for_8, timed
from pluginkit.host.descriptors import Desc, DynamicDesc
from pluginkit.host.errors import Finding, HostBug
from pluginkit.host.expressions import ShapeProgram
from pluginkit.host.library import Creator
from pluginkit.host.spec import Bounds, BuiltPlugin, LayerConfig, TensorSpec, as_dict

_CONSTANT = 1
"""The kind of a node that is a number (see `_native.pyi`)."""

P = TypeVar("P", bound=StaticPlugin[Any])


def shapes(plugin: StaticPlugin[Any], layer: str, profiles: Sequence[Profile]) -> list[tuple[int, ...]]:
    """The inputs' shapes, which all profiles have.

    Raises:
        CheckFailed: a dimension is dynamic.
        HostBug: the profiles have different ones.
    """
    whole = [spec.dims for spec in profiles[0]]
    open_ = [index for index, one in enumerate(whole) if any(dim < 0 for dim in one)]
    if open_:
        raise CheckFailed(
            f"layer {layer!r}: input {open_[0]} has the dimensions {list(whole[open_[0]])}, and an {plugin.INTERFACE} "
            "takes no open ones (-1)",
            hint="Give each input a fixed shape, or write the plugin against IPluginV2DynamicExt or IPluginV3.",
        )
    if any([spec.dims for spec in profile] != whole for profile in profiles):
        raise HostBug(f"layer {layer!r}: profiles of different static shapes")
    return whole


def batch(dims: Sequence[tuple[int, ...]]) -> int | None:
    """The first dimension of all; None if they have none in common."""
    first = {one[:1] for one in dims}
    return None if len(first) != 1 or first == {()} else dims[0][0]


def build(
    plugin: StaticPlugin[Any],
    creator: Creator,
    layer: str,
    profile: Profile,
    given: LayerConfig,
    ask: Callable[[Any, Sequence[Desc], Sequence[Desc]], None],
    configure: Callable[[Any, Sequence[Desc], Sequence[Desc]], None],
    apart: int | None,
) -> BuiltPlugin:
    """Builds the layer of a plugin, which is destroyed by that.

    Args:
        plugin: of a network.
        creator: that made it.
        layer: the layer's name.
        profile: the inputs.
        given: what else the network has of the layer.
        ask: asks a plugin for formats, with what it sees of inputs and outputs.
        configure: configures a plugin with them.
        apart: the batch size, if the shapes are passed without it; else None.

    Raises:
        Finding: the plugin answers wrongly.
    """
    without_batch = [spec.dims if apart is None else spec.dims[1:] for spec in profile]
    types = [spec.dtype for spec in profile]
    nb_outputs = plugin.nb_outputs()
    given.check_count(plugin.name_of("getNbOutputs"), nb_outputs)
    out_types = [plugin.output_data_type(i, types) for i in range(nb_outputs)]
    given.check_types(plugin.name_of("getOutputDataType"), types, out_types)
    out_dims = [plugin.output_dimensions(i, without_batch) for i in range(nb_outputs)]
    out_whole = [d if apart is None else (apart, *d) for d in out_dims]
    for index, dims in enumerate(out_whole):
        if len(dims) > MAX_DIMS:
            raise Finding(
                plugin.name_of("getOutputDimensions"),
                f"output {index} has {len(dims) - 1} dimensions, and {len(dims)} with the batch, expected at most "
                f"{MAX_DIMS}",
                rule="T9",
            )
    plugin.check_broadcast(len(without_batch), nb_outputs)
    ins = [Desc(d, s.dtype.code, s.format, s.scale) for d, s in zip(without_batch, profile, strict=True)]
    how = given.outputs(nb_outputs)
    outs = [Desc(d, t.code, form, scale) for d, t, (scale, form) in zip(out_dims, out_types, how, strict=True)]
    size = 1 if apart is None else apart
    asked = plugin.clone()
    ask(asked, ins, outs)
    one = asked.clone()
    configure(one, ins, outs)
    early = _workspace(one, size) if for_8(one) else 0
    one.initialize()
    workspace = check_workspace(one, max(early, _workspace(one, size)))
    check_outputs(one, nb_outputs)
    # Before terminate, after which a plugin may be good for nothing more.
    serialized = one.serialize()
    one.terminate()
    one.destroy()
    if given.chooses:
        timed(asked, lambda clone: configure(clone, ins, outs))
    asked.destroy()
    plugin.destroy()
    specs = [TensorSpec(t, d, d, d, d, *one) for t, d, one in zip(out_types, out_whole, how, strict=True)]
    return BuiltPlugin(
        plugin.BASE,
        layer,
        creator.name,
        creator.version,
        creator.namespace,
        serialized,
        tuple(spec.dims for spec in profile),
        tuple(_program(plugin, d) for d in out_whole),
        (tuple(specs),),
        ({"inputs": [_record(d) for d in ins], "outputs": [_record(d) for d in outs]},),
        workspace,
        size,
    )


def _workspace(plugin: StaticPlugin[Any], size: int) -> int:
    most, one = plugin.workspace_size(size), plugin.workspace_size(1)
    if size > 0 and most < one:
        raise Finding(
            plugin.name_of("getWorkspaceSize"),
            f"answered {most} bytes for {size} batches and more, {one}, for one",
            rule="C14",
        )
    return most


def _program(plugin: StaticPlugin[Any], dims: tuple[int, ...]) -> ShapeProgram:
    nodes = tuple((_CONSTANT, 0, 0, 0, dim) for dim in dims)
    return ShapeProgram(nodes, tuple(range(len(dims))), method=plugin.name_of("getOutputDimensions"))


def _record(desc: Desc) -> dict[str, object]:
    return as_dict(DynamicDesc(desc, desc.dims, desc.dims, desc.dims))


class StaticLayer(V2Layer[P]):
    """The layer in an execution context."""

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
