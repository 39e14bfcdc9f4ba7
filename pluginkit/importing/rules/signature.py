"""Rules on a plugin's node against the plugin's `pluginkit.toml`: M15, M17, M18."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations

import onnx
from onnx import TensorProto

from pluginkit.creators.facts import CreatorFacts
from pluginkit.dtypes import DType
from pluginkit.importing import signature
from pluginkit.importing.implementations import Implementation
from pluginkit.importing.onnx_graph import against, dims, type_name
from pluginkit.importing.rules.table import BUILDER_DECIDES, UNFIT
from pluginkit.library import Problem
from pluginkit.manifest import FILE_NAME, Manifest

DECLARED = "Have the plugin and the model say the same: what follows in the network gets what the plugin gives."
MOST_ORDERED = 5
"""Of so many inputs every order is tried."""


def check(one: Implementation, creator: CreatorFacts, known: Mapping[str, onnx.TypeProto.Tensor]) -> Iterator[Problem]:
    """What is wrong with a node whose plugin has a manifest; `known` is what is known of its inputs."""
    if one.member is None:
        return
    manifest = one.member.manifest
    yield from _counts(one, manifest)
    yield from _fields(one, creator, manifest)
    names = [name for name in one.place.node.input if name]
    if len(names) != len(manifest.inputs):
        return
    given = [known.get(name) for name in names]
    manifest = manifest.like(signature.ranks(given))
    yield from _types(one, manifest, names, given)
    yield from _shapes(one, manifest, names, given)
    for name, made in signature.outputs(one.member.manifest, one.place.node, known).items():
        tensor = made.tensor_type
        if name in known and (other := against(known[name], tensor.elem_type, dims(tensor))):
            text = f"its output {name} is {other[1]}: TensorRT takes what the plugin gives."
            if other[0] == "M17":
                yield Problem("warning", text, DECLARED, "M17", one.place.label)
            else:
                yield Problem("warning", text, DECLARED, "M18", one.place.label)


def built_all_the_same(problem: Problem) -> Problem:
    """An error on types or shapes as a warning, where NVIDIA's builder took what the manifest doesn't declare."""
    if problem.rule not in BUILDER_DECIDES or problem.level != "error":
        return problem
    fault = f"{problem.text} NVIDIA's builder took it nevertheless."
    fix = f"If the plugin's code is made for it, write so in {FILE_NAME}; if not, this engine computes something else."
    fix = fix if problem.rule in UNFIT else problem.fix
    return replace(problem, level="warning", text=fault, fix=fix)


def unknown_fields(one: Implementation, creator: CreatorFacts, manifest: Manifest) -> list[str]:
    """The node's attributes that are fields of the creator, and that reference.py doesn't get."""
    more = {found.name for found in one.place.node.attribute} - {field.name for field in manifest.fields}
    return [field.name for field in creator.fields if field.name in more]


def _counts(one: Implementation, manifest: Manifest) -> Iterator[Problem]:
    node = one.place.node
    for what, names, tensors in (("input", node.input, manifest.inputs), ("output", node.output, manifest.outputs)):
        given = [name for name in names if name]
        if len(given) != len(tensors):
            listed = ", ".join(tensor.name for tensor in tensors)
            fault = f"it has {_several(len(given), what)}; {manifest.plugin.name} has {len(tensors)}: {listed}."
            yield Problem("error", fault, f"Give it these {what}s, in this order.", "M15", one.place.label)


def _fields(one: Implementation, creator: CreatorFacts, manifest: Manifest) -> Iterator[Problem]:
    given = {found.name for found in one.place.node.attribute}
    for name in unknown_fields(one, creator, manifest):
        fault = f"its attribute {name} is a field that {FILE_NAME} does not have: reference.py does not get it."
        yield Problem("warning", fault, "Add it to [[fields]] and to reference.py.", "M15", one.place.label)
    for field in manifest.fields:
        if field.default is None and field.name not in given:
            fault = f"the field {field.name} must be given and is not."
            fix = f"Add the attribute {field.name} ({field.written()})."
            yield Problem("error", fault, fix, "M15", one.place.label)


def _types(
    one: Implementation, manifest: Manifest, names: Sequence[str], given: Sequence[onnx.TypeProto.Tensor | None]
) -> Iterator[Problem]:
    """M17: a type that the input hasn't, or types that don't go together."""
    alone, order = True, _other_order(manifest, names, given)
    wide = [name for name, one_ in zip(names, given, strict=True) if one_ and one_.elem_type == TensorProto.DOUBLE]
    if wide:
        fault = f"its input {wide[0]} is float64, of which NVIDIA's parser makes float32."
        yield Problem(
            "warning", fault, "Put a Cast to FLOAT before the node, so that it is explicit.", "M17", one.place.label
        )
    for index, (tensor, name, found) in enumerate(zip(manifest.inputs, names, given, strict=True)):
        if found is None or signature.ELEMENTS.get(found.elem_type) in tensor.types:
            continue
        alone = False
        types = _or([kind.value for kind in tensor.types])
        fault = f"its input {index}, {tensor.name}, gets {name} of type {_type(found)}; {FILE_NAME} says {types}."
        fix = f"Is the order {', '.join(order)} meant?" if order else _cast(tensor.types[0])
        yield Problem("error", fault, fix, "M17", one.place.label)
    if alone and not signature.fitting(manifest, given):
        came = ", ".join(
            f"{tensor.name} {_type(found)}"
            for tensor, found in zip(manifest.inputs, given, strict=True)
            if found is not None
        )
        together = dict.fromkeys(", ".join(kind.value for kind in kinds) for kinds, _ in signature.rows(manifest))
        fault = f"its inputs come as {came}; {FILE_NAME} has them together as {_or([f'({row})' for row in together])}."
        yield Problem("error", fault, "Put a Cast before those that differ.", "M17", one.place.label)


def _other_order(
    manifest: Manifest, names: Sequence[str], given: Sequence[onnx.TypeProto.Tensor | None]
) -> Sequence[str]:
    """The same inputs in an order in which they fit; none if there isn't just one such order."""
    if len(names) > MOST_ORDERED or None in given:
        return ()

    def fits(kinds: Sequence[onnx.TypeProto.Tensor | None]) -> bool:
        ranks = all(
            one is None or (sizes := dims(one)) is None or len(sizes) == len(tensor.shape)
            for tensor, one in zip(manifest.inputs, kinds, strict=True)
        )
        numbers = signature.symbols(manifest.inputs, kinds).values()
        fitting = not signature.wrong_numbers(manifest.inputs, kinds) and all(
            len(set(n.values())) == 1 for n in numbers
        )
        return ranks and fitting and bool(signature.fitting(manifest, kinds))

    orders = [order for order in permutations(range(len(names))) if fits([given[index] for index in order])]
    return [names[index] for index in orders[0]] if len(orders) == 1 else ()


