"""Rules on how a model names its plugins and gives them their fields: M1 to M6, M11, M12, M16."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

import onnx
from onnx import AttributeProto

from pluginkit import nvidia_plugins, parser_operators
from pluginkit.creators.facts import CreatorFacts, FieldFacts
from pluginkit.field_types import NAMES
from pluginkit.importing.implementations import Implementation, PluginLibrary
from pluginkit.importing.onnx_graph import dims, type_name
from pluginkit.importing.plugin_node import NAMESPACE, RESERVED, SHAPE_INPUTS, VERSION, attribute, text
from pluginkit.importing.rules import signature
from pluginkit.importing.rules.tensor_types import Types
from pluginkit.interpreter.preflight import CHANNEL_AXIS, INT8_CHANNELS
from pluginkit.library import Problem
from pluginkit.manifest import Attribute

Known: TypeAlias = "dict[str, onnx.TypeProto.Tensor]"

INT32 = range(-(2**31), 2**31)
_WRITE = "Give the library that has it by --plugins, or write one: pluginkit doctor prints the command."
PASSED_AS = {
    AttributeProto.FLOAT: "kFLOAT32",
    AttributeProto.FLOATS: "kFLOAT32",
    AttributeProto.INT: "kINT32",
    AttributeProto.INTS: "kINT32",
    AttributeProto.STRING: "kCHAR",
}
"""What the parser makes of an attribute: its own type counts, not the field's."""
TENSORS = {
    onnx.TensorProto.FLOAT: "kFLOAT32",
    onnx.TensorProto.DOUBLE: "kFLOAT32",
    onnx.TensorProto.FLOAT16: "kFLOAT16",
    onnx.TensorProto.BFLOAT16: "kBF16",
    onnx.TensorProto.INT8: "kINT8",
    onnx.TensorProto.INT32: "kINT32",
}
"""As what a tensor's values arrive; tensors of other types come as kFLOAT16 over their raw bytes, or fail the parse
(seen with TensorRT-RTX 1.7.1)."""
WRITE = {
    "kFLOAT32": "a float (2.0, not 2)",
    "kINT32": "an integer (2, not 2.0)",
    "kCHAR": "a string",
    "kFLOAT64": "a float (2.0, not 2)",
    "kBF16": "a tensor of bfloat16",
    "kINT16": "an integer (2, not 2.0)",
    "kINT64": "an integer (2, not 2.0)",
    "kFLOAT16": "a tensor of float16",
    "kINT8": "a tensor of int8",
}


def check(
    implementations: Sequence[Implementation],
    libraries: Sequence[PluginLibrary],
    known: Known,
    types: Sequence[Types] = (),
) -> Iterator[Problem]:
    """What is wrong with the nodes that are, or were meant to be, plugins.

    `types` has the types that the first of `implementations`, those outside of functions, see.
    """
    # Who writes some nodes so that the parser asks the plugin means the others to be the parser's own.
    versioned = {one.place.node.op_type for one in implementations if one.by == "plugin"}
    for index, one in enumerate(implementations):
        if one.by == "plugin" or (one.by != "native" and attribute(one.place.node, VERSION) is not None):
            yield from _identity_types(one)
        if one.by == "native" and not nvidia_plugins.rtx_plugins(one.place.node.op_type):
            yield from _shadowed(one, libraries, versioned)
        meant = one
        if one.by == "missing":
            yield from _missing(one, libraries)
            # What else is wrong with it is reported at once, not after the next run.
            meant = _meant(one, libraries)
        if meant.creator is not None:
            yield from _attributes(meant, meant.creator)
            yield from _shape_inputs(meant, meant.creator)
            yield from _inputs(meant, meant.creator, known)
            yield from _channels(meant, known)
            yield from signature.check(meant, meant.creator, types[index] if index < len(types) else {})


