"""A plugin's signature, from the nodes of a model that it is to serve: what `pluginkit new` has options for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import onnx
from onnx import AttributeProto, TensorProto

from pluginkit.dtypes import DType
from pluginkit.errors import UsageError
from pluginkit.importing.extraction import ranks
from pluginkit.importing.extraction.dimensions import Symbols, of_rank
from pluginkit.importing.extraction.node_facts import NodeFacts
from pluginkit.importing.extraction.ranks import OpenShapes, RankProfile
from pluginkit.importing.extraction.selection import MARK, Selection
from pluginkit.importing.model import type_name
from pluginkit.importing.plugin_node import RESERVED
from pluginkit.importing.signature import ELEMENTS
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
    """

    name: str
    option: str
    values: tuple[Value, ...]


@dataclass(frozen=True)
class NodeSignature:
    """What the nodes say together.

    Attributes:
        inputs, outputs: as `--input` and `--output` take them.
        input_names, output_names: their names, in the nodes' order.
        positions: the inputs' positions in a node: those between them are left out.
        fields: the fields.
        ranges: of the symbols whose sizes are known, min, opt and max.
        notes: what was assumed.
        ranks: the sizes of each rank, where the nodes have several; `ranges` is empty then.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    input_names: tuple[str, ...]
    output_names: tuple[str, ...]
    positions: tuple[int, ...]
    fields: tuple[AttributeFacts, ...]
    ranges: dict[str, tuple[int, int, int]]
    notes: tuple[str, ...]
    ranks: tuple[RankProfile, ...] = ()


def read(selection: Selection, nodes: Sequence[NodeFacts]) -> NodeSignature:
    """The signature that all of the nodes have.

    Raises:
        UsageError: they have none that a `pluginkit.toml` can have; it says all that is in the way.
    """
    against: list[str] = []
    notes: list[str] = []
    positions = _positions([tuple(one.inputs) for one in nodes], "inputs", against)
    made = _positions([tuple(one.outputs) for one in nodes], "outputs", against)
    if against:
        raise _refused(selection, against)
    fields = _fields(selection, against)
    taken = {field.name for field in fields}
    in_names = _names(selection, len(positions), taken, outputs=False)
    out_names = _names(selection, len(made), taken | set(in_names), outputs=True)
    symbols = Symbols()
    opened = _of_any_rank(nodes, positions, made, against)
    ins = [
        _tensor(nodes, index, name, symbols, against, notes, opened.inputs[at] if opened else None, outputs=False)
        for at, (index, name) in enumerate(zip(positions, in_names, strict=True))
    ]
    outs = [
        _tensor(nodes, index, name, symbols, against, notes, opened.outputs[at] if opened else None, outputs=True)
        for at, (index, name) in enumerate(zip(made, out_names, strict=True))
    ]
    if against:
        raise _refused(selection, against)
    return NodeSignature(
        tuple(ins),
        tuple(outs),
        tuple(in_names),
        tuple(out_names),
        positions,
        tuple(fields),
        symbols.ranges(),
        tuple(dict.fromkeys(notes)),
        opened.profiles if opened else (),
    )


def _of_any_rank(
    nodes: Sequence[NodeFacts], inputs: Sequence[int], outputs: Sequence[int], against: list[str]
) -> OpenShapes | None:
    """Shapes with `"..."`, where the nodes have several ranks; None where they have one, or it isn't known."""
    counts = {f"input {index}": of_rank(nodes, index, outputs=False)[1] for index in inputs}
    counts |= {f"output {index}": of_rank(nodes, index, outputs=True)[1] for index in outputs}
    if any(None in found for found in counts.values()) or all(len(found) == 1 for found in counts.values()):
        return None
    opened = ranks.find(nodes, inputs, outputs)
    if opened is None:
        shown = "; ".join(
            f"{what} has the ranks {' and '.join(map(str, sorted(filter(None, found))))}"
            for what, found in counts.items()
            if len(found) > 1
        )
        against.append(
            f'{shown}, and no shapes with "..." for the dimensions that only some have describe all nodes '
            "(write a plugin for each rank)"
        )
    return opened


def _refused(selection: Selection, against: Sequence[str]) -> UsageError:
    lines = "".join(f"\n  {one}" for one in dict.fromkeys(against))
    return UsageError(
        f"{selection.operator} has no signature that a pluginkit.toml can have:{lines}",
        hint="Choose one of its nodes by --node, or change the model where it says so.",
    )


def _positions(found: Sequence[tuple[int, ...]], what: str, against: list[str]) -> tuple[int, ...]:
    counts = Counter(found)
    if len(counts) > 1:
        shown = " and ".join(f"{len(one)} ({count} nodes)" for one, count in counts.most_common(3))
        against.append(f"its nodes have different numbers of {what}: {shown}")
    if not found[0]:
        against.append(f"a node of it has no {what}, and TensorRT's plugins have at least one")
    return found[0]


