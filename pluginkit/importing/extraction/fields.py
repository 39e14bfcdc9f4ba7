"""A plugin's fields, from the attributes of the nodes that it is to implement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import onnx
from onnx import AttributeProto

from pluginkit.errors import UsageError
from pluginkit.importing.extraction.selection import MARK, Selection
from pluginkit.importing.plugin_node import RESERVED
from pluginkit.scaffold import names

Number = float | int
Value = Number | str | tuple[Number, ...]
"""A field's value."""
INT32 = range(-(2**31), 2**31)


@dataclass(frozen=True)
class AttributeFacts:
    """A field.

    Attributes:
        name: the attribute's.
        option: what `--field` takes.
        values: what the nodes have, each once, the default first.
        least: what it is at least, in a guess; None: nothing says so.
    """

    name: str
    option: str
    values: tuple[Value, ...]
    least: int | None = None

    def at_least(self, least: int) -> AttributeFacts:
        """The field with a least value."""
        head, _, default = self.option.partition("=")
        return replace(self, option=f"{head}:{least}..={default}", least=least)


def fits(name: str, what: str) -> bool:
    try:
        names.check_member(name, what)
    except UsageError:
        return False
    return True


def fields_of(selection: Selection, against: list[str]) -> list[AttributeFacts]:
    """The attributes of all nodes: the value that most have is the default, all values are the choices."""
    by_name: dict[str, list[AttributeProto]] = {}
    for node in selection.nodes:
        for one in node.attribute:
            if one.name not in {*RESERVED, MARK}:
                by_name.setdefault(one.name, []).append(one)
    defaults = _defaults(selection)
    for name, one in defaults.items():
        if len(by_name.get(name, ())) < len(selection.nodes):
            by_name.setdefault(name, []).append(one)
    found = []
    for name, attributes in by_name.items():
        kinds = {one.type for one in attributes}
        if len(kinds) > 1:
            against.append(f"the attribute {name} has different types: {', '.join(_kind(kind) for kind in kinds)}")
        elif not fits(name, "a field"):
            against.append(f"the attribute {name} can be no member of C++ and argument of Python: rename it")
        elif field := _field(name, attributes, against):
            found.append(field)
    return found


def _defaults(selection: Selection) -> dict[str, AttributeProto]:
    """What attributes are that a node leaves out."""
    if selection.function is not None:
        return {one.name: one for one in selection.function.attribute_proto}
    if not onnx.defs.has(selection.op_type, selection.domain):
        return {}
    schema = onnx.defs.get_schema(selection.op_type, selection.domain)
    return {name: one.default_value for name, one in schema.attributes.items() if one.default_value.name}


def _field(name: str, attributes: Sequence[AttributeProto], against: list[str]) -> AttributeFacts | None:
    kind = attributes[0].type
    if kind not in _READ:
        against.append(f"the attribute {name} is of type {_kind(kind)}, which no field of a pluginkit.toml can be")
        return None
    values: list[Value] = [value for value, _ in Counter(map(value_of, attributes)).most_common()]
    integers = [number for value in values for number in (value if isinstance(value, tuple) else (value,))]
    if any(isinstance(number, int) and number not in INT32 for number in integers):
        against.append(f"the attribute {name} does not fit 32 bits, to which NVIDIA's parser cuts it")
        return None
    first = values[0]
    kinds = {AttributeProto.FLOAT: "float32", AttributeProto.INT: "int32", AttributeProto.STRING: "string"}
    written = kinds.get(kind) or ("float32" if kind == AttributeProto.FLOATS else "int32") + _length(values)
    return AttributeFacts(name, f"{name}:{written}={text(first)}", tuple(values))


def short(number: float) -> float:
    """The number of the shortest decimal that is the same float32."""
    return float(str(np.float32(number)))


_READ: dict[int, Callable[[AttributeProto], Value]] = {
    AttributeProto.FLOAT: lambda one: short(one.f),
    AttributeProto.INT: lambda one: one.i,
    AttributeProto.STRING: lambda one: one.s.decode(errors="replace"),
    AttributeProto.FLOATS: lambda one: tuple(map(short, one.floats)),
    AttributeProto.INTS: lambda one: tuple(one.ints),
}


def value_of(attribute: AttributeProto) -> Value:
    """An attribute's value as a field has it; its type is one that a field can have."""
    return _READ[attribute.type](attribute)


def _length(values: Sequence[Value]) -> str:
    lengths = {len(value) for value in values if isinstance(value, tuple)}
    # A list that is empty in every node says nothing about its length.
    return f"[{lengths.pop()}]" if len(lengths) == 1 and lengths != {0} else "[]"


def text(value: Value) -> str:
    return ",".join(map(repr, value)) if isinstance(value, tuple) else value if isinstance(value, str) else repr(value)


def _kind(kind: int) -> str:
    return AttributeProto.AttributeType.Name(kind)  # type: ignore[no-any-return]


def integers(node: onnx.NodeProto, selection: Selection) -> dict[str, int | tuple[int, ...]]:
    """A node's fields that shapes can be made of: its integers, and lists of them."""
    attributes = {**_defaults(selection), **{one.name: one for one in node.attribute}}
    found: dict[str, int | tuple[int, ...]] = {}
    for name, one in attributes.items():
        if name not in {*RESERVED, MARK} and one.type == AttributeProto.INT:
            found[name] = one.i
        elif name not in {*RESERVED, MARK} and one.type == AttributeProto.INTS:
            found[name] = tuple(one.ints)
    return found


def numbers(value: Value) -> tuple[Number, ...]:
    """A value's numbers; none of a text."""
    return value if isinstance(value, tuple) else () if isinstance(value, str) else (value,)
