"""if-in-if: an If in a branch of an If."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, get_args

import numpy as np
from onnx import TensorProto

from pluginkit import manifest as manifest_
from pluginkit.manifest import Manifest, Profile
from pluginkit.network.networks import Array, Network, PluginCall
from pluginkit.testing.families import bypass
from pluginkit.testing.families.base import Applier, Body, GraphInput, OracleResult, Setting, value_info
from pluginkit.testing.families.cond import CondBoth, branch, flag_name, scaled
from pluginkit.testing.families.family import Runs
from pluginkit.testing.points import Point

_WAYS = {"then-then": (True, True), "then-else": (True, False), "else": (False, True)}
"""The runs at a point: what the outer and the inner flag are."""


class IfInIf(CondBoth):
    """The then branch is an If.

    Its profiles are points: NVIDIA's builder takes an If within an If where no dimension is open (refusal if-in-if).
    """

    NAME = "if-in-if"
    DESCRIPTION = (
        "An If whose then branch is an If: the plugin in its then branch, halves or a constant in its else branch; "
        "each profile's min, opt and max as a profile of its own."
    )
    LAYERS: ClassVar[tuple[str, ...]] = (*CondBoth.LAYERS, "IIfConditional within a conditional")

    def given(self, setting: Setting) -> list[GraphInput]:
        """Both flags, the plugin's."""
        outer, *plugin = super().given(setting)
        return [outer, GraphInput.scalar(setting, _inner_name(setting), TensorProto.BOOL), *plugin]

    def places(self, setting: Setting, point: Point) -> list[tuple[str, str]]:
        """The profile that the point is; random ones are none."""
        cut = _points(setting.manifest)
        return [("", one.name) for one in cut if one.at("opt") == dict(point.symbols)][:1]

    def runs(self, setting: Setting, point: str, feeds: Mapping[str, Array]) -> Runs:
        """Each way through both."""
        del point
        outer, inner = flag_name(setting), _inner_name(setting)
        return [
            (way, {**feeds, outer: np.array(first), inner: np.array(second)}) for way, (first, second) in _WAYS.items()
        ]

    def build(self, setting: Setting) -> Network:
        """The network, its profiles points."""
        cut = setting.manifest.model_copy(update={"profiles": _points(setting.manifest)})
        return super().build(replace(setting, manifest=cut))

    def fill(self, main: Body) -> Sequence[PluginCall]:
        """Both Ifs."""
        setting, names, outputs = main.setting, main.names, main.setting.manifest.outputs
        inputs = [tensor.name for tensor in setting.manifest.inputs]
        live, calls = branch(Body(setting, names, "inner_then"), inputs, 1.0)
        other, _ = branch(Body(setting, names, "inner_else"), inputs, 1.0, live=False)
        then = Body(setting, names, "then")
        ends = [names.tensor(f"then_{tensor.name}_either") for tensor in outputs]
        then.op("If", [_inner_name(setting)], ends, then_branch=live, else_branch=other)
        infos = [value_info(setting, tensor, end) for tensor, end in zip(outputs, ends, strict=True)]
        otherwise, more = branch(Body(setting, names, "else"), inputs, setting.else_factor)
        shown = [tensor.name for tensor in outputs]
        main.op("If", [flag_name(setting)], shown, then_branch=then.graph([], infos), else_branch=otherwise)
        return [*calls, *more]

    def oracle(self, applier: Applier, feeds: Mapping[str, Array]) -> OracleResult:
        """What must come out; only the branch taken enqueues."""
        setting, manifest = applier.setting, applier.setting.manifest
        outer, inner = bool(feeds[flag_name(setting)]), bool(feeds[_inner_name(setting)])
        inputs = [feeds[tensor.name] for tensor in manifest.inputs]
        if outer and not inner:
            left, enqueues = bypass.compute(applier, inputs), 0
        else:
            left, enqueues = applier(scaled(applier, inputs, 1.0 if outer else setting.else_factor)), 1
        return OracleResult(
            dict(zip([tensor.name for tensor in manifest.outputs], left, strict=True)), enqueues, chain=1
        )


def _inner_name(setting: Setting) -> str:
    """The graph input that chooses the inner branch: a 0-D bool."""
    return setting.free_name("inner_flag")


def _points(manifest: Manifest) -> tuple[Profile, ...]:
    """Each profile's min, opt and max as profiles; a point that is there already is left out."""
    found: dict[tuple[tuple[str, int], ...], Profile] = {}
    for profile in manifest.profiles:
        for point in get_args(manifest_.Point):
            symbols = profile.at(point)
            fixed = {name: (value, value, value) for name, value in symbols.items()}
            found.setdefault(tuple(symbols.items()), Profile(name=f"{profile.name}-{point}", symbols=fixed))
    return tuple(found.values())
