"""What a plugin layer is declared with, and the ONNX model from which RTX's parser makes the layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import onnx
from onnx import AttributeProto, helper, numpy_helper

from pluginkit.dtypes import DType
from pluginkit.errors import UsageError
from pluginkit.field_types import CARRIED_INTEGERS

OPSET = 17
DOMAIN = "pluginkit"
SHAPE_INPUTS = "tensorrt_plugin_shape_input_indices"
TRT_NAMES = {kind.trt.removeprefix("k"): kind.value for kind in DType}
"""Element types by the names of the members of `tensorrt_rtx.DataType`, as HALF."""
SHAPE_DTYPES = ("int32", "int64")

FieldValue: TypeAlias = "float | int | bool | str | Sequence[float] | Sequence[int] | npt.NDArray[Any]"


def dtype_name(dtype: object) -> str:
    """NumPy's name of a type that is given by it, or as a member of `tensorrt_rtx.DataType`."""
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None)
    return TRT_NAMES.get(name, name) if isinstance(name, str) else str(np.dtype(dtype))  # type: ignore[call-overload]


@dataclass(frozen=True)
class Input:
    """A tensor that a plugin takes.

    Attributes:
        dtype: a `pluginkit.dtypes.DType`, its name ("float32"), or a member of NVIDIA's DataType.
        shape: its dimensions, -1 where they are open. The plugin is asked for its output shapes once with 1 in the
            place of each -1, when it is declared.
    """

    dtype: Any
    shape: Sequence[int]

    def __post_init__(self) -> None:
        name = dtype_name(self.dtype)
        if name not in set(DType):
            raise UsageError(f"A plugin's input can't be of type {name}.", hint=f"One of {', '.join(DType)}.")
        shape = tuple(int(size) for size in self.shape)
        if any(size < -1 for size in shape) or len(shape) > 8:  # NvInferRuntimeBase.h: Dims::MAX_DIMS
            raise UsageError(f"{shape} is not a shape.", hint="At most 8 dimensions, each a size or -1.")
        object.__setattr__(self, "dtype", name)
        object.__setattr__(self, "shape", shape)

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join('?' if size < 0 else str(size) for size in self.shape)}]"


@dataclass(frozen=True)
class Declaration:
    """A plugin layer of a network that has not been begun.

    Attributes:
        layer: the layer's name, which no other has.
        plugin: `namespace::Name`, or the name alone.
        inputs: the tensors that it takes.
        fields: the values of the creator's fields, by name: numbers, texts, lists or arrays of numbers. Those that are
            left out keep the plugin's defaults.
        version: the plugin's version.
        shape_inputs: tensors of sizes that it takes behind the others, INT32 or INT64 with 0 or 1 dimension
            (`shapeInputs` of TensorRT's addPluginV3).
    """

    layer: str
    plugin: str
    inputs: Sequence[Input]
    fields: Mapping[str, FieldValue] = field(default_factory=dict)
    version: str = "1"
    shape_inputs: Sequence[Input] = ()

    def __post_init__(self) -> None:
        if not self.layer or not self.name:
            raise UsageError(f"{self!r} names no {'plugin' if self.layer else 'layer'}.")
        for one in self.shape_inputs:
            if one.dtype not in SHAPE_DTYPES or len(one.shape) > 1 or -1 in one.shape:
                raise UsageError(
                    f"{self.layer}: {one} is not a shape input.",
                    hint="They are of type int32 or int64, with 0 dimensions or a single one of fixed length.",
                )

    @property
    def name(self) -> str:
        """The plugin's, without the namespace."""
        return self.plugin.rpartition("::")[2]

    @property
    def namespace(self) -> str:
        """The plugin's, or nothing."""
        return self.plugin.rpartition("::")[0]

    @property
    def all_inputs(self) -> tuple[Input, ...]:
        """In the layer's order: shape inputs come last."""
        return *self.inputs, *self.shape_inputs


