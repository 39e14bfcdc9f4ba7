"""Attributes of a plugin's ONNX node."""

from __future__ import annotations

import onnx
from onnx import AttributeProto, helper

from pluginkit.field_types import FieldType, Value


def field_attribute(name: str, kind: FieldType, value: Value) -> onnx.AttributeProto:
    """The attribute that brings a value to a creator's field, with or without the zero that ends a text."""
    if isinstance(value, str):
        return helper.make_attribute(name, value.removesuffix("\0"))
    numbers = [int(one) if kind.is_integer else float(one) for one in (value if isinstance(value, tuple) else (value,))]
    if not isinstance(value, tuple):
        return helper.make_attribute(name, numbers[0])
    # An empty list doesn't say what it is a list of.
    kinds = AttributeProto.INTS if kind.is_integer else AttributeProto.FLOATS
    return helper.make_attribute(name, numbers, attr_type=kinds)
