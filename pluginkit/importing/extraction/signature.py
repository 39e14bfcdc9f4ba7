"""A plugin's signature, from the nodes of a model that it is to implement: what `pluginkit new` has options for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import onnx
from onnx import TensorProto

from pluginkit.dtypes import DType
from pluginkit.errors import UsageError
from pluginkit.importing.extraction import ranks
from pluginkit.importing.extraction.dimensions import Symbols, of_rank
from pluginkit.importing.extraction.fields import AttributeFacts, fields_of, fits, integers, numbers, text
from pluginkit.importing.extraction.node_facts import NodeFacts, TensorFacts
from pluginkit.importing.extraction.ranks import OpenShapes, RankProfile
from pluginkit.importing.extraction.selection import Selection
from pluginkit.importing.onnx_graph import type_name
from pluginkit.importing.signature import ELEMENTS
from pluginkit.process.escapes import shown

DECIDED_BY_VALUES = ("Compress", "NonMaxSuppression", "NonZero", "Unique")
"""ONNX's operators whose outputs' sizes follow from the inputs' elements."""


_GUESSES = {
    "formula": "which gives the sizes in the model",
    "names": "by the names of the fields: the model has no sizes of it",
    "constant": "as in all nodes: is it always?",
}


@dataclass(frozen=True)
class SignatureGuess:
    """A guess.

    Attributes:
        table: `inputs`, `outputs`, `fields` or `profiles`.
        name: the tensor's, the field's or the profile's.
        key: what of it.
        text: what is to be looked at, a sentence.
    """

    table: str
    name: str
    key: str
    text: str


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
        checks: the guesses.
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
    checks: tuple[SignatureGuess, ...] = ()


