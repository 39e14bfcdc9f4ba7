"""Drafting an `ApiNetwork`: tensors of the plugin with Cast or Quantize before them and a probe behind each output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from onnx import helper, numpy_helper

from pluginkit.dtypes import DType
from pluginkit.field_types import FieldType, Value
from pluginkit.manifest import Profile, Tensor
from pluginkit.network import api_model as api
from pluginkit.network.api_model import PROBE
from pluginkit.network.networks import Dims, NetworkProfile, PluginCall, Range
from pluginkit.testing.families.base import Setting, plugin_node, versions
from pluginkit.testing.families.looping import TRIPS


class Draft:
    """A network under way."""

    def __init__(self, setting: Setting, family: str) -> None:
        self.setting = setting
        self.family = family
        self.steps: list[api.Step] = []
        self._calls: list[PluginCall] = []
        self._nodes: list[tuple[str, tuple[str, str, str], PluginCall]] = []
        self._shapes: list[dict[str, Range]] = [{} for _ in setting.manifest.profiles]
        self._values: list[dict[str, Range]] = [{} for _ in setting.manifest.profiles]
        self._number = 0

    @property
    def profiles(self) -> Sequence[Profile]:
        """The signature's."""
        return self.setting.manifest.profiles

    def name(self, label: str) -> str:
        """A tensor name that nothing else has; network inputs and outputs have names without a number."""
        self._number += 1
        return f"t{self._number:03d}_{label}"

    def input(self, tensor: Tensor, *, lead: int | None = None, label: str = "") -> str:
        """A network input of a plugin tensor's shape, with an axis of the trip count put in at `lead`.

        It is called `label`, or as the tensor; a shape input is a shape tensor, called as itself.
        """
        ranges = self.setting.ranges(tensor)
        if tensor.is_shape_input:
            return self.shape_input(tensor.name, self.setting.value_ranges(tensor), tensor.types[0].value)
        if lead is not None:
            ranges = tuple((_put(low, lead, 0), _put(best, lead, 1), _put(high, lead, 2)) for low, best, high in ranges)
        kind: api.TypeName = self.setting.graph_type(tensor)
        return self.network_input(label or tensor.name, kind, ranges)

    def network_input(self, label: str, kind: api.TypeName, ranges: Sequence[Range]) -> str:
        """A network input with its shape at each profile's min, opt and max."""
        out = label
        self.steps.append(api.NetworkInput(out, kind, dynamic(ranges)))
        for shapes, one in zip(self._shapes, ranges, strict=True):
            shapes[out] = one
        return out

    def count(self, label: str, more: int = 0) -> str:
        """A 0-D network input with a trip count, or that many more; a shape tensor."""
        out = self.network_input(label, "int32", [((), (), ())] * len(self._values))
        for values in self._values:
            values[out] = ((TRIPS[0] + more,), (TRIPS[1] + more,), (TRIPS[2] + more,))
        return out

    def shape_input(self, label: str, ranges: Sequence[Range], kind: api.TypeName = "int64") -> str:
        """A 1-D network input that is a shape tensor, with its values at each profile's min, opt and max."""
        rank = len(ranges[0][0])
        out = self.network_input(label, kind, [((rank,), (rank,), (rank,))] * len(ranges))
        for values, one in zip(self._values, ranges, strict=True):
            values[out] = one
        return out

    def vector(self, values: Sequence[int]) -> str:
        """A 1-D INT64 constant."""
        out = self.name("vector")
        self.steps.append(api.ConstantLayer(out, "int64", tuple(values), (len(values),)))
        return out

    def show(self, name: str, label: str) -> None:
        """A tensor as a network output of that name."""
        self.steps += [api.IdentityLayer(name, label), api.NetworkOutput(label)]

    def constant(self, kind: api.TypeName, value: float, rank: int = 0) -> str:
        """A constant of one element."""
        out = self.name("constant")
        self.steps.append(api.ConstantLayer(out, kind, (value,), (1,) * rank))
        return out

    def times(self, x: str, factor: float, rank: int) -> str:
        """A float tensor multiplied by a number."""
        out = self.name("times")
        self.steps.append(api.Elementwise("PROD", x, self.constant("float32", factor, rank), out))
        return out

    def plugin(self, inputs: Sequence[str], *, half: bool = False, live: bool = True) -> list[str]:
        """The plugin on tensors of FP32 and of integers, giving such: with what its precision takes around it.

        With `half`, tensors that are FP16 for the plugin come and go as that. `live` is that of `PluginCall`.
        """
        setting, manifest = self.setting, self.setting.manifest
        entered = []
        for tensor, name in zip(manifest.inputs, inputs, strict=True):
            typed = name if half else self.to_half(tensor, name)
            entered.append(self._quantized(tensor, typed, api.Quantize))
        raw = [self.name(f"{tensor.name}_raw") for tensor in manifest.outputs]
        identity = (manifest.plugin.name, manifest.plugin.version, manifest.plugin.namespace)
        node = self._node("plugin", identity, manifest.inputs, manifest.outputs, setting.attributes(), live=live)
        chosen = tuple(index for index, tensor in enumerate(manifest.inputs) if tensor.is_shape_input)
        self.steps.append(api.PluginLayer(node, tuple(entered), tuple(raw), chosen))
        left = []
        for tensor, name in zip(manifest.outputs, raw, strict=True):
            seen = self.name(f"{tensor.name}_seen")
            probe = self._node(f"probe_{tensor.name}", PROBE, [tensor], [tensor], {}, behind=True, live=live)
            self.steps.append(api.PluginLayer(probe, (name,), (seen,)))
            typed = self._quantized(tensor, seen, api.Dequantize)
            left.append(typed if half else self.from_half(tensor, typed))
        return left

    def _node(
        self,
        label: str,
        identity: tuple[str, str, str],
        inputs: Sequence[Tensor],
        outputs: Sequence[Tensor],
        fields: dict[str, tuple[FieldType, Value]],
        *,
        behind: bool = False,
        live: bool,
    ) -> str:
        setting, node = self.setting, f"n{len(self._nodes):03d}_{label}"

        def ranges(tensor: Tensor) -> Sequence[Range]:
            return setting.output_ranges(tensor) if behind else setting.value_ranges(tensor) or setting.ranges(tensor)

        call = PluginCall(
            node=node,
            fields=fields,
            types=tuple(setting.kind(tensor) for tensor in inputs),
            output_types=tuple(setting.kind(tensor) for tensor in outputs),
            inputs=tuple(zip(*map(ranges, inputs), strict=True)),
            scales=tuple(setting.scale(tensor) for tensor in inputs),
            output_scales=tuple(setting.scale(tensor) for tensor in outputs),
            live=live,
            shape_inputs=tuple(index for index, tensor in enumerate(inputs) if tensor.is_shape_input),
        )
        self._nodes.append((node, identity, call))
        return node

    def to_half(self, tensor: Tensor, name: str) -> str:
        """An FP32 tensor as FP16 or BF16, if that is the plugin's type for it."""
        return self._cast(tensor, name, self.setting.kind(tensor).value)

    def from_half(self, tensor: Tensor, name: str) -> str:
        """The way back."""
        return self._cast(tensor, name, "float32")

    def _cast(self, tensor: Tensor, name: str, to: api.TypeName) -> str:
        kind = self.setting.kind(tensor)
        if kind is DType.FLOAT32 or kind.is_integer or kind.is_quantized:
            return name
        out = self.name(f"{tensor.name}_{to}")
        self.steps.append(api.Cast(name, out, to))
        return out

    def _quantized(self, tensor: Tensor, name: str, step: type[api.Quantize | api.Dequantize]) -> str:
        kind = self.setting.kind(tensor)
        if not kind.is_quantized:
            return name
        # NVIDIA's API quantizes what has a dimension.
        name = name if tensor.shape else self._reshaped(name, (1,))
        if (channels := self._channels(tensor)) and step is api.Quantize:
            name = self._scaled("DIV", name, channels)
        out = self.name(f"{tensor.name}_{step.__name__.lower()}")
        scale = self.constant("float32", self.setting.scale(tensor))
        to: api.TypeName = "float8" if kind is DType.FLOAT8 else "int8"
        self.steps.append(
            api.Quantize(name, scale, out, to) if step is api.Quantize else api.Dequantize(name, scale, out)
        )
        if channels and step is api.Dequantize:
            out = self._scaled("PROD", out, channels)
        return out if tensor.shape else self._reshaped(out, ())

    def _channels(self, tensor: Tensor) -> str:
        """The constant of a tensor's scales, one a channel, that broadcasts to it; empty where it has one scale."""
        numbers, axis, rank = self.setting.channels(tensor), tensor.scale_axis or 0, len(tensor.shape)
        if not numbers:
            return ""
        out = self.name(f"{tensor.name}_channels")
        dims = (*[1] * axis, len(numbers), *[1] * (rank - axis - 1))
        self.steps.append(api.ConstantLayer(out, "float32", numbers, dims))
        return out

    def _scaled(self, op: Literal["DIV", "PROD"], name: str, by: str) -> str:
        out = self.name("scaled")
        self.steps.append(api.Elementwise(op, name, by, out))
        return out

    def _reshaped(self, name: str, dims: Dims) -> str:
        out = self.name("reshaped")
        self.steps.append(api.Reshape(name, dims, out))
        return out

    def finish(self) -> api.ApiNetwork:
        """The network as plain data."""
        profiles = [
            NetworkProfile(profile.name, shapes, values)
            for profile, shapes, values in zip(self.setting.manifest.profiles, self._shapes, self._values, strict=True)
        ]
        return api.ApiNetwork(
            id=self.setting.network_id(self.family),
            family=self.family,
            precision=self.setting.precision,
            model=_model(self._nodes),
            steps=tuple(self.steps),
            calls=tuple(call for _, _, call in self._nodes),
            profiles=tuple(profiles),
        )


