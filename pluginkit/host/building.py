"""Builds a layer: checks that every interface has in common, then the interface's own build."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pluginkit.dtypes import DType
from pluginkit.host.bases import v2_lifecycle
from pluginkit.host.bases.changed_fields import Fields
from pluginkit.host.bases.lifecycles import LIFECYCLES
from pluginkit.host.bases.v2_lifecycle import Profile
from pluginkit.host.bases.v3 import lifecycle as v3
from pluginkit.host.errors import HostBug
from pluginkit.host.library import Creator
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
    declared_types: Sequence[Sequence[DType]] = (),
    implicit_batch: bool = False,
    shape_inputs: Sequence[int] = (),
    chooses: bool = True,
) -> BuiltPlugin:
    """Builds a layer for these profiles, each the list of the plugin's inputs.

    What else is given is that of `LayerConfig`, the outputs' under the names that begin with `output_`.

    Raises:
        Finding: the plugin answers wrongly.
        HostBug: the profiles contradict each other or themselves.
    """
    _check_profiles(profiles)
    given = LayerConfig(
        output_scales, output_formats, output_types, undeclared, declared_types, implicit_batch, shape_inputs, chooses
    )
    types = [spec.dtype for spec in profiles[0]]
    plugin = (
        v3.network_clone(creator, layer_name, fields)
        if creator.kind == "v3"
        else v2_lifecycle.network_clone(creator, layer_name, fields, types)
    )
    built = LIFECYCLES[plugin.BASE].build(plugin, creator, layer_name, profiles, given)
    return replace(built, fields=fields)


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