def _tensor(
    nodes: Sequence[NodeFacts],
    index: int,
    name: str,
    symbols: Symbols,
    against: list[str],
    notes: list[str],
    opened: tuple[str, ...] | None,
    *,
    outputs: bool,
) -> str:
    """A tensor as an option has it; what is in the way goes to `against`. `opened` is its shape in one of any rank."""
    what = f"{'output' if outputs else 'input'} {index}"
    tensors, found = of_rank(nodes, index, outputs=outputs)
    kinds = {one.kind for one in tensors}
    against += [_type_problem(what, kind, nodes[0].label) for kind in sorted(kinds - set(ELEMENTS))]
    if None in found:
        some = " in some nodes" if len(found) > 1 else ""
        against.append(
            f"the rank of {what} is not known{some}: export the model with shapes, or add them by "
            "onnx.shape_inference.infer_shapes"
        )
    if against:
        return ""
    types = [kind for kind in DType if kind in {ELEMENTS[kind] for kind in kinds}]
    if TensorProto.DOUBLE in kinds:
        notes.append(f"{what} is float64 in the model; NVIDIA's parser gives a plugin float32.")
    if outputs and any(one.assumed for one in tensors):
        notes.append(f"nothing in the model says what {what} is: it is taken to be like the first floating input.")
    if opened is not None:
        return f"{name}:{','.join(kind.value for kind in types)}:{','.join(opened)}"
    if not outputs:
        shape = symbols.shape(tensors)
        return f"{name}:{','.join(kind.value for kind in types)}:{','.join(shape)}"
    computed = symbols.output(tensors)
    if None in computed:
        against.append(
            f"the size of {what}'s dimension {computed.index(None)} follows from no sum, product or quotient of the "
            "inputs' dimensions"
        )
        return ""
    return f"{name}:{','.join(kind.value for kind in types)}:{','.join(str(dim) for dim in computed)}"


def _type_problem(what: str, kind: int, label: str) -> str:
    if not kind:
        return f"the type of {what} of node {label} is not known: it stands behind an operator that ONNX does not have"
    name = type_name(kind)
    cast = "change its type"
    if kind == TensorProto.BOOL:
        output = what.startswith("output")
        cast = "let the node give int32, and Cast it behind" if output else "Cast it to int32 before the node"
    known = ", ".join(one.value for one in DType)
    return f"{what} is {name}, and a pluginkit.toml has {known}: {cast}"


def _names(selection: Selection, count: int, taken: set[str], *, outputs: bool) -> list[str]:
    """The tensors' names: those of the function or of ONNX's operator, else x, y."""
    letter = "y" if outputs else "x"
    usual = [letter] if count == 1 else [f"{letter}{index}" for index in range(count)]
    given: list[str] = []
    if selection.function is not None:
        given = list(selection.function.output if outputs else selection.function.input)
    elif onnx.defs.has(selection.op_type, selection.domain):
        schema = onnx.defs.get_schema(selection.op_type, selection.domain)
        given = [one.name for one in (schema.outputs if outputs else schema.inputs)]
    found: list[str] = []
    for index, name in enumerate(usual):
        wanted = given[index].lower() if index < len(given) else name
        good = _fits(wanted, "a tensor") and wanted not in {*taken, *found}
        free = wanted if good else name
        while free in {*taken, *found}:
            free += "_"
        found.append(free)
    return found


def _fits(name: str, what: str) -> bool:
    try:
        names.check_member(name, what)
    except UsageError:
        return False
    return True


def _fields(selection: Selection, against: list[str]) -> list[AttributeFacts]:
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
        elif not _fits(name, "a field"):
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
    read = {
        AttributeProto.FLOAT: lambda one: one.f,
        AttributeProto.INT: lambda one: one.i,
        AttributeProto.STRING: lambda one: one.s.decode(errors="replace"),
        AttributeProto.FLOATS: lambda one: tuple(one.floats),
        AttributeProto.INTS: lambda one: tuple(one.ints),
    }.get(kind)
    if read is None:
        against.append(f"the attribute {name} is of type {_kind(kind)}, which no field of a pluginkit.toml can be")
        return None
    values: list[Value] = [value for value, _ in Counter(map(read, attributes)).most_common()]
    integers = [number for value in values for number in (value if isinstance(value, tuple) else (value,))]
    if any(isinstance(number, int) and number not in INT32 for number in integers):
        against.append(f"the attribute {name} does not fit 32 bits, to which NVIDIA's parser cuts it")
        return None
    first = values[0]
    kinds = {AttributeProto.FLOAT: "float32", AttributeProto.INT: "int32", AttributeProto.STRING: "string"}
    written = kinds.get(kind) or ("float32" if kind == AttributeProto.FLOATS else "int32") + _length(values)
    return AttributeFacts(name, f"{name}:{written}={_text(first)}", tuple(values))


def _length(values: Sequence[Value]) -> str:
    lengths = {len(value) for value in values if isinstance(value, tuple)}
    # A list that is empty in every node says nothing of its length.
    return f"[{lengths.pop()}]" if len(lengths) == 1 and lengths != {0} else "[]"


def _text(value: Value) -> str:
    return ",".join(map(repr, value)) if isinstance(value, tuple) else value if isinstance(value, str) else repr(value)


def _kind(kind: int) -> str:
    return AttributeProto.AttributeType.Name(kind)  # type: ignore[no-any-return]