def clashes(libraries: Sequence[PluginLibrary]) -> Iterator[Problem]:
    """Creators of one identity in two libraries (rule B10)."""
    first: dict[tuple[str, str, str], PluginLibrary] = {}
    for library in libraries:
        for creator in library.creators:
            identity = (creator.name, creator.version, creator.namespace)
            other = first.setdefault(identity, library)
            if other is not library:
                yield Problem(
                    "error",
                    f"{other.path.name} and {library.path.name} both have {_name(creator)}: a registry takes one of "
                    "them and refuses the other library.",
                    "Give one of them another version or namespace, or leave it out.",
                    "B10",
                )


def _identity_types(one: Implementation) -> Iterator[Problem]:
    for name, example in ((VERSION, "1"), (NAMESPACE, "")):
        found = attribute(one.place.node, name)
        if found is not None and found.type != AttributeProto.STRING:
            value = onnx.helper.get_attribute_value(found)
            kind = AttributeProto.AttributeType.Name(found.type)
            yield Problem(
                "error",
                f"its attribute {name} is {value!r}, of type {kind}; the parser reads a string and takes this for an "
                "empty one.",
                f'Write it as a string: {name}="{value if name == VERSION else example}".',
                "M1",
                one.place.label,
            )


def _meant(one: Implementation, libraries: Sequence[PluginLibrary]) -> Implementation:
    """A node without a creator, as if the only creator of its name did."""
    found = [(library, c) for library in libraries for c in library.creators if c.name == one.place.node.op_type]
    return replace(one, library=found[0][0], creator=found[0][1]) if len(found) == 1 else one


def _missing(one: Implementation, libraries: Sequence[PluginLibrary]) -> Iterator[Problem]:
    node, label = one.place.node, one.place.label
    wanted = f"{node.op_type} version {text(node, VERSION, '1')!r} in namespace {text(node, NAMESPACE, '')!r}"
    creators = [(library, creator) for library in libraries for creator in library.creators]
    same = [(library, creator) for library, creator in creators if creator.name == node.op_type]
    for library, creator in same:
        wrong = []
        if creator.version != text(node, VERSION, "1"):
            wrong.append(f'{VERSION}="{creator.version}"')
        if creator.namespace not in {text(node, NAMESPACE, ""), node.domain}:
            wrong.append(f'{NAMESPACE}="{creator.namespace}"')
        fault = f"nothing implements {wanted}; {library.path.name} has {_name(creator)}."
        if _written(node) != creator.version or len(wrong) > 1:
            yield Problem("error", fault, f"Set {' and '.join(wrong)} on the node.", "M11", label)
        return
    close = difflib.get_close_matches(node.op_type, [creator.name for _, creator in creators], n=1)
    if close:
        fault = f"nothing implements {wanted}; a plugin {close[0]} is given."
        yield Problem("error", fault, f"Is {close[0]} meant? Then set the node's op_type.", "M11", label)
    elif one.place.node.domain in {"", "ai.onnx"} and (since := parser_operators.SINCE.get(node.op_type)):
        fault = f"the parser of {parser_operators.RTX} has no {node.op_type}; that of TensorRT {since} and later has."
        fix = f"Build the model with that TensorRT, or write a plugin of another name than {node.op_type}."
        yield Problem("error", fault, fix, "M11", label)
    elif what := no_tensor(node):
        fault = f"{node.op_type} takes or gives {what}: TensorRT has tensors of numbers alone, so no plugin can be it."
        yield Problem("error", fault, _TENSORS_ALONE[what], "M11", label)
    elif one.place.node.domain in {"", "ai.onnx"} and onnx.defs.has(node.op_type):
        fault = f"{node.op_type} is an operator of ONNX that NVIDIA's parser does not have."
        yield Problem("error", fault, _WRITE, "M11", label)
    elif when := nvidia_plugins.releases(node.op_type):
        fault = f"{wanted} is in no library that is given, nor in TensorRT-RTX."
        fix = f"TensorRT's own plugin library has {node.op_type} ({when}): build the model with that TensorRT."
        yield Problem("error", fault, fix, "M11", label)
    else:
        given = ", ".join(library.path.name for library in libraries)
        fault = f"nothing implements {wanted}: {f'{given} has no such name' if given else 'no library is given'}."
        yield Problem("error", fault, _WRITE, "M11", label)


