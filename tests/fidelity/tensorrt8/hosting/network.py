"""The network that the host is given for a case: where TensorRT quantizes by itself, with layers that do so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pluginkit.dtypes import DType
from pluginkit.network import api_model as api
from pluginkit.network.networks import PluginCall
from tests.fidelity.tensorrt8.drawing.case import SCALE, Case

BY_ITSELF = ("ranges", "entropy", "minmax")


def hosted(case: Case, scales: Mapping[str, float]) -> api.ApiNetwork:
    """The host's network.

    Args:
        case: the case.
        scales: tensor -> what a calibrator found; else it is the case's.
    """
    network = case.network
    if case.implicit_batch:
        # The host sees the batch, as an explicit one.
        shapes = network.profiles[0].shapes
        steps = [
            replace(step, dims=shapes[step.out][1]) if isinstance(step, api.NetworkInput) else step
            for step in network.steps
        ]
        network = replace(network, steps=tuple(steps))
    return _Quantizing(network, scales).made() if case.quantized in BY_ITSELF else network


class _Quantizing:
    """A network in which plugins get INT8 and all else FP32."""

    def __init__(self, network: api.ApiNetwork, scales: Mapping[str, float]) -> None:
        self._network = network
        self._scales = scales
        layers = [step for step in network.steps if isinstance(step, api.PluginLayer)]
        self._given = {out for layer in layers for out in layer.outs}
        self._int8: set[str] = set()
        self._steps: list[api.Step] = []

    def made(self) -> api.ApiNetwork:
        """With layers that quantize what isn't a plugin's output before it goes into one, and the other way round."""
        calls = {call.node: call for call in self._network.calls}
        for step in self._network.steps:
            if isinstance(step, api.PluginLayer):
                call = calls[step.node]
                calls[step.node] = self._call(step, call)
                self._steps.append(replace(step, inputs=tuple(map(self._quantized, step.inputs))))
            elif isinstance(step, api.Elementwise):
                left, right = self._float(step.left), self._float(step.right)
                self._steps.append(replace(step, left=left, right=right))
            elif isinstance(step, api.NetworkOutput):
                self._steps.append(replace(step, x=self._float(step.x)))
            else:
                self._steps.append(step)
        return replace(self._network, steps=tuple(self._steps), calls=tuple(calls.values()))

    def _scale(self, tensor: str) -> float:
        return self._scales.get(tensor, SCALE)

    def _call(self, step: api.PluginLayer, call: PluginCall) -> PluginCall:
        kinds, outs = (tuple(DType.INT8 for _ in names) for names in (step.inputs, step.outs))
        return replace(
            call,
            types=kinds,
            output_types=outs,
            scales=tuple(map(self._scale, step.inputs)),
            output_scales=tuple(map(self._scale, step.outs)),
            implicit=True,
        )

    def _constant(self, tensor: str) -> str:
        name = f"{tensor}_scale"
        if not any(isinstance(step, api.ConstantLayer) and step.out == name for step in self._steps):
            self._steps.append(api.ConstantLayer(name, "float32", (self._scale(tensor),)))
        return name

    def _quantized(self, tensor: str) -> str:
        if tensor in self._given:
            return tensor
        name = f"{tensor}_q"
        if name not in self._int8:
            self._steps.append(api.Quantize(tensor, self._constant(tensor), name))
            self._int8.add(name)
        return name

    def _float(self, tensor: str) -> str:
        if tensor not in self._given:
            return tensor
        name = f"{tensor}_dq"
        if name not in self._int8:
            self._steps.append(api.Dequantize(tensor, self._constant(tensor), name))
            self._int8.add(name)
        return name
