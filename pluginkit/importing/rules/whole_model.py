"""Rules on the model as a whole and on its control flow: M2 (functions), M7 to M10, M13, M14."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import onnx
from onnx import TensorProto

from pluginkit.importing.control_flow.layers import NOT_INSIDE
from pluginkit.importing.implementations import Implementation, PluginLibrary
from pluginkit.importing.inputs import inferred_at
from pluginkit.importing.onnx_graph import Place, dims, function_name, own_types, places, subgraphs, type_name
from pluginkit.importing.profiles import POINTS
from pluginkit.importing.rules.constants import Constants
from pluginkit.importing.rules.folding import Folding
from pluginkit.importing.rules.plugins import Known
from pluginkit.library import Problem
from pluginkit.network.networks import NetworkProfile

OLDEST_OPSET = 7
"""From the message of NVIDIA's parser for an older one."""
BROADCAST = (
    *("Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Less", "Greater", "Equal"),
    *("Max", "Min", "Sum", "Mean", "PRelu", "Gemm"),
)
"""Operators that NVIDIA's parser refuses in an older opset."""
_CONVERT = "onnx.version_converter.convert_version(model, 17)"
BOUNDARY = (TensorProto.BOOL, TensorProto.INT32, TensorProto.FLOAT16, TensorProto.FLOAT, TensorProto.BFLOAT16)
"""What may enter and leave an If: TensorRT's documentation of that operator (10.6)."""


def check(
    model: onnx.ModelProto, places: Sequence[Place], known: Known, constants: Constants, path: Path
) -> Iterator[Problem]:
    """What is wrong with the model apart from its plugins' attributes."""
    yield from _opsets(model, places)
    yield from _checker(places, path)
    for place in places:
        if place.node.op_type == "If":
            yield from _boundary(place, known, constants)
            if not set(place.node.input) & constants.of_shapes:
                yield from _different(place)
            elif (differ := next(_different(place), None)) and (
                taken := Folding.of(model, constants).branch(place.node)
            ):
                fault = (
                    f"{differ.text[:-1]}; by the model's own shapes it always takes {taken}. TensorRT-RTX 1.7.1 builds "
                )
                fault += "that, TensorRT 8.6 refuses it."
                yield Problem("warning", fault, f"Put {taken} in its place: pluginkit doctor --fix does.", "M7",
                              place.label)  # fmt: skip
            yield from _prefixes(place)
        elif place.node.op_type == "Loop":
            yield from _loop(place, known, model.opset_import)
        if place.flow and place.node.op_type in NOT_INSIDE:
            yield Problem(
                "warning",
                f"{place.node.op_type} ({NOT_INSIDE[place.node.op_type]}) stands inside {place.flow[-1]}, where "
                "TensorRT does not promise to support it.",
                "Move it out, if it does not depend on what is computed inside; NVIDIA's builder decides.",
                "M9",
                place.label,
            )


def functions(
    model: onnx.ModelProto, libraries: Sequence[PluginLibrary], implementations: Sequence[Implementation]
) -> Iterator[Problem]:
    """Local functions that something of the same name goes before, and those whose domain is another (M2)."""
    names = {function.name: function for function in model.functions}
    domains = {(function.domain, function.name) for function in model.functions}
    creators = {creator.name: library.path.name for library in libraries for creator in library.creators}
    for one in implementations:
        node = one.place.node
        function = names.get(node.op_type)
        if function is None:
            continue
        label = one.place.label
        if one.by == "native":
            fault = (
                f"the parser takes its own {node.op_type}; the model's function {function_name(function)} is ignored."
            )
            yield Problem("error", fault, "Give the function a name that ONNX does not have.", "M2", label)
        elif one.by == "plugin":
            fault = (
                f"the plugin of {creators[node.op_type]} goes before the model's function of that name, since the node "
                "has the attribute plugin_namespace."
            )
            yield Problem("warning", fault, "Rename one of them, so that all versions agree.", "M2", label)
        elif one.by == "function" and node.op_type in creators:
            fault = (
                f"it is computed by the model's function {function_name(function)}; the plugin of "
                f"{creators[node.op_type]} is not used by TensorRT-RTX 1.7.1. By their release notes, the parsers of "
                "TensorRT 10.7 and later take the plugin."
            )
            fix = "Set the attribute plugin_namespace on the node to have the plugin, or rename one of them."
            yield Problem("warning", fault, fix, "M2", label)
        elif (node.domain, node.op_type) not in domains:
            fault = f"it calls {one.place.operator}, the function is {function_name(function)}; onnx sees none there."
            yield Problem("warning", fault, f"Set the node's domain to {function.domain!r}.", "M14", label)