_TENSORS_ALONE = {
    "a sequence": "Compute it by operators on tensors: a Concat of what the sequence has; in a Loop a scan output.",
    "an optional": "Export the model without it: give the tensor itself.",
    "strings": "Compute it before the engine, and give the engine numbers.",
}


def no_tensor(node: onnx.NodeProto) -> str:
    """What an operator of ONNX takes or gives that is not a tensor of numbers, by its schema; empty if nothing is."""
    if node.domain not in {"", "ai.onnx"} or not onnx.defs.has(node.op_type):
        return ""
    if node.op_type.startswith("Optional"):
        return "an optional"
    schema = onnx.defs.get_schema(node.op_type)
    for parameter in (*schema.inputs, *schema.outputs):
        if not any(kind.startswith("tensor") for kind in parameter.types):
            return "a sequence"
        if parameter.types == {"tensor(string)"}:
            return "strings"
    return ""


def _written(node: onnx.NodeProto) -> str | None:
    """A version of the wrong type as text: rule M1 has reported it. None if it is a string."""
    found = attribute(node, VERSION)
    if found is None or found.type == AttributeProto.STRING:
        return None
    return str(onnx.helper.get_attribute_value(found))


def in_rtx(implementations: Sequence[Implementation], libraries: Sequence[PluginLibrary]) -> Iterator[Problem]:
    """Operators of which the parser of TensorRT-RTX makes a plugin that TensorRT-RTX does not have (M11)."""
    given = {(creator.name, creator.version) for library in libraries for creator in library.creators}
    for one in implementations:
        wanted = parser_operators.PLUGINS_OF_RTX.get(one.place.node.op_type)
        if one.by == "native" and wanted is not None and wanted not in given:
            kind = one.place.node.op_type
            fault = f"the parser of {parser_operators.RTX} makes a plugin {wanted[0]} version {wanted[1]} of "
            fault += f"{one.place.operator}, and TensorRT-RTX has none."
            fix = f"Compute it by other operators than {kind}."
            if kind in parser_operators.SINCE:
                fix = f"Build the model with TensorRT {parser_operators.SINCE[kind]} or later, which has {kind}."
            if kind in parser_operators.IN_WHEEL:
                fix += f" libtensorrt_plugins.so of the package {parser_operators.WHEEL} has that plugin."
            yield Problem("error", fault, fix, "M11", one.place.label)


def _shadowed(one: Implementation, libraries: Sequence[PluginLibrary], versioned: Collection[str]) -> Iterator[Problem]:
    node, label = one.place.node, one.place.label
    owners = [(library, c) for library in libraries for c in library.creators if c.name == node.op_type]
    named = attribute(node, NAMESPACE) is not None
    written = attribute(node, VERSION) is not None
    meant = named or written or one.place.operator != node.op_type
    if node.op_type in parser_operators.PLUGINS_OF_RTX:
        return
    if owners and (meant or node.op_type not in versioned):
        library, creator = owners[0]
        name = library.path.name
        right = [f'{NAMESPACE}="{creator.namespace}"']
        right += [f'{VERSION}="{creator.version}"'] if creator.version != text(node, VERSION, "1") else []
        if named:
            who = f"version {text(node, VERSION, '1')!r} in namespace {text(node, NAMESPACE, '')!r}"
            fault = f"the parser takes its own {node.op_type}, for no library has {who}; {name} has {_name(creator)}."
            yield Problem("error", fault, f"Set {' and '.join(right)} on the node.", "M2", label)
            return
        yield Problem(
            "error",
            f"the parser knows {node.op_type} itself and takes that: the plugin of {name} is never asked.",
            f"Rename the plugin and the node's op_type; or set {' and '.join(right)} on the node; or set "
            "OnnxParserFlag.ENABLE_PLUGIN_OVERRIDE (TensorRT 10.15).",
            "M2",
            label,
        )
    elif one.place.operator != node.op_type:
        yield Problem(
            "warning",
            f"{one.place.operator} is implemented by the parser's own {node.op_type}: the parser ignores the domain.",
            "Rename the node's op_type if something else is meant.",
            "M2",
            label,
        )
    elif meant:
        name = NAMESPACE if named else VERSION
        fault = (
            f"its attribute {name} means a plugin; no library that is given has {node.op_type}, so the parser takes "
        )
        fault += "its own."
        yield Problem("warning", fault, "Give the library by --plugins, or remove the attribute.", "M2", label)