def dynamic(ranges: Sequence[Range]) -> Dims:
    """The dimensions of a network with these profiles: -1 where they aren't all the same."""
    shapes = [shape for low_opt_high in ranges for shape in low_opt_high]
    return tuple(sizes[0] if len(set(sizes)) == 1 else -1 for sizes in zip(*shapes, strict=True))


def _put(dims: Dims, axis: int, point: int) -> Dims:
    return (*dims[:axis], TRIPS[point], *dims[axis:])


def _model(nodes: Sequence[tuple[str, tuple[str, str, str], PluginCall]]) -> bytes:
    """Each node on constants of its own: nothing of the model stays in the network but the plugins' layers."""
    protos, constants, outputs = [], [], []
    for node, identity, call in nodes:
        entered = [f"{node}_in{index}" for index in range(len(call.types))]
        left = [f"{node}_out{index}" for index in range(len(call.output_types))]
        protos.append(plugin_node(identity, entered, left, node, call.fields, call.shape_inputs))
        for index, (tensor, kind, (low, best, _)) in enumerate(zip(entered, call.types, call.inputs[0], strict=True)):
            held = np.zeros([max(1, dim) for dim in low], kind.numpy)
            if index in call.shape_inputs:
                held = np.array(best, kind.numpy)
            constants.append(numpy_helper.from_array(held, tensor))
        outputs += [
            helper.make_tensor_value_info(tensor, kind.onnx, None)
            for tensor, kind in zip(left, call.output_types, strict=True)
        ]
    graph = helper.make_graph(protos, "plugins", [], outputs, constants)
    model: bytes = helper.make_model(graph, **versions([call for _, _, call in nodes])).SerializeToString()
    return model
