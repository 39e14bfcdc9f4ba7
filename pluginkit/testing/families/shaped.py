"""shape-out, shape-in, multi-profile: the plugin among shape tensors and optimization profiles."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
from onnx import TensorProto, helper

from pluginkit import bases
from pluginkit.manifest import Manifest, Profile, Tensor
from pluginkit.network.networks import Array, Network, PluginCall
from pluginkit.testing.families.base import Applier, Body, GraphInput, OracleResult, Setting, Shown
from pluginkit.testing.families.family import Runs, graph_kind
from pluginkit.testing.families.plain import Plain
from pluginkit.testing.points import Point, holds

STATIC = "the plugin's interface takes static shapes only"


class ShapeOut(Plain):
    """The outputs' shapes are shape tensors."""

    NAME = "shape-out"
    DESCRIPTION = "The plugin's outputs feed Shape, and Reshape to as many elements as that has."
    LAYERS: ClassVar[tuple[str, ...]] = (
        "IShapeLayer",
        "IReduceLayer on a shape tensor",
        "IShuffleLayer with its shape as an input",
    )

    def shown(self, setting: Setting) -> list[Shown]:
        """Each output's elements in a row (`y_flat`) and its dimensions as INT32 (`y_dims`)."""
        found = []
        for tensor in setting.manifest.outputs:
            flat = helper.make_tensor_value_info(_flat(setting, tensor.name), graph_kind(setting, tensor), [None])
            found.append(Shown(flat, tensor.name))
            if tensor.shape:
                name, rank = setting.free_name(f"{tensor.name}_dims"), len(tensor.shape)
                found.append(Shown(helper.make_tensor_value_info(name, TensorProto.INT32, [rank])))
        return found

    def fill(self, main: Body) -> Sequence[PluginCall]:
        """The plugin and what is behind it."""
        setting, names, manifest = main.setting, main.names, main.setting.manifest
        left, call = main.plugin([tensor.name for tensor in manifest.inputs], padded=False)
        for name, tensor in zip(left, manifest.outputs, strict=True):
            if tensor.shape:
                shape = main.op("Shape", [name], names.tensor(f"main_{tensor.name}_shape"))
                main.op("Cast", [shape], setting.free_name(f"{tensor.name}_dims"), to=TensorProto.INT32)
                count = main.op("ReduceProd", [shape], names.tensor(f"main_{tensor.name}_count"), keepdims=1)
            else:
                count = main.constant(f"{tensor.name}_count", TensorProto.INT64, [1], [1])
            # Without allowzero a 0 means the input's own dimension, which here is another one.
            main.op("Reshape", [name, count], _flat(setting, tensor.name), allowzero=1)
        return [call]

    def oracle(self, applier: Applier, feeds: Mapping[str, Array]) -> OracleResult:
        """What must come out."""
        setting, answer = applier.setting, super().oracle(applier, feeds)
        outputs: dict[str, Array] = {}
        for name, value in answer.outputs.items():
            outputs[_flat(setting, name)] = value.ravel()
            if value.ndim:
                outputs[setting.free_name(f"{name}_dims")] = np.array(value.shape, np.int64)
        return replace(answer, outputs=outputs)


def _flat(setting: Setting, output: str) -> str:
    return setting.free_name(f"{output}_flat")