def _attributes(one: Implementation, creator: CreatorFacts) -> Iterator[Problem]:
    fields = {field.name: field for field in creator.fields}
    for found in one.place.node.attribute:
        if found.name in RESERVED:
            continue
        if found.name not in fields:
            close = difflib.get_close_matches(found.name, fields, n=1)
            names = ", ".join(fields) or "none"
            yield Problem(
                "warning",
                f"its attribute {found.name} is dropped silently: {creator.name} has no such field ({names}).",
                f"Did you mean {close[0]}?" if close else "Remove it, or add the field to the creator's getFieldNames.",
                "M3",
                one.place.label,
            )
        else:
            yield from _field(one, found, fields[found.name])


def _field(one: Implementation, found: AttributeProto, field: FieldFacts) -> Iterator[Problem]:
    values = list(found.ints) if found.type == AttributeProto.INTS else [found.i]
    if found.type in {AttributeProto.INT, AttributeProto.INTS} and any(value not in INT32 for value in values):
        wide = next(value for value in values if value not in INT32)
        yield Problem(
            "error",
            f"its attribute {found.name} is {wide}; the parser cuts integers to 32 bits silently.",
            "Use a value that an int32 holds, or write it as two: no attribute brings an int64 to a plugin.",
            "M4",
            one.place.label,
        )
    given = TENSORS.get(found.t.data_type) if found.type == AttributeProto.TENSOR else PASSED_AS.get(found.type)
    if given is None and found.type == AttributeProto.TENSOR:
        kind = type_name(found.t.data_type)
        fault = f"its attribute {found.name} is a tensor of {kind}: the parser passes its bytes as kFLOAT16, or fails."
        yield Problem("error", fault, "Write it as a tensor of int32 or float32.", "M12", one.place.label)
    elif given is None:
        kind = AttributeProto.AttributeType.Name(found.type)
        fault = f"its attribute {found.name} is of type {kind}, which the parser cannot pass to a plugin."
        yield Problem("error", fault, "Use numbers, a list of them, a string or a tensor.", "M12", one.place.label)
    elif not _is_taken(one, found.name, field, given):
        yield Problem(
            "error",
            f"its attribute {found.name} comes to the plugin as {given}, and the field is {field.type}: a careful "
            "creator refuses it, another reads its bits as something else.",
            f"Write it as {WRITE.get(field.type, field.type)}.",
            "M12",
            one.place.label,
        )
    elif (count := _length(found)) is not None:
        yield from _count(one, found, field, count)


def _is_taken(one: Implementation, name: str, field: FieldFacts, given: str) -> bool:
    """Whether the plugin reads the field from what the parser makes of the attribute."""
    declared = _declared(one, name)
    if declared is not None and field.type == declared.type.trt:
        return declared.type.takes(NAMES.index(given))
    return field.type in {given, "kUNKNOWN"}


def _declared(one: Implementation, name: str) -> Attribute | None:
    """The field of a project's pluginkit.toml."""
    fields = one.member.manifest.fields if one.member is not None else ()
    return next((field for field in fields if field.name == name), None)


def _count(one: Implementation, found: AttributeProto, field: FieldFacts, count: int) -> Iterator[Problem]:
    many = f"{count} element{'' if count == 1 else 's'}"
    declared = _declared(one, found.name)
    if declared is None:
        # Of other creators' lengths nobody promises that they are kept.
        if field.length >= 1 and count != field.length:
            fault = f"its attribute {found.name} has {many}, the field {field.length}."
            fix = "Write one number, without brackets." if field.length == 1 else "Give as many as the field has."
            yield Problem("warning", fault, fix, "M12", one.place.label)
        return
    least, most = declared.bounds
    if not least <= count <= most:
        has = "is one number" if declared.is_number else f"has {least}" if least == most else f"has {least} to {most}"
        fix = "Write one number, without brackets." if declared.is_number else "Give as many as the field has."
        fault = f"its attribute {found.name} has {many}, the field {has}."
        yield Problem("error", fault, fix, "M12", one.place.label)


