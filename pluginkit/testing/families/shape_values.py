"""shape-values: shape inputs that the network computes of other tensors' shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from onnx import TensorProto, helper

from pluginkit import shapes
from pluginkit.manifest import Tensor
from pluginkit.network.networks import Array, PluginCall, Range
from pluginkit.testing.families.base import Applier, Body, GraphInput, OracleResult, Setting
from pluginkit.testing.families.family import Runs
from pluginkit.testing.families.plain import Plain
from pluginkit.testing.points import bind

_MORE = 1
"""By how much a tensor is longer than the value that comes of its length: the network subtracts it."""


class ShapeValues(Plain):
    """Each element of a shape input is the length of a tensor, less one."""

    NAME = "shape-values"
    DESCRIPTION = (
        "The plugin's shape inputs are computed: by Shape, Gather, Sub and Concat of tensors that are as long as an "
        "element says, and one more."
    )
    LAYERS: ClassVar[tuple[str, ...]] = (
        "IShapeLayer",
        "IGatherLayer",
        "IElementWiseLayer on a shape tensor",
        "IConcatenationLayer on shape tensors",
        "ICastLayer on a shape tensor",
        "IPluginV3Layer with shape inputs",
    )

    def refusal(self, setting: Setting) -> str:
        """There must be a shape input."""
        return "" if setting.manifest.shape_inputs() else "no input is a shape input"

    def given(self, setting: Setting) -> list[GraphInput]:
        """The plugin's other inputs, and a tensor for each symbol that is an element."""
        manifest = setting.manifest
        chosen = {tensor.name for tensor in manifest.execution_inputs()}
        found = [one for one in super().given(setting) if one.info.name in chosen]
        for symbol in _symbols(setting):
            info = helper.make_tensor_value_info(_source(setting, symbol), TensorProto.FLOAT, [None])
            ends = [profile.symbols[symbol] for profile in manifest.profiles]
            lengths: list[Range] = [((low + _MORE,), (opt + _MORE,), (high + _MORE,)) for low, opt, high in ends]
            found.append(GraphInput(info, tuple(lengths)))
        return found

    def runs(self, setting: Setting, point: str, feeds: Mapping[str, Array]) -> Runs:
        """Tensors of zeros in the place of the shape inputs."""
        del point
        manifest = setting.manifest
        env = bind(manifest, feeds)
        given = {tensor.name: feeds[tensor.name] for tensor in manifest.execution_inputs()}
        for symbol in _symbols(setting):
            given[_source(setting, symbol)] = np.zeros(env[symbol] + _MORE, np.float32)
        return [("", given)]

    def fill(self, main: Body) -> Sequence[PluginCall]:
        """The lengths, and the plugin."""
        setting, manifest = main.setting, main.setting.manifest
        inputs = [_made(main, tensor) if tensor.is_shape_input else tensor.name for tensor in manifest.inputs]
        left, call = main.plugin(inputs, padded=False)
        for name, tensor in zip(left, setting.manifest.outputs, strict=True):
            main.op("Identity", [name], tensor.name)
        return [call]

    def oracle(self, applier: Applier, feeds: Mapping[str, Array]) -> OracleResult:
        """What must come out."""
        setting = applier.setting
        env = {symbol: len(feeds[_source(setting, symbol)]) - _MORE for symbol in _symbols(setting)}
        values = {tensor.name: np.array(tensor.elements(env)) for tensor in setting.manifest.shape_inputs()}
        return super().oracle(applier, {**feeds, **values})


def _symbols(setting: Setting) -> list[str]:
    """The symbols that are elements of shape inputs."""
    return list(dict.fromkeys(name for t in setting.manifest.shape_inputs() for name in _names(t)))


def _names(tensor: Tensor) -> list[str]:
    return [name for value in tensor.values or () for name in shapes.symbols(shapes.parse(value))]


def _source(setting: Setting, symbol: str) -> str:
    return setting.free_name(f"as_long_as_{symbol}")


def _made(main: Body, tensor: Tensor) -> str:
    """A shape input, of the lengths of graph inputs."""
    names, made = main.names, []
    for value in tensor.values or ():
        expr = shapes.parse(value)
        if isinstance(expr, shapes.Constant):
            made.append(main.constant("number", TensorProto.INT64, [1], [expr.value]))
            continue
        shape = main.op("Shape", [_source(main.setting, value)], names.tensor(f"main_{value}_shape"))
        first = main.constant("first", TensorProto.INT64, [1], [0])
        length = main.op("Gather", [shape, first], names.tensor(f"main_{value}_length"), axis=0)
        more = main.constant("more", TensorProto.INT64, [1], [_MORE])
        made.append(main.op("Sub", [length, more], names.tensor(f"main_{value}_size")))
    whole = main.op("Concat", made, names.tensor(f"main_{tensor.name}_values"), axis=0)
    kind = main.setting.kind(tensor).onnx
    return main.op("Cast", [whole], names.tensor(f"main_{tensor.name}_typed"), to=kind)
