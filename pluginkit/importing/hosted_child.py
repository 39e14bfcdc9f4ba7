"""The worker's side of `running`: a model with its plugins in pluginkit's host, all else by onnx's reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto

from pluginkit import host
from pluginkit.dtypes import DType
from pluginkit.errors import UsageError
from pluginkit.importing.running import Identity, identity
from pluginkit.importing.serving import RESERVED, SHAPE_INPUTS, attribute
from pluginkit.runtimes import walker
from pluginkit.runtimes.child import Breadcrumb
from pluginkit.testing.model import Array

TENSORS = {
    "float32": DType.FLOAT32,
    "float64": DType.FLOAT32,
    "float16": DType.FLOAT16,
    "int32": DType.INT32,
    "int8": DType.INT8,
}
"""What NVIDIA's parser makes of a tensor's type, whatever type the creator advertises."""


def open(breadcrumb: Breadcrumb, *, creators: Mapping[Identity, tuple[Path, Mapping[str, str]]]) -> Hosted:  # noqa: A001
    """Load the libraries; `creators` gives each one's library and its fields' types."""
    host.set_breadcrumb_file(breadcrumb.path)
    return Hosted(creators)


class Hosted:
    """Plugin libraries in this process."""

    def __init__(self, creators: Mapping[Identity, tuple[Path, Mapping[str, str]]]) -> None:
        paths = dict.fromkeys(path for path, _ in creators.values())
        libraries = {path: host.Library(path) for path in paths}
        self._devices = {path: host.Device(path) for path in paths}
        self._creators = {key: libraries[path].creator(*key) for key, (path, _) in creators.items()}
        self._facts = creators
        self._contexts: dict[object, host.Context] = {}

    def run(self, model: bytes, operators: Sequence[tuple[str, str]], feeds: Mapping[str, Array]) -> dict[str, Array]:
        """Run a model once; the nodes of `operators` (domain, type) are the plugins'.

        Raises:
            Finding: a plugin does something wrong.
            UsageError: a plugin is given what the host can't pass.
        """
        outputs = walker.run_nodes(onnx.load_from_string(model), operators, self._call, feeds)
        for context in self._contexts.values():
            context.close()
        self._contexts.clear()
        return outputs

    def _call(self, node: onnx.NodeProto, inputs: Sequence[Array]) -> Sequence[Array]:
        arrays = [np.asarray(value, order="C") for value in inputs]
        key = (node.SerializeToString(), *((value.dtype.str, value.shape) for value in arrays))
        if key not in self._contexts:
            # A layer is built for the shapes that come, and run from what it serialized.
            self._contexts[key] = self._context(node, arrays)
        return self._contexts[key].run(arrays)

    def _context(self, node: onnx.NodeProto, arrays: Sequence[Array]) -> host.Context:
        chosen = identity(node, list(self._creators))
        path, kinds = self._facts[chosen]
        creator = self._creators[chosen]
        numbers = _shape_inputs(node)
        specs = [_spec(node, value, as_values=index in numbers) for index, value in enumerate(arrays)]
        name = node.name or node.op_type
        built = host.build(creator, name, _fields(node, kinds), [specs], shape_inputs=numbers)
        return host.Context(creator, built, specs, self._devices[path])


def _shape_inputs(node: onnx.NodeProto) -> tuple[int, ...]:
    """Which inputs are shape inputs; a negative number counts from the last."""
    found = attribute(node, SHAPE_INPUTS)
    return tuple(index % len(node.input) for index in found.ints) if found is not None else ()


def _spec(node: onnx.NodeProto, value: Array, *, as_values: bool) -> host.TensorSpec:
    """An input; of a shape input the values stand where the shape of another does."""
    actual = tuple(int(number) for number in value.ravel()) if as_values else value.shape
    dims = (-1,) * len(actual) if as_values else actual
    try:
        return host.TensorSpec(DType(value.dtype.name), dims, actual, actual, actual)
    except ValueError:
        known = ", ".join(kind.value for kind in DType)
        raise UsageError(f"{node.name} has an input of {value.dtype}; pluginkit's host passes {known}") from None


def _fields(node: onnx.NodeProto, kinds: Mapping[str, str]) -> dict[str, tuple[DType, Any]]:
    """The fields as the parser makes them of a node's attributes: those that the creator has."""
    fields: dict[str, tuple[DType, Any]] = {}
    for one in node.attribute:
        if one.name not in kinds or one.name in RESERVED:
            continue
        value = onnx.helper.get_attribute_value(one)
        if one.type == AttributeProto.TENSOR:
            value = onnx.numpy_helper.to_array(value)
            kind = TENSORS.get(value.dtype.name)
        else:
            floats = one.type in {AttributeProto.FLOAT, AttributeProto.FLOATS}
            ints = one.type in {AttributeProto.INT, AttributeProto.INTS}
            kind = DType.FLOAT32 if floats else DType.INT32 if ints else None
        if kind is None:
            what = "a tensor of " + value.dtype.name if one.type == AttributeProto.TENSOR else type(value).__name__
            raise UsageError(
                f"{node.name}: its attribute {one.name} is {what}; pluginkit's host passes numbers, lists of them, and "
                f"tensors of {', '.join(TENSORS)}"
            )
        fields[one.name] = kind, value
    return fields