def _opsets(model: onnx.ModelProto, places: Sequence[Place]) -> Iterator[Problem]:
    imported = {entry.domain: entry.version for entry in model.opset_import}
    version = imported.get("", imported.get("ai.onnx"))
    newest = onnx.defs.onnx_opset_version()
    if version is None:
        if any(place.node.domain in {"", "ai.onnx"} for place in places):
            fault = "the model uses ONNX's own operators and does not say of which version."
            yield Problem("warning", fault, 'Add onnx.helper.make_opsetid("", 17).', "M13")
    elif version < OLDEST_OPSET:
        fault = f"the model is of opset {version}; NVIDIA's parser promises nothing below {OLDEST_OPSET}."
        yield Problem("warning", fault, _CONVERT, "M13")
        for place in places:
            if place.node.op_type in BROADCAST and place.node.domain in {"", "ai.onnx"}:
                fault = f"in opset {version} it broadcasts in another way, which NVIDIA's parser refuses."
                yield Problem("error", fault, _CONVERT, "M13", place.label)
    elif version > newest:
        fault = f"the model is of opset {version}; the onnx package here knows {newest}, so it cannot be checked."
        yield Problem("warning", fault, "pip install --upgrade onnx, or export it with an older opset.", "M13")
    calls = {function.domain for function in model.functions}
    for domain in dict.fromkeys(place.node.domain for place in places):
        if domain not in {"", "ai.onnx"} and domain not in imported and domain not in calls:
            first = next(place for place in places if place.node.domain == domain)
            fault = f"its domain {domain!r} is not among the model's opset imports; onnx's checker refuses that."
            yield Problem("warning", fault, f"Add onnx.helper.make_opsetid({domain!r}, 1).", "M14", first.label)


def _checker(places: Sequence[Place], path: Path) -> Iterator[Problem]:
    """Unknown operators in ONNX's domain one by one (the checker stops at the first), then its own message."""
    unknown = [p for p in places if p.node.domain in {"", "ai.onnx"} and not onnx.defs.has(p.node.op_type)]
    for place in unknown:
        yield Problem(
            "warning",
            f"{place.node.op_type} is in ONNX's own domain, which has no such operator: onnx's checker refuses the "
            "model and onnxruntime does not load it. NVIDIA's parser takes it.",
            'Give the node a domain of its own, as domain="pluginkit", and import that.',
            "M14",
            place.label,
        )
    if unknown:
        return
    try:
        # By its path, so that models of more than 2 GiB can be checked too.
        onnx.checker.check_model(str(path))
    except Exception as error:  # noqa: BLE001 - it has many, and any of them is a refusal
        fault = str(error).strip().splitlines() or [type(error).__name__]
        text = f"onnx's checker refuses the model: {fault[0]}"
        yield Problem("warning", text, "NVIDIA's parser may still take it; onnxruntime may not.", "M14")