def field_values(declaration: Declaration, listed: Mapping[str, str]) -> dict[str, FieldValue]:
    """The values as the creator's types ask for them: a whole number for a float field is one of floats.

    Args:
        declaration: the layer's.
        listed: the creator's fields, each with the name of its `PluginFieldType`, as FLOAT32.

    Raises:
        UsageError: the creator doesn't list a field, or its type doesn't go with the value.
    """
    values: dict[str, FieldValue] = {}
    for name, value in declaration.fields.items():
        if name not in listed:
            raise UsageError(
                f"{declaration.layer}: {declaration.plugin} has no field {name!r}.",
                hint=f"Its creator lists {', '.join(listed) or 'none'}.",
            )
        values[name] = _value(f"{declaration.layer}: field {name!r}", value, listed[name])
    return values


def _value(where: str, value: FieldValue, kind: str) -> FieldValue:
    if isinstance(value, str) or kind == "CHAR":
        if not isinstance(value, str) or kind != "CHAR":
            raise UsageError(f"{where} is {value!r}, and the creator lists it as {kind}.")
        return value
    numbers = np.asarray(value)
    if numbers.dtype.kind not in "iufb" and numbers.dtype.name != "bfloat16":
        raise UsageError(f"{where} is {value!r}: neither numbers nor a text.")
    if kind.startswith("INT"):
        given = numbers.ravel().tolist()
        if not all(float(number).is_integer() for number in given):
            raise UsageError(f"{where} is {value!r}, and the creator lists it as {kind}.")
        whole = [int(number) for number in given]
        if any(number not in CARRIED_INTEGERS for number in whole):
            raise UsageError(f"{where} is {value!r}, and NVIDIA's parser cuts attributes to 32 bits.")
        return whole if numbers.ndim else whole[0]
    if isinstance(value, np.ndarray) and numbers.dtype.name in {"float32", "float16", "bfloat16"}:
        return value
    floats = [float(number) for number in numbers.ravel()]
    return floats if numbers.ndim else floats[0]


def model(layers: Sequence[tuple[Declaration, Mapping[str, FieldValue], int]]) -> bytes:
    """A model with a node for each layer and nothing else: initializers stand in for the inputs, and it has no outputs.

    (Inputs of the graph would stay in the network, and ask for profiles.)

    Args:
        layers: declarations, each with its fields' values and the number of its outputs.

    Returns:
        The serialized ModelProto.
    """
    nodes, tensors = [], []
    for one, values, outputs in layers:
        names = [f"{one.layer}:{index}" for index in range(len(one.all_inputs))]
        tensors += [_placeholder(name, given) for name, given in zip(names, one.all_inputs, strict=True)]
        node = helper.make_node(
            one.name,
            names,
            [f"{one.layer}:output:{index}" for index in range(outputs)],
            name=one.layer,
            domain=DOMAIN,
            plugin_version=one.version,
            plugin_namespace=one.namespace,
        )
        if one.shape_inputs:
            node.attribute.append(
                helper.make_attribute(SHAPE_INPUTS, list(range(len(one.inputs), len(one.all_inputs))))
            )
        node.attribute.extend(_attribute(name, value) for name, value in values.items())
        nodes.append(node)
    graph = helper.make_graph(nodes, "declared plugins", [], [], tensors)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(DOMAIN, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()  # type: ignore[no-any-return]


def _placeholder(name: str, given: Input) -> onnx.TensorProto:
    dims = [1 if size < 0 else size for size in given.shape]
    kind = DType(given.dtype).numpy
    # A shape input of zeros would be an output without elements, which plugins need not take.
    return numpy_helper.from_array(np.ones(dims, kind), name)


def _attribute(name: str, value: FieldValue) -> onnx.AttributeProto:
    if isinstance(value, np.ndarray):
        return helper.make_attribute(name, numpy_helper.from_array(value))
    if isinstance(value, list):
        # An empty list doesn't say what it is a list of.
        kind = AttributeProto.INTS if all(isinstance(one, int) for one in value) else AttributeProto.FLOATS
        return helper.make_attribute(name, value, attr_type=kind)
    return helper.make_attribute(name, value)
