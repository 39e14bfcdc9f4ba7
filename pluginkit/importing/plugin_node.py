"""A plugin's node in a model: what it names, what its attributes say, and what must come out of a run with it.

Workers import this, which is why it imports little.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import onnx

from pluginkit.field_types import Value
from pluginkit.manifest import PARSER_ATTRIBUTES, Attribute
from pluginkit.network.networks import Array

RESERVED = PARSER_ATTRIBUTES
VERSION, NAMESPACE, SHAPE_INPUTS = RESERVED
"""Attributes that are the parser's own, not fields."""

DOMAIN = "pluginkit.import"
"""Of the nodes that plugins implement, once it is settled which these are: a model's own names may be anybody's."""

LAST = "last"
"""A worker's file with the number of the node that is run, next to those with the findings of each."""

Identity = tuple[str, str, str]
"""A creator's name, version and namespace."""


def identity(node: onnx.NodeProto) -> Identity:
    """The creator that a plugin's node names by its attributes."""
    return node.op_type, text(node, VERSION, "1"), text(node, NAMESPACE, "")


@dataclass(frozen=True)
class Expected:
    """What must come out of a run.

    Attributes:
        outputs: the graph's outputs.
        arbitrary: of these, which elements mean nothing, of those that have any.
        free: of each plugin's node, for each of its runs and each output, which elements need not be written.
        steps: what each of the plugins' nodes that has INT8 tensors may be off by, in what the steps stand for.
    """

    outputs: dict[str, Array]
    arbitrary: dict[str, Array] = field(default_factory=dict)
    free: dict[str, list[tuple[Array, ...]]] = field(default_factory=dict)
    steps: dict[str, float] = field(default_factory=dict)


def attribute(node: onnx.NodeProto, name: str) -> onnx.AttributeProto | None:
    """An attribute of a node."""
    return next((one for one in node.attribute if one.name == name), None)


def field_value(node: onnx.NodeProto, field: Attribute) -> Value:
    """What the plugin reads of a node's attribute: the default where there is none."""
    found = attribute(node, field.name)
    if found is None:
        return field.example({field.symbol: 1} if field.symbol else {}, 0) if field.default is None else field.default
    value = onnx.helper.get_attribute_value(found)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    numbers = onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)
    listed = tuple(numbers.reshape(-1).tolist())
    return listed if field.is_list else listed[0]


def text(node: onnx.NodeProto, name: str, default: str) -> str:
    """A string attribute as the parser reads it: of another type it is empty."""
    found = attribute(node, name)
    if found is None:
        return default
    return found.s.decode(errors="replace") if found.type == onnx.AttributeProto.STRING else ""