def _boundary(place: Place, known: Known, constants: Constants) -> Iterator[Problem]:
    """M7: what crosses the boundary of an If; a constant doesn't, which is part of the layers that read it."""
    others: dict[str, list[str]] = {}
    for _, graph in subgraphs(place.node):
        inside = {name for node in graph.node for name in node.output} | {t.name for t in graph.initializer}
        used = {name for node in graph.node for name in node.input if name and name not in inside}
        crossing = [(name, known[name]) for name in sorted(used - constants.names) if name in known]
        crossing += [(value.name, value.type.tensor_type) for value in graph.output]
        for name, tensor in crossing:
            if tensor.elem_type and tensor.elem_type not in BOUNDARY:
                others.setdefault(type_name(tensor.elem_type), []).append(name)
    for kind, names in others.items():
        named = list(dict.fromkeys(names))
        fault = f"{', '.join(named)}, of type {kind}, {'crosses' if len(named) == 1 else 'cross'} its boundary; "
        fault += "TensorRT's documentation allows bool, int32, float16, bfloat16 and float32."
        fix = "Convert inside the branch (DequantizeLinear, Cast)."
        yield Problem("warning", fault, fix, "M7", place.label)


def _different(place: Place) -> Iterator[Problem]:
    """M7: branches that give different things."""
    outputs = [[value.type.tensor_type for value in graph.output] for _, graph in subgraphs(place.node)]
    for index, pair in enumerate(zip(*outputs, strict=False)):
        kinds = {tensor.elem_type for tensor in pair if tensor.elem_type}
        shapes = [shape for tensor in pair if (shape := dims(tensor)) is not None]
        if len(kinds) > 1 or len({len(shape) for shape in shapes}) > 1:
            given = [" of ".join(one) for one in zip(map(_kind, pair), map(_rank, pair), strict=True)]
            fault = f"its branches give {' and '.join(given)} as output {index}."
            yield Problem("error", fault, "Make both branches give the same.", "M7", place.label)


def _kind(tensor: onnx.TypeProto.Tensor) -> str:
    return type_name(tensor.elem_type)


def _rank(tensor: onnx.TypeProto.Tensor) -> str:
    shape = dims(tensor)
    return "unknown rank" if shape is None else f"rank {len(shape)}"


BRANCH_SHAPES = (
    "NvInfer.h of TensorRT 10.16 and 11 wants equal ranks, but the documentation of If up to 10.10 equal shapes, and "
    "TensorRT-RTX 1.7.1 fails on some of these."
)


def branch_shapes(model: onnx.ModelProto, profile: NetworkProfile) -> Iterator[Problem]:
    """M7: branches that give different shapes, at one end of the profile at least."""
    constants = Constants(model)
    reported: set[str] = set()
    found = [place for place in places(model.graph) if place.node.op_type == "If"]
    if not found:
        return
    opened = any(low != high for low, _, high in profile.shapes.values())
    at = [inferred_at(model, profile, point) for point in range(len(POINTS))]
    folded = [Folding(one, constants) for one in at] if opened else []
    for place in found:
        # Once the shapes are numbers only one of the branches is left.
        if opened and set(place.node.input) & (constants.of_shapes - constants.names):
            conditions = {one.values(place.node.input[0]) for one in folded}
            known = not any(one is None or None in one for one in conditions)
            if not known or len(conditions) > 1:
                # What isn't known here NVIDIA's builder may know.
                yield from (replace(one, level="error" if known else "warning") for one in _different(place))
    for point, name in enumerate(POINTS):
        for place in places(at[point].graph):
            node, label = place.node, place.label
            # Of a constant condition the other branch is never built.
            if node.op_type != "If" or label in reported or set(node.input) & constants.names:
                continue
            branches = {name: _output_shapes(graph) for name, graph in subgraphs(node)}
            for index, shapes in enumerate(zip(*branches.values(), strict=False)):
                ranks = {len(shape) for shape in shapes if shape is not None}
                if len(set(shapes)) == 1 or None in shapes or len(ranks) > 1:
                    continue
                reported.add(label)
                given = " and ".join(
                    f"{_shape(shape or ())} ({branch})" for branch, shape in sorted(zip(branches, shapes, strict=True))
                )
                where = f", at the profile's {name}" if opened else ""
                fault = f"its branches give {given} as output {index}{where}; {BRANCH_SHAPES}"
                fix = "Make both branches give one shape: pad or slice one of them, or move what differs behind the If."
                yield Problem("warning", fault, fix, "M7", label)
                break


