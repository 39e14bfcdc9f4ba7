"""plain and chain: no loop, no condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from onnx import TensorProto

from pluginkit.network.networks import Array, PluginCall
from pluginkit.testing.families.base import Applier, Body, OracleResult, Setting, Shown, value_info
from pluginkit.testing.families.family import OnnxFamily, feedback

_HALF = 0.5


class Plain(OnnxFamily):
    """The plugin between graph inputs and outputs."""

    NAME = "plain"
    DESCRIPTION = "The plugin alone, between casts (FP16) or QuantizeLinear and DequantizeLinear (INT8)."
    LAYERS: ClassVar[tuple[str, ...]] = ("ICastLayer", "IQuantizeLayer", "IDequantizeLayer")

    def shown(self, setting: Setting) -> list[Shown]:
        """The plugin's outputs; what has a size that only enqueue knows comes in that size."""
        return [
            Shown(value_info(setting, tensor, tensor.name, known=not setting.manifest.is_sized(tensor)), tensor.name)
            for tensor in setting.manifest.outputs
        ]

    def fill(self, main: Body) -> Sequence[PluginCall]:
        """Graph inputs and outputs are called as the plugin's."""
        manifest = main.setting.manifest
        left, call = main.plugin([tensor.name for tensor in manifest.inputs], padded=False)
        for name, tensor in zip(left, manifest.outputs, strict=True):
            main.op("Identity", [name], tensor.name)
        return [call]

    def oracle(self, applier: Applier, feeds: Mapping[str, Array]) -> OracleResult:
        """What must come out."""
        manifest = applier.setting.manifest
        left = applier([feeds[tensor.name] for tensor in manifest.inputs], padded=False)
        return OracleResult(dict(zip([t.name for t in manifest.outputs], left, strict=True)), enqueues=1, chain=1)


class Chain(OnnxFamily):
    """The plugin twice in a row, with elementwise neighbours that a builder may fuse."""

    NAME = "chain"
    DESCRIPTION = "The plugin twice in a row, elementwise layers before and between: what fits an input is fed on."
    LAYERS: ClassVar[tuple[str, ...]] = ("IElementWiseLayer", "two plugin layers")

    def refusal(self, setting: Setting) -> str:
        """Something must be fed on."""
        return "" if feedback(setting) else "no output has the shape of an input, so nothing can be fed on"

    def shown(self, setting: Setting) -> list[Shown]:
        """The second application's outputs, and those of the first that are not fed on (`y_first`)."""
        fed = {output for _, output in feedback(setting)}
        first = [
            Shown(value_info(setting, tensor, _first(setting, tensor.name)), tensor.name)
            for tensor in setting.manifest.outputs
            if tensor.name not in fed
        ]
        return [*super().shown(setting), *first]

    def feedback(self, setting: Setting) -> list[tuple[str, str]]:
        """(input, output that becomes it in the second application)."""
        return feedback(setting)

    def fill(self, main: Body) -> Sequence[PluginCall]:
        """The float inputs are halved, and what is fed on is halved again."""
        setting, manifest = main.setting, main.setting.manifest
        half = main.constant("half", TensorProto.FLOAT, [], [_HALF])

        def halved(name: str) -> str:
            return main.op("Mul", [name, half], main.names.tensor(f"{name}_halved"))

        inputs = {t.name: halved(t.name) if setting.is_float(t) else t.name for t in manifest.inputs}
        left, first = main.plugin(list(inputs.values()))
        produced = dict(zip([tensor.name for tensor in manifest.outputs], left, strict=True))
        inputs.update({name: halved(produced.pop(output)) for name, output in feedback(setting)})
        for output, name in produced.items():
            main.op("Identity", [name], _first(setting, output))
        left, second = main.plugin(list(inputs.values()))
        for name, tensor in zip(left, manifest.outputs, strict=True):
            main.op("Identity", [name], tensor.name)
        return [first, second]

    def oracle(self, applier: Applier, feeds: Mapping[str, Array]) -> OracleResult:
        """What must come out."""
        setting, manifest = applier.setting, applier.setting.manifest
        outputs = [tensor.name for tensor in manifest.outputs]

        def halved(value: Array) -> Array:
            return applier.state(value * np.float32(_HALF))

        inputs = {t.name: halved(feeds[t.name]) if setting.is_float(t) else feeds[t.name] for t in manifest.inputs}
        produced = dict(zip(outputs, applier(list(inputs.values())), strict=True))
        inputs.update({name: halved(produced.pop(output)) for name, output in feedback(setting)})
        first = {_first(setting, name): value for name, value in produced.items()}
        last = dict(zip(outputs, applier(list(inputs.values())), strict=True))
        return OracleResult({**last, **first}, enqueues=2, chain=2)


def _first(setting: Setting, output: str) -> str:
    return setting.free_name(f"{output}_first")