def _cast(kind: DType) -> str:
    if kind.is_quantized:
        return "Put a QuantizeLinear before the node."
    name = next(TensorProto.DataType.Name(number) for number, one in signature.ELEMENTS.items() if one is kind)
    return f"Put a Cast to {name} before the node, or add the type to the plugin: its code and {FILE_NAME}."


def _shapes(
    one: Implementation, manifest: Manifest, names: Sequence[str], given: Sequence[onnx.TypeProto.Tensor | None]
) -> Iterator[Problem]:
    """M18: another rank, another number, or two numbers for one symbol."""
    label = one.place.label
    wrong = signature.wrong_numbers(manifest.inputs, given)
    for index, (tensor, name, found) in enumerate(zip(manifest.inputs, names, given, strict=True)):
        sizes = None if found is None else dims(found)
        if sizes is None:
            continue
        who = f"its input {index}, {tensor.name}, gets {name} of shape {_shape(sizes)}"
        written = f"{FILE_NAME} says [{', '.join(manifest.written(tensor))}]"
        if len(sizes) != len(tensor.shape):
            fault = f"{who}, of rank {len(sizes)}; {written}, of rank {len(tensor.shape)}."
            fix = "Put a Reshape, Squeeze or Unsqueeze before the node."
            yield Problem("error", fault, fix, "M18", label)
        elif tensor.name in wrong:
            fault = f"{who}; {written}: {' and '.join(wrong[tensor.name])}."
            yield Problem("error", fault, "Is another tensor meant, or another order of the dimensions?", "M18", label)
    for symbol, places in signature.symbols(manifest.inputs, given).items():
        if len(set(places.values())) > 1:
            came = ", ".join(f"{size} as {where}" for where, size in places.items())
            fault = f"{symbol} of {FILE_NAME} is one number, and comes as two: {came}."
            yield Problem("error", fault, "Are these the tensors that are meant, in this order?", "M18", label)


def _several(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _type(tensor: onnx.TypeProto.Tensor) -> str:
    return type_name(tensor.elem_type) if tensor.elem_type != TensorProto.FLOAT else "float32"


def _shape(sizes: Sequence[int | str | None]) -> str:
    # onnx's inference calls what it doesn't know unk__0, unk__1 ...
    return "[" + ", ".join("?" if size is None or str(size).startswith("unk__") else str(size) for size in sizes) + "]"


def _or(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last