def _output_shapes(graph: onnx.GraphProto) -> list[tuple[int, ...] | None]:
    """The shapes of a graph's outputs; None where a size isn't known."""
    known = own_types(graph)
    found: list[tuple[int, ...] | None] = []
    for value in graph.output:
        shape = dims(known[value.name]) if value.name in known else None
        sizes = tuple(size for size in shape or () if isinstance(size, int))
        found.append(sizes if shape is not None and len(sizes) == len(shape) else None)
    return found


def _prefixes(place: Place) -> Iterator[Problem]:
    """M10: the parser finds a branch's layers by the beginning of their names."""
    names = sorted({node.name for _, graph in subgraphs(place.node) for node in graph.node if node.name})
    for first, second in itertools.pairwise(names):
        if second.startswith(first):
            fault = f"of its branches' nodes {first!r} is the beginning of {second!r}: NVIDIA's parser finds layers by "
            fault += "the beginning of their names, and may wire the wrong one."
            yield Problem("warning", fault, f"Rename {first!r}, as {first + '_'!r}.", "M10", place.label)
            return


def _loop(place: Place, known: Known, opsets: Sequence[onnx.OperatorSetIdProto]) -> Iterator[Problem]:
    """M8: states that change their shape, scan outputs without a trip count, a missing condition."""
    node = place.node
    body = next((graph for name, graph in subgraphs(node) if name == "body"), None)
    if body is None:
        return
    states = list(node.input)[2:]
    scans = len(body.output) - 1 - len(states)
    if scans > 0 and not (node.input and node.input[0]):
        fault = f"it has {scans} scan outputs and no trip count: TensorRT has no length for them."
        yield Problem("error", fault, "Give the Loop its first input, the largest number of trips.", "M8", place.label)
    names = {name for inner in body.node for name in inner.input} | {value.name for value in body.output}
    if len(body.input) > 1 and body.input[1].name in names and (len(node.input) < 2 or not node.input[1]):
        fault = (
            f"its body uses the condition {body.input[1].name}, and the node has none: NVIDIA's parser refuses that."
        )
        yield Problem("error", fault, "Give the Loop its second input, a constant true.", "M8", place.label)
    comes = _iterated(body, states, known, opsets)
    for index, name in enumerate(states):
        if index + 1 >= len(body.output) or name not in known:
            continue
        made = comes.get(body.output[index + 1].name, body.output[index + 1].type.tensor_type)
        before, after = dims(known[name]), dims(made)
        if before is None or after is None:
            continue
        differ = len(before) != len(after) or any(
            isinstance(a, int) and isinstance(b, int) and a != b for a, b in zip(before, after, strict=True)
        )
        if differ:
            fault = f"its state {name} begins as {_shape(before)} and comes back as {_shape(after)}; TensorRT's "
            fault += "recurrences keep their shape."
            fix = "Keep the state's shape, or give the growing tensor as a scan output."
            yield Problem("error", fault, fix, "M8", place.label)


def _iterated(
    body: onnx.GraphProto, states: Sequence[str], known: Known, opsets: Sequence[onnx.OperatorSetIdProto]
) -> dict[str, onnx.TypeProto.Tensor]:
    """What a Loop's body makes of its states in the first trip, by onnx's inference: not what it declares."""
    inner = onnx.GraphProto()
    inner.CopyFrom(body)
    for value, name in zip(inner.input[2:], states, strict=False):
        if name in known:
            value.type.tensor_type.CopyFrom(known[name])
    for value in inner.output:
        value.type.tensor_type.ClearField("shape")
    del inner.value_info[:]
    with contextlib.suppress(Exception):
        found = onnx.shape_inference.infer_shapes(onnx.helper.make_model(inner, opset_imports=opsets))
        return own_types(found.graph)
    return {}


def _shape(shape: Sequence[int | str | None]) -> str:
    return "[" + ", ".join("?" if dim is None else str(dim) for dim in shape) + "]"
