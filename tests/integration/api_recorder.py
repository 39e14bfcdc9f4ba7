"""Records what a script does with NVIDIA's network API as pluginkit's steps, which the host and its interpreter run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from pluginkit.network import api_model as api
from pluginkit.network.networks import Array, Dims

bindings: Any = SimpleNamespace(
    int32="int32",
    ElementWiseOperation=SimpleNamespace(SUM="SUM", PROD="PROD"),
    MatrixOperation=SimpleNamespace(NONE="NONE"),
    TripLimit=SimpleNamespace(COUNT="COUNT", WHILE="WHILE"),
    LoopOutput=SimpleNamespace(LAST_VALUE="LAST_VALUE", CONCATENATE="CONCATENATE", REVERSE="REVERSE"),
)
"""Stands for NVIDIA's Python module: what a step calls these."""


class Tensor:
    """An ITensor: its name in the steps, and the one that a script gives it."""

    def __init__(self, step_name: str) -> None:
        self.step_name = step_name
        self.name = ""


class Layer:
    """An ILayer of one output."""

    def __init__(self, output: Tensor, set_input: Callable[[int, Tensor], None] | None = None) -> None:
        self._output = output
        self._set_input = set_input

    def get_output(self, index: int) -> Tensor:
        assert index == 0
        return self._output

    def set_input(self, index: int, tensor: Tensor) -> None:
        assert self._set_input is not None
        self._set_input(index, tensor)


class Recorder:
    """An INetworkDefinition, as far as samples/char_lstm uses it."""

    def __init__(self) -> None:
        self.steps: list[api.Step] = []
        self.kinds: dict[str, str] = {}
        """The plugin's nodes, each with its field `kind`."""
        self._number = 0

    def new(self) -> Tensor:
        self._number += 1
        return Tensor(f"t{self._number}")

    def add_input(self, name: str, kind: api.TypeName, dims: Dims) -> Tensor:
        self.steps.append(api.NetworkInput(name, kind, dims))
        return Tensor(name)

    def add_constant(self, shape: Sequence[int], values: Array) -> Layer:
        assert tuple(shape) == values.shape
        out = self.new()
        kind: Any = values.dtype.name
        self.steps.append(api.ConstantLayer(out.step_name, kind, tuple(values.ravel().tolist()), values.shape))
        return Layer(out)

    def add_elementwise(self, left: Tensor, right: Tensor, kind: Any) -> Layer:
        out = self.new()
        self.steps.append(api.Elementwise(kind, left.step_name, right.step_name, out.step_name))
        return Layer(out)

    def add_matrix_multiply(self, left: Tensor, first: str, right: Tensor, second: str) -> Layer:
        assert first == second == "NONE"
        out = self.new()
        self.steps.append(api.MatrixMultiply(left.step_name, right.step_name, out.step_name))
        return Layer(out)

    def add_gather(self, x: Tensor, indices: Tensor, axis: int) -> Layer:
        assert axis == 0
        out = self.new()
        self.steps.append(api.Gather(x.step_name, indices.step_name, out.step_name))
        return Layer(out)

    def add_shape(self, x: Tensor) -> Layer:
        out = self.new()
        self.steps.append(api.ShapeLayer(x.step_name, out.step_name))
        return Layer(out)

    def add_loop(self) -> Loop:
        self.steps.append(api.LoopStep("loop"))
        return Loop(self)

    def mark_output(self, tensor: Tensor) -> None:
        self.steps += [api.IdentityLayer(tensor.step_name, tensor.name), api.NetworkOutput(tensor.name)]

    def activation(self, x: Tensor, kind: str) -> Tensor:
        """The plugin's layer."""
        out, node = self.new(), f"activation_{len(self.kinds)}_"
        self.kinds[node] = kind
        self.steps.append(api.PluginLayer(node, (x.step_name,), (out.step_name,)))
        return out


class Loop:
    """An ILoop."""

    def __init__(self, network: Recorder) -> None:
        self._network = network

    def add_trip_limit(self, tensor: Tensor, kind: Any) -> None:
        self._network.steps.append(api.TripLimit("loop", kind, tensor.step_name))

    def add_iterator(self, x: Tensor, axis: int, reverse: bool) -> Layer:
        out = self._network.new()
        self._network.steps.append(api.IteratorLayer("loop", x.step_name, out.step_name, axis, reverse))
        return Layer(out)

    def add_recurrence(self, first: Tensor) -> Layer:
        steps, out = self._network.steps, self._network.new()
        steps.append(api.Recurrence("loop", first.step_name, out.step_name))

        def set_input(index: Any, tensor: Tensor) -> None:
            steps.append(api.Recur(out.step_name, tensor.step_name, index))

        return Layer(out, set_input)

    def add_loop_output(self, x: Tensor, kind: Any, axis: int) -> Layer:
        steps, out = self._network.steps, self._network.new()
        made = api.LoopOutput("loop", kind, x.step_name, out.step_name, axis)
        steps.append(made)
        at = len(steps) - 1

        def set_input(index: int, tensor: Tensor) -> None:
            assert index == 1
            steps[at] = replace(made, length=tensor.step_name)

        return Layer(out, set_input)