class ShapeIn(Plain):
    """The inputs' shapes are shape tensors that the network gets."""

    NAME = "shape-in"
    DESCRIPTION = "The plugin's inputs come in a row and are reshaped by shape tensors that are network inputs."
    LAYERS: ClassVar[tuple[str, ...]] = (
        "shape-tensor inputs with value profiles",
        "IShuffleLayer with its shape as an input",
    )

    def refusal(self, setting: Setting) -> str:
        """There must be a dimension, and it must be an open one."""
        if not bases.BASES[setting.manifest.plugin.base].dynamic_shapes:
            return STATIC
        if any(map(_reshaped, setting.manifest.inputs)):
            return ""
        return "no input has dimensions, so there is no shape to come from a shape tensor"

    def given(self, setting: Setting) -> list[GraphInput]:
        """Each input as 1-D, and its dimensions (`x_dims`)."""
        found = []
        for tensor, whole in zip(setting.manifest.inputs, super().given(setting), strict=True):
            if not _reshaped(tensor):
                found.append(whole)
                continue
            rank, kind = len(tensor.shape), graph_kind(setting, tensor)
            rows = tuple(
                ((math.prod(low),), (math.prod(best),), (math.prod(high),)) for low, best, high in whole.shapes
            )
            found.append(GraphInput(helper.make_tensor_value_info(tensor.name, kind, [None]), rows))
            info = helper.make_tensor_value_info(_dims(setting, tensor.name), TensorProto.INT64, [rank])
            found.append(GraphInput(info, (((rank,), (rank,), (rank,)),) * len(whole.shapes), whole.shapes))
        return found

    def runs(self, setting: Setting, point: str, feeds: Mapping[str, Array]) -> Runs:
        """The inputs in a row, and their dimensions."""
        del point
        given = dict(feeds)
        for tensor in setting.manifest.inputs:
            if _reshaped(tensor):
                given[tensor.name] = feeds[tensor.name].ravel()
                given[_dims(setting, tensor.name)] = np.array(feeds[tensor.name].shape, np.int64)
        return [("", given)]

    def fill(self, main: Body) -> Sequence[PluginCall]:
        """The reshaping and the plugin."""
        setting, names, manifest = main.setting, main.names, main.setting.manifest
        inputs = [
            main.op(
                "Reshape",
                [tensor.name, _dims(setting, tensor.name)],
                names.tensor(f"main_{tensor.name}_shaped"),
                allowzero=1,
            )
            if _reshaped(tensor)
            else tensor.name
            for tensor in manifest.inputs
        ]
        left, call = main.plugin(inputs, padded=False)
        for name, tensor in zip(left, manifest.outputs, strict=True):
            main.op("Identity", [name], tensor.name)
        return [call]

    def oracle(self, applier: Applier, feeds: Mapping[str, Array]) -> OracleResult:
        """What must come out."""
        setting = applier.setting
        shaped = {
            tensor.name: feeds[tensor.name].reshape(feeds[_dims(setting, tensor.name)])
            if _reshaped(tensor)
            else feeds[tensor.name]
            for tensor in setting.manifest.inputs
        }
        return super().oracle(applier, shaped)


def _reshaped(tensor: Tensor) -> bool:
    """Whether an input comes in a row; a shape input has a fixed shape."""
    return bool(tensor.shape) and not tensor.is_shape_input


def _dims(setting: Setting, name: str) -> str:
    return setting.free_name(f"{name}_dims")


class MultiProfile(Plain):
    """More profiles than the manifest has."""

    NAME = "multi-profile"
    DESCRIPTION = (
        "The plugin alone; each profile also as its part up to opt and its part above: disjoint, overlapping it."
    )
    LAYERS: ClassVar[tuple[str, ...]] = ("several optimization profiles, disjoint and overlapping",)

    def refusal(self, setting: Setting) -> str:
        """There must be room to cut."""
        if len(_parts(setting.manifest)) > len(setting.manifest.profiles):
            return ""
        return "in every profile opt and max are the same, so none can be cut in two"

    def places(self, setting: Setting, point: Point) -> list[tuple[str, str]]:
        """Every profile that holds the point, the profile that it was made for first."""
        held = [one.name for one in _parts(setting.manifest) if holds(one, point.symbols)]
        return [(name, name) for name in sorted(held, key=lambda name: name != point.profile)]

    def build(self, setting: Setting) -> Network:
        """The network with the profiles' parts."""
        cut = setting.manifest.model_copy(update={"profiles": _parts(setting.manifest)})
        return super().build(replace(setting, manifest=cut))


def _parts(manifest: Manifest) -> tuple[Profile, ...]:
    """The profiles, and what is below and above opt in each."""
    found = []
    for profile in manifest.profiles:
        found.append(profile)
        if all(best == high for _, best, high in profile.symbols.values()):
            continue
        below = {name: (low, best, best) for name, (low, best, _) in profile.symbols.items()}
        above = {name: _upper(best, high) for name, (_, best, high) in profile.symbols.items()}
        if not _possible(manifest, above):
            above = {name: (high, high, high) for name, (_, _, high) in profile.symbols.items()}
        for name, symbols in (("below", below), ("above", above)):
            found.append(Profile(name=f"{profile.name}-{name}", symbols=symbols))
    return tuple(found)


def _upper(best: int, high: int) -> tuple[int, int, int]:
    low = min(best + 1, high)
    return low, (low + high) // 2, high


def _possible(manifest: Manifest, symbols: Mapping[str, tuple[int, int, int]]) -> bool:
    """Whether no output has a negative dimension at the ends and between."""
    return all(manifest.possible({name: ends[index] for name, ends in symbols.items()}) for index in range(3))