def read(selection: Selection, nodes: Sequence[NodeFacts], types: Sequence[DType] = ()) -> NodeSignature:
    """The signature that all of the nodes have.

    Args:
        selection: the nodes.
        nodes: what the model shows of them.
        types: of the floating tensors, instead of those that the model has; a constant of the model has no INT8 or FP8.

    Raises:
        UsageError: they have none that a `pluginkit.toml` can have; it says all that is in the way.
    """
    if selection.domain in {"", "ai.onnx"} and selection.op_type in DECIDED_BY_VALUES:
        raise UsageError(
            f"How many elements the outputs of {selection.operator} have is decided by its inputs' values.",
            hint="A V2 plugin can't have such outputs. One of base v3 can, with a size tensor (docs/v3.md), which is "
            "one more output: give its signature by --input and --output, and the model's node that output.",
        )
    against: list[str] = []
    notes: list[str] = []
    positions = _positions([tuple(one.inputs) for one in nodes], "inputs", against)
    made = _positions([tuple(one.outputs) for one in nodes], "outputs", against)
    if against:
        raise _refused(selection, against)
    fields = fields_of(selection, against)
    taken = {field.name for field in fields}
    in_names = _names(selection, len(positions), taken, outputs=False)
    out_names = _names(selection, len(made), taken | set(in_names), outputs=True)
    symbols = Symbols()
    opened = _of_any_rank(nodes, positions, made, against)
    reader = _Tensors(selection, nodes, symbols, tuple(types), against, notes)
    ins = [
        reader.input(index, name, opened.inputs[at] if opened else None)
        for at, (index, name) in enumerate(zip(positions, in_names, strict=True))
    ]
    outs = [
        reader.output(index, name, opened.outputs[at] if opened else None)
        for at, (index, name) in enumerate(zip(made, out_names, strict=True))
    ]
    if against:
        raise _refused(selection, against)
    if scales := _own_scales(fields, (*ins, *outs), against):
        notes.append(f"the attributes {', '.join(scales)} are the tensors' scales: tests choose their values.")
        fields = [field for field in fields if field.name not in scales]
    if against:
        raise _refused(selection, against)
    ranges = symbols.ranges()
    alike = {} if opened or reader.constant else symbols.alike()
    for name, other in alike.items():
        low, opt, high = ranges[name]
        ranges[name] = (low, opt, high + 1)
        text = (
            f"{name} and {other} are both {opt} in the model; {name}'s max is {high + 1}, to test that they are not "
            "confused. May they differ?"
        )
        reader.checks.append(SignatureGuess("profiles", "default", "symbols", text))
    return NodeSignature(
        tuple(ins),
        tuple(outs),
        tuple(in_names),
        tuple(out_names),
        positions,
        tuple(_bounded(field, reader.window, reader.checks) for field in fields),
        ranges,
        tuple(dict.fromkeys((*notes, *_unsaid(fields, reader.constant, outs)))),
        opened.profiles if opened else (),
        tuple(reader.checks),
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
    change = "change the model where it says so"
    return UsageError(
        f"{selection.operator} has no signature that a pluginkit.toml can have:{lines}",
        hint=f"Choose one of its nodes by --node, or {change}."
        if len(selection.nodes) > 1
        else f"{change.capitalize()}, or give what is not known.",
    )


def _own_scales(fields: Sequence[AttributeFacts], tensors: Sequence[str], against: list[str]) -> list[str]:
    """The attributes that are what a new project's tensors in INT8 or FP8 have for a scale, by name.

    Args:
        fields: of all attributes.
        tensors: as `--input` and `--output` take them.
        against: gets what is in the way.
    """
    found: list[str] = []
    for tensor in tensors:
        name, kinds = tensor.split(":")[:2]
        field = next((one for one in fields if one.name == f"{name}_scale"), None)
        if field is None or not any(DType(kind).is_quantized for kind in kinds.split(",")):
            continue
        if isinstance(field.values[0], float):
            found.append(field.name)
        else:
            against.append(
                f"the attribute {field.name} has the name of {name}'s scale, and is no single float: write a project "
                f"by --input '{tensor}:scale={field.name}' --field '{field.option}', and --output"
            )
    return found


def _positions(found: Sequence[tuple[int, ...]], what: str, against: list[str]) -> tuple[int, ...]:
    counts = Counter(found)
    if len(counts) > 1:
        shown = " and ".join(f"{len(one)} ({count} nodes)" for one, count in counts.most_common(3))
        against.append(f"its nodes have different numbers of {what}: {shown}")
    if not found[0]:
        against.append(f"a node of it has no {what}, and TensorRT's plugins have at least one")
    return found[0]


class _Tensors:
    """Reads tensors as options have them. What is in the way goes to `against`, what is assumed to `notes`.

    `checks` are the guesses, `window` the least values of fields that outputs' shapes take for a window's, `constant`
    the outputs that have a number for a size.
    """

    def __init__(
        self,
        selection: Selection,
        nodes: Sequence[NodeFacts],
        symbols: Symbols,
        types: tuple[DType, ...],
        against: list[str],
        notes: list[str],
    ) -> None:
        self._nodes = nodes
        self._symbols = symbols
        self._types = types
        self._against = against
        self._notes = notes
        self._constants = {tensor.name for tensor in selection.model.graph.initializer}
        self._fields = [integers(node, selection) for node in selection.nodes]
        self.checks: list[SignatureGuess] = []
        self.window: dict[str, int] = {}
        self.constant: list[str] = []

    def input(self, index: int, name: str, opened: tuple[str, ...] | None) -> str:
        """An input. `opened` is its shape in a signature of any rank."""
        tensors, what = self._known(index, outputs=False)
        if self._against:
            return ""
        kinds = self._kinds(tensors, what, constant=self._is_constant(index))
        return f"{name}:{kinds}:{','.join(opened if opened is not None else self._symbols.shape(tensors))}"

    def output(self, index: int, name: str, opened: tuple[str, ...] | None) -> str:
        """An output, as `input`."""
        tensors, what = self._known(index, outputs=True)
        if self._against:
            return ""
        if any(one.assumed for one in tensors):
            text = f"nothing in the model says what {what} is: it is taken to be like the first floating input"
            self.checks += [SignatureGuess("outputs", name, "types", text)]
        kinds = self._kinds(tensors, what)
        if opened is not None:
            return f"{name}:{kinds}:{','.join(opened)}"
        found = self._symbols.output(tensors, self._fields)
        for axis, dim in enumerate(found):
            if dim.text is None:
                tensor = shown(self._nodes[0].node.output[index])
                self._against.append(
                    f"the size of {what}'s dimension {axis} follows from no sum, product or quotient of the inputs' "
                    f"dimensions and integer fields: give it by --shape '{tensor}:DIMS'"
                )
            self.window |= dim.window
        says = []
        for guess, why in _GUESSES.items():
            if dims := [f"dimension {axis} is {dim.text}" for axis, dim in enumerate(found) if dim.guess == guess]:
                says.append(f"{', '.join(dims)}, {why}")
        self.checks += [SignatureGuess("outputs", name, "shape", "; ".join(says))] if says else []
        self.constant += [name] if any(dim.guess == "constant" for dim in found) else []
        return f"{name}:{kinds}:{','.join(str(dim.text) for dim in found)}"

    def _known(self, index: int, *, outputs: bool) -> tuple[list[TensorFacts], str]:
        """The tensor in each of the nodes, and what it is called; its type and rank are known, or it says so."""
        what = f"{'output' if outputs else 'input'} {index}"
        tensors, ranks_ = of_rank(self._nodes, index, outputs=outputs)
        kinds = {one.kind for one in tensors}
        first = self._nodes[0]
        name = (first.node.output if outputs else first.node.input)[index]
        self._against += [_type_problem(what, kind, first.label, name) for kind in sorted(kinds - set(ELEMENTS))]
        if None in ranks_ and 0 not in kinds:
            some = " in some nodes" if len(ranks_) > 1 else ""
            self._against.append(
                f"the rank of {what} ({shown(name)}) is not known{some}: give it by --shape '{shown(name)}:DIMS'"
            )
        return tensors, what

    def _kinds(self, tensors: Sequence[TensorFacts], what: str, *, constant: bool = False) -> str:
        kinds = {one.kind for one in tensors}
        if TensorProto.DOUBLE in kinds:
            self._notes.append(f"{what} is float64 in the model; NVIDIA's parser gives a plugin float32.")
        types = [kind for kind in DType if kind in {ELEMENTS[kind] for kind in kinds}]
        floating = not all(kind.is_integer or kind.is_quantized for kind in types)
        if self._types and floating:
            if missing := [kind.value for kind in types if kind not in self._types]:
                raise UsageError(
                    f"--types leaves out {missing[0]}, which {what} is in the model.",
                    hint=f"Write --types {','.join([*missing, *(kind.value for kind in self._types)])}.",
                )
            types = [kind for kind in self._types if not (constant and kind.is_quantized)]
        return ",".join(kind.value for kind in types)

    def _is_constant(self, index: int) -> bool:
        return all(one.node.input[index] in self._constants for one in self._nodes)


def _type_problem(what: str, kind: int, label: str, tensor: str) -> str:
    if not kind:
        made = what.startswith("output")
        why = "nothing in the model says it" if made else "it is behind an operator that ONNX does not have"
        project = "" if made else ", or the project of that operator's plugin by --plugins"
        return (
            f"the type of {what} of node {label} is not known: {why}. Give it by --shape '{shown(tensor)}:TYPE:DIMS', "
            f"as in '{shown(tensor)}:int8:n,64,56,56'{project}"
        )
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
        good = fits(wanted, "a tensor") and wanted not in {*taken, *found}
        free = wanted if good else name
        while free in {*taken, *found}:
            free += "_"
        found.append(free)
    return found


def _bounded(field: AttributeFacts, window: Mapping[str, int], checks: list[SignatureGuess]) -> AttributeFacts:
    """The field with the least value that a window's has; with a check where that is a guess."""
    if field.name not in window or len(field.values) > 1:
        return field
    least = min([window[field.name], *map(int, numbers(field.values[0]))])
    guess = f"taken for a field of a window, with {least} as its least value: is it?"
    checks.append(SignatureGuess("fields", field.name, "min", guess))
    return field.at_least(least)


def _unsaid(fields: Sequence[AttributeFacts], constant: Sequence[str], outputs: Sequence[str]) -> list[str]:
    """What the nodes show of fields, and the manifest can't say."""
    notes = [
        f"field {field.name}: the nodes have {' and '.join(f'[{text(one)}]' for one in field.values)}. Choices are "
        "single numbers, so tests run the first of these everywhere, and the others in the model's cases."
        for field in fields
        if len(field.values) > 1 and isinstance(field.values[0], tuple)
    ]
    used = {name for one in outputs for name in re.findall(r"[A-Za-z_]\w*", one.split(":", 2)[2])}
    whole = [one.name for one in fields if ":int32" in one.option and one.name not in used]
    if constant and whole:
        notes.append(
            f"the sizes of {', '.join(constant)} are numbers: where they follow from {' or '.join(whole)}, tests leave "
            "out all other values of it."
        )
    return notes
