"""cond-both, cond-then, cond-else, cond-computed: an If with the plugin in its branches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from onnx import GraphProto, TensorProto

from pluginkit.network.networks import Array, PluginCall
from pluginkit.testing.families import bypass
from pluginkit.testing.families.base import Applier, Body, GraphInput, OracleResult, Setting, value_info
from pluginkit.testing.families.family import OnnxFamily, Runs

_THRESHOLD = 1e30
"""Beyond what a sum of test inputs comes to."""


def flag_name(setting: Setting) -> str:
    """The graph input that chooses the branch: a 0-D bool."""
    return setting.free_name("flag")


def branch(
    body: Body, inputs: Sequence[str], factor: float, *, live: bool = True
) -> tuple[GraphProto, list[PluginCall]]:
    """A branch: the plugin on the inputs times a number, or what stands in for it.

    Enter and leave stand inside: no INT8 tensor crosses an If's boundary.
    """
    setting, names = body.setting, body.names
    scaled, calls = [], []
    for tensor, name in zip(setting.manifest.inputs, inputs, strict=True):
        if live and factor != 1.0 and setting.is_float(tensor):
            by = body.constant(f"{tensor.name}_by", TensorProto.FLOAT, [], [factor])
            scaled.append(body.op("Mul", [name, by], names.tensor(f"{body.label}_{tensor.name}_scaled")))
        else:
            scaled.append(name)
    if live:
        left, call = body.plugin(scaled)
        calls.append(call)
    else:
        left = bypass.add(body, scaled)
    outputs = setting.manifest.outputs
    ends = [
        body.op("Identity", [name], names.tensor(f"{body.label}_{tensor.name}_end"))
        for name, tensor in zip(left, outputs, strict=True)
    ]
    infos = [value_info(setting, tensor, end) for tensor, end in zip(outputs, ends, strict=True)]
    return body.graph([], infos), calls


def scaled(applier: Applier, inputs: Sequence[Array], factor: float) -> list[Array]:
    """The plugin's float inputs times a number, by NumPy."""
    setting = applier.setting
    return [
        applier.state(value * np.float32(factor)) if setting.is_float(tensor) else value
        for tensor, value in zip(setting.manifest.inputs, inputs, strict=True)
    ]


class CondBoth(OnnxFamily):
    """The plugin in both branches, on different values."""

    NAME = "cond-both"
    DESCRIPTION = (
        "An If on a graph input, the plugin in both branches; the else branch gets the inputs times -1 (or 0.5)."
    )
    LAYERS: ClassVar[tuple[str, ...]] = (
        "IIfConditional",
        "IConditionLayer",
        "IIfConditionalInputLayer",
        "IIfConditionalOutputLayer",
    )
    LIVE: ClassVar[tuple[bool, bool]] = (True, True)
    """In which branches the plugin is: then, else."""

    def given(self, setting: Setting) -> list[GraphInput]:
        """The flag comes first."""
        return [GraphInput.scalar(setting, flag_name(setting), TensorProto.BOOL), *super().given(setting)]

    def runs(self, setting: Setting, point: str, feeds: Mapping[str, Array]) -> Runs:
        """Both branches."""
        del point
        name = flag_name(setting)
        return [("then", {**feeds, name: np.array(True)}), ("else", {**feeds, name: np.array(False)})]

    def condition(self, main: Body) -> str:
        """The tensor that chooses the branch."""
        return flag_name(main.setting)

    def fill(self, main: Body) -> Sequence[PluginCall]:
        """The If."""
        setting, names = main.setting, main.names
        condition = self.condition(main)
        inputs = [tensor.name for tensor in setting.manifest.inputs]
        then, otherwise = type(self).LIVE
        then_graph, calls = branch(Body(setting, names, "then"), inputs, 1.0, live=then)
        else_graph, more = branch(Body(setting, names, "else"), inputs, setting.else_factor, live=otherwise)
        outputs = [tensor.name for tensor in setting.manifest.outputs]
        main.op("If", [condition], outputs, then_branch=then_graph, else_branch=else_graph)
        return [*calls, *more]

    def taken(self, setting: Setting, feeds: Mapping[str, Array]) -> bool:
        """Whether the then branch is."""
        return bool(feeds[flag_name(setting)])

    def oracle(self, applier: Applier, feeds: Mapping[str, Array]) -> OracleResult:
        """What must come out; only the branch taken enqueues."""
        setting, manifest = applier.setting, applier.setting.manifest
        then = self.taken(setting, feeds)
        live = type(self).LIVE[0 if then else 1]
        inputs = [feeds[tensor.name] for tensor in manifest.inputs]
        if live:
            left = applier(scaled(applier, inputs, 1.0 if then else setting.else_factor))
        else:
            left = bypass.compute(applier, inputs)
        outputs = dict(zip([tensor.name for tensor in manifest.outputs], left, strict=True))
        return OracleResult(outputs, enqueues=int(live), chain=1)


class CondThen(CondBoth):
    """The plugin in the then branch only."""

    NAME = "cond-then"
    DESCRIPTION = "The plugin in the then branch; the else branch gives the inputs' halves, or a constant."
    LAYERS: ClassVar[tuple[str, ...]] = (*CondBoth.LAYERS, "IShapeLayer", "ISliceLayer or IFillLayer (Expand)")
    LIVE = (True, False)


class CondElse(CondBoth):
    """The plugin in the else branch only."""

    NAME = "cond-else"
    DESCRIPTION = "The plugin in the else branch; the then branch gives the inputs' halves, or a constant."
    LAYERS: ClassVar[tuple[str, ...]] = CondThen.LAYERS
    LIVE = (False, True)


class CondComputed(CondBoth):
    """The condition is computed in the network."""

    NAME = "cond-computed"
    DESCRIPTION = (
        "As cond-both, on a condition that the network computes: whether the first input's sum is above a limit."
    )
    LAYERS: ClassVar[tuple[str, ...]] = (*CondBoth.LAYERS, "IReduceLayer", "IElementWiseLayer kGREATER")

    def given(self, setting: Setting) -> list[GraphInput]:
        """The limit, a 0-D float."""
        return [GraphInput.scalar(setting, setting.free_name("limit"), TensorProto.FLOAT), *super().given(setting)[1:]]

    def runs(self, setting: Setting, point: str, feeds: Mapping[str, Array]) -> Runs:
        """Both branches."""
        del point
        name = setting.free_name("limit")
        return [
            ("then", {**feeds, name: np.array(-_THRESHOLD, np.float32)}),
            ("else", {**feeds, name: np.array(_THRESHOLD, np.float32)}),
        ]

    def condition(self, main: Body) -> str:
        """The sum of the first input's elements, compared."""
        setting, names = main.setting, main.names
        tensor = setting.manifest.execution_inputs()[0]
        value = tensor.name
        if not setting.is_float(tensor):
            value = main.op("Cast", [value], names.tensor("main_as_float"), to=TensorProto.FLOAT)
        if tensor.shape:
            value = main.op("ReduceSum", [value], names.tensor("main_total"), keepdims=0)
        return main.op("Greater", [value, setting.free_name("limit")], names.tensor("main_above"))

    def taken(self, setting: Setting, feeds: Mapping[str, Array]) -> bool:
        """Whether the then branch is."""
        value = feeds[setting.manifest.execution_inputs()[0].name].sum(dtype=np.float64)
        return bool(value > feeds[setting.free_name("limit")])