def _length(found: AttributeProto) -> int | None:
    """How many elements the parser passes; None of a string, which has none."""
    if found.type in {AttributeProto.FLOATS, AttributeProto.INTS}:
        return len(found.floats) + len(found.ints)
    if found.type == AttributeProto.TENSOR:
        return math.prod(int(size) for size in found.t.dims)
    return 1 if found.type in {AttributeProto.FLOAT, AttributeProto.INT} else None


def _shape_inputs(one: Implementation, creator: CreatorFacts) -> Iterator[Problem]:
    found = attribute(one.place.node, SHAPE_INPUTS)
    if found is None:
        return
    count, label = len(one.place.node.input), one.place.label
    if found.type != AttributeProto.INTS:
        yield Problem("error", f"its attribute {SHAPE_INPUTS} is not a list of integers.", "Write [1].", "M5", label)
        return
    bad = [index for index in found.ints if not -count <= index < count]
    positions = [index % count for index in found.ints if index not in bad]
    if bad:
        fault = f"{SHAPE_INPUTS} names input {bad[0]}; the node has {count}."
        yield Problem("error", fault, f"Use {-count} to {count - 1}.", "M5", label)
    if len(set(positions)) != len(positions):
        yield Problem("error", f"{SHAPE_INPUTS} names an input twice.", "Name each once.", "M5", label)
    if creator.kind != "V3":
        fault = f"{SHAPE_INPUTS} is for V3 creators; {creator.name} is {creator.base or creator.kind}."
        yield Problem("error", fault, "Remove it, or write the plugin as an IPluginV3.", "M5", label)


def _inputs(one: Implementation, creator: CreatorFacts, known: Known) -> Iterator[Problem]:
    if creator.kind != "V2":
        return
    for name in one.place.node.input:
        tensor = known.get(name)
        if tensor is None:
            continue
        if tensor.elem_type == onnx.TensorProto.INT64:
            yield Problem(
                "warning",
                f"its input {name} is int64, and comes to the plugin as kINT64. The parser of TensorRT 8 makes int32 "
                "of it; from 9.0 on it does not.",
                "If supportsFormatCombination takes kINT32 alone, put a Cast to INT32 before the node, export int32 "
                "indices, or let it take kINT64 too.",
                "M6",
                one.place.label,
            )
        elif tensor.elem_type == onnx.TensorProto.INT32:
            yield Problem(
                "warning",
                f"its input {name} is int32; the documentation of addPluginV2 says that V2 plugins take no int32.",
                "NVIDIA's libraries do take int32 so far; a V3 plugin may have it.",
                "M6",
                one.place.label,
            )
        shape = dims(tensor)
        if creator.base in {"IPluginV2", "IPluginV2Ext"} and shape and any(not isinstance(dim, int) for dim in shape):
            yield Problem(
                "error",
                f"its input {name} has dynamic dimensions, which {creator.base} cannot have.",
                "Write the plugin as an IPluginV2DynamicExt or IPluginV3, or fix the shape.",
                "M6",
                one.place.label,
            )


def _channels(one: Implementation, known: Known) -> Iterator[Problem]:
    for name in one.place.node.input:
        tensor = known.get(name)
        shape = dims(tensor) if tensor is not None and tensor.elem_type == onnx.TensorProto.INT8 else None
        if shape and len(shape) > CHANNEL_AXIS and not isinstance(shape[CHANNEL_AXIS], int):
            yield Problem(
                "warning",
                f"its input {name} is int8, and its channels are dynamic; NVIDIA's documents say: {INT8_CHANNELS}.",
                f"Give dimension {CHANNEL_AXIS} of {name} a number; NVIDIA's builder decides.",
                "M16",
                one.place.label,
            )


def _name(creator: CreatorFacts) -> str:
    return f"{creator.name} version {creator.version!r} in namespace {creator.namespace!r}"
