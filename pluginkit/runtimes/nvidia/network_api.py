"""The worker's side of networks made by NVIDIA's API: plays the steps of an `ApiNetwork`."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import numpy as np

from pluginkit.errors import CheckFailed
from pluginkit.network import api_model as api
from pluginkit.network.networks import Array
from pluginkit.runtimes.nvidia.bindings import IS_8, trt

if IS_8:
    from pluginkit.runtimes.nvidia import version8


def fill(network: trt.INetworkDefinition, steps: Sequence[api.Step]) -> list[Array]:
    """Adds the steps to a network into which the plugins' model was parsed.

    Returns:
        What must live until the network is built: constants' values, which the network doesn't copy.

    Raises:
        CheckFailed: NVIDIA's API doesn't take a step.
    """
    return play(Player(network), steps)


def play(player: Player, steps: Sequence[api.Step]) -> list[Array]:
    """As `fill`, by a player that may make plugin layers in its own way."""
    network = player.network
    for step in steps:
        player.play(step)
    outputs = [network.get_output(index) for index in range(network.num_outputs)]
    for tensor in (*outputs, *player.states):
        # Without this the builder finds no type for what is dequantized within a recurrence, in a loop without outputs
        # too. What can't be inferred it reports itself.
        with contextlib.suppress(RuntimeError):
            _ = tensor.shape
    return player.kept


TYPES = {
    "float32": trt.float32,
    "float16": trt.float16,
    "int8": trt.int8,
    "int32": trt.int32,
    "bool": trt.bool,
}
if IS_8:
    # It has no INT64; its parser makes INT32 of ONNX's, too.
    TYPES["int64"] = trt.int32
else:
    TYPES |= {"bfloat16": trt.bfloat16, "float8": trt.fp8, "int64": trt.int64}
OPERATIONS = {
    "SUM": trt.ElementWiseOperation.SUM,
    "PROD": trt.ElementWiseOperation.PROD,
    "LESS": trt.ElementWiseOperation.LESS,
    "DIV": trt.ElementWiseOperation.DIV,
    "FLOOR_DIV": trt.ElementWiseOperation.FLOOR_DIV,
}
LIMITS = {"COUNT": trt.TripLimit.COUNT, "WHILE": trt.TripLimit.WHILE}
OUTPUTS = {
    "LAST_VALUE": trt.LoopOutput.LAST_VALUE,
    "CONCATENATE": trt.LoopOutput.CONCATENATE,
    "REVERSE": trt.LoopOutput.REVERSE,
}


class Player:
    """The network under construction, and its tensors, loops and conditionals by name."""

    def __init__(self, network: trt.INetworkDefinition) -> None:
        self.network = network
        self._tensors: dict[str, trt.ITensor] = {}
        self._loops: dict[str, trt.ILoop] = {}
        self._conditionals: dict[str, trt.IIfConditional] = {}
        self._states: dict[str, trt.IRecurrenceLayer] = {}
        self.kept: list[Array] = []
        layers = [network.get_layer(index) for index in range(network.num_layers)]
        parsed = trt.LayerType.PLUGIN_V2 if IS_8 else trt.LayerType.PLUGIN_V3
        self._plugins = {layer.name: layer for layer in layers if layer.type == parsed}
        # What the parsed model gave out is not asked for.
        for output in [network.get_output(index) for index in range(network.num_outputs)]:
            network.unmark_output(output)

    @property
    def states(self) -> list[trt.ITensor]:
        """What the recurrences give."""
        return [layer.get_output(0) for layer in self._states.values()]

    def tensor(self, name: str) -> trt.ITensor:
        """A tensor that there is by now."""
        return self._tensors[name]

    def play(self, step: api.Step) -> None:
        """One step, by its class."""
        try:
            getattr(self, f"_{type(step).__name__.lower()}")(step)
        except (TypeError, ValueError, AttributeError) as error:
            # AttributeError: the API answered None to an impossible layer.
            raise CheckFailed(f"{step}: {error}") from None

    def _is(self, name: str, tensor: trt.ITensor) -> None:
        tensor.name = name
        self._tensors[name] = tensor

    def _networkinput(self, step: api.NetworkInput) -> None:
        self._tensors[step.out] = self.network.add_input(step.out, TYPES[step.dtype], step.dims)

    def _constantlayer(self, step: api.ConstantLayer) -> None:
        kind = "int32" if IS_8 and step.dtype == "int64" else step.dtype
        values = np.array(step.values, kind).reshape(step.dims)
        self.kept.append(values)
        self._is(step.out, self.network.add_constant(step.dims, values).get_output(0))

    def _pluginlayer(self, step: api.PluginLayer) -> None:
        layer = self._plugins[step.node]
        inputs, shape_inputs = step.split
        for index, name in enumerate((*inputs, *shape_inputs)):
            layer.set_input(index, self._tensors[name])
        for index, name in enumerate(step.outs):
            self._is(name, layer.get_output(index))

    def _cast(self, step: api.Cast) -> None:
        x, kind = self._tensors[step.x], TYPES[step.dtype]
        layer = version8.cast(self.network, x, kind) if IS_8 else self.network.add_cast(x, kind)
        self._is(step.out, layer.get_output(0))

    def _identitylayer(self, step: api.IdentityLayer) -> None:
        self._is(step.out, self.network.add_identity(self._tensors[step.x]).get_output(0))

    def _quantize(self, step: api.Quantize) -> None:
        x, scale = self._tensors[step.x], self._tensors[step.scale]
        layer: trt.IQuantizeLayer
        if IS_8:
            layer = version8.quantize(self.network, x, scale)
        else:
            layer = self.network.add_quantize(x, scale, TYPES[step.dtype])
        self._is(step.out, layer.get_output(0))

    def _dequantize(self, step: api.Dequantize) -> None:
        x, scale = self._tensors[step.x], self._tensors[step.scale]
        layer: trt.IDequantizeLayer
        if IS_8:
            layer = version8.dequantize(self.network, x, scale)
        else:
            layer = self.network.add_dequantize(x, scale, trt.float32)
        self._is(step.out, layer.get_output(0))

    def _elementwise(self, step: api.Elementwise) -> None:
        operation = OPERATIONS[step.op]
        layer = self.network.add_elementwise(self._tensors[step.left], self._tensors[step.right], operation)
        self._is(step.out, layer.get_output(0))

    def _matrixmultiply(self, step: api.MatrixMultiply) -> None:
        left, right = self._tensors[step.left], self._tensors[step.right]
        layer = self.network.add_matrix_multiply(left, trt.MatrixOperation.NONE, right, trt.MatrixOperation.NONE)
        self._is(step.out, layer.get_output(0))

    def _concat(self, step: api.Concat) -> None:
        layer = self.network.add_concatenation([self._tensors[name] for name in step.inputs])
        layer.axis = step.axis
        self._is(step.out, layer.get_output(0))

    def _shapelayer(self, step: api.ShapeLayer) -> None:
        self._is(step.out, self.network.add_shape(self._tensors[step.x]).get_output(0))

    def _reshape(self, step: api.Reshape) -> None:
        layer = self.network.add_shuffle(self._tensors[step.x])
        layer.reshape_dims = trt.Dims(step.dims)
        self._is(step.out, layer.get_output(0))

    def _reshapeto(self, step: api.ReshapeTo) -> None:
        layer = self.network.add_shuffle(self._tensors[step.x])
        layer.zero_is_placeholder = False
        layer.set_input(1, self._tensors[step.size])
        self._is(step.out, layer.get_output(0))

    def _slice(self, step: api.Slice) -> None:
        x = self._tensors[step.x]
        # They count for nothing once there are inputs in their places.
        none = trt.Dims([0] * len(x.shape))
        layer = self.network.add_slice(x, none, none, none)
        for index, name in enumerate((step.start, step.size, step.stride), 1):
            layer.set_input(index, self._tensors[name])
        self._is(step.out, layer.get_output(0))

    def _resize(self, step: api.Resize) -> None:
        layer = self.network.add_resize(self._tensors[step.x])
        layer.resize_mode = trt.InterpolationMode.NEAREST
        layer.coordinate_transformation = trt.ResizeCoordinateTransformation.ASYMMETRIC
        layer.nearest_rounding = trt.ResizeRoundMode.FLOOR
        layer.set_input(1, self._tensors[step.size])
        self._is(step.out, layer.get_output(0))

    def _gather(self, step: api.Gather) -> None:
        layer = self.network.add_gather(self._tensors[step.x], self._tensors[step.indices], 0)
        self._is(step.out, layer.get_output(0))

    def _reduceproduct(self, step: api.ReduceProduct) -> None:
        layer = self.network.add_reduce(self._tensors[step.x], trt.ReduceOperation.PROD, 1, keep_dims=True)
        self._is(step.out, layer.get_output(0))

    def _loopstep(self, step: api.LoopStep) -> None:
        self._loops[step.name] = self.network.add_loop()

    def _triplimit(self, step: api.TripLimit) -> None:
        self._loops[step.loop].add_trip_limit(self._tensors[step.x], LIMITS[step.kind])

    def _recurrence(self, step: api.Recurrence) -> None:
        layer = self._loops[step.loop].add_recurrence(self._tensors[step.x])
        self._states[step.out] = layer
        self._is(step.out, layer.get_output(0))

    def _recur(self, step: api.Recur) -> None:
        self._states[step.state].set_input(step.index, self._tensors[step.x])

    def _iteratorlayer(self, step: api.IteratorLayer) -> None:
        layer = self._loops[step.loop].add_iterator(self._tensors[step.x], step.axis, step.reverse)
        self._is(step.out, layer.get_output(0))

    def _loopoutput(self, step: api.LoopOutput) -> None:
        kind = OUTPUTS[step.kind]
        layer = self._loops[step.loop].add_loop_output(self._tensors[step.x], kind, step.axis)
        if step.length:
            layer.set_input(1, self._tensors[step.length])
        self._is(step.out, layer.get_output(0))

    def _conditional(self, step: api.Conditional) -> None:
        if step.name not in self._conditionals:
            self._conditionals[step.name] = self.network.add_if_conditional()
        if step.flag:
            self._conditionals[step.name].set_condition(self._tensors[step.flag])

    def _branchinput(self, step: api.BranchInput) -> None:
        layer = self._conditionals[step.conditional].add_input(self._tensors[step.x])
        self._is(step.out, layer.get_output(0))

    def _branchoutput(self, step: api.BranchOutput) -> None:
        layer = self._conditionals[step.conditional].add_output(self._tensors[step.then], self._tensors[step.otherwise])
        self._is(step.out, layer.get_output(0))

    def _networkoutput(self, step: api.NetworkOutput) -> None:
        self.network.mark_output(self._tensors[step.x])
