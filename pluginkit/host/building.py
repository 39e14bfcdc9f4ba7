"""The build of a layer: what is true of every interface, and which module knows the rest."""

from __future__ import annotations

from collections.abc import Sequence

from pluginkit.dtypes import DType
from pluginkit.host.bases import dynamic, ioext, v2, v3
from pluginkit.host.bases.dynamic_plugin import DynamicPlugin
from pluginkit.host.bases.ioext_plugin import IOExtPlugin
from pluginkit.host.bases.v2 import Profile
from pluginkit.host.errors import HostBug
from pluginkit.host.library import Creator, Fields
from pluginkit.host.spec import BuiltPlugin, LayerConfig


def build(
    creator: Creator,
    layer_name: str,
    fields: Fields,
    profiles: Sequence[Profile],
    *,
    output_scales: Sequence[float] = (),
    output_formats: Sequence[int] = (),
    output_types: Sequence[DType] = (),
    undeclared: Sequence[Sequence[int]] = (),
    implicit_batch: bool = False,
    shape_inputs: Sequence[int] = (),
) -> BuiltPlugin:
    """Builds a layer for these profiles, each the list of the plugin's inputs.

    `output_scales`, `output_formats`, `output_types` and `undeclared` are those of `LayerConfig`. `implicit_batch` is
    for an IPluginV2IOExt, which is told the shapes without their first dimension then. `shape_inputs` are the inputs
    that an IPluginV3 has as shape inputs: see `v3.build`.

    Raises:
        Finding: the plugin answers wrongly.
        HostBug: the profiles contradict each other or themselves.
    """
    _check_profiles(profiles)
    given = LayerConfig(output_scales, output_formats, output_types, undeclared)
    if creator.kind == "v3":
        return v3.build(creator, layer_name, fields, profiles, given, shape_inputs)
    plugin = v2.network_clone(creator, layer_name, fields)
    if isinstance(plugin, IOExtPlugin):
        return ioext.build(plugin, creator, layer_name, profiles, given, implicit_batch=implicit_batch)
    assert isinstance(plugin, DynamicPlugin)
    return dynamic.build(plugin, creator, layer_name, profiles, given)


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
