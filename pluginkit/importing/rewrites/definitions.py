"""Operators that NVIDIA's parser may not have, as the operators that define them: ONNX's own, and onnxruntime's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import onnx

from pluginkit.importing.onnx_graph import shapes, subgraphs

_MICROSOFT = "com.microsoft"
_TEXTS = (
    """
    <domain: "com.microsoft", opset_import: ["" : 17]>
    QuickGelu <alpha: float = 1.702> (x) => (y) {
        factor = Constant <value_float: float = @alpha> ()
        like = CastLike (factor, x)
        scaled = Mul (x, like)
        share = Sigmoid (scaled)
        y = Mul (x, share)
    }
    """,
    """
    <domain: "com.microsoft", opset_import: ["" : 17]>
    BiasGelu (a, b) => (y) {
        x = Add (a, b)
        root = Constant <value_float: float = 0.7071067811865476> ()
        root_like = CastLike (root, x)
        scaled = Mul (x, root_like)
        error = Erf (scaled)
        one = Constant <value_float: float = 1.0> ()
        one_like = CastLike (one, x)
        whole = Add (error, one_like)
        half = Constant <value_float: float = 0.5> ()
        half_like = CastLike (half, x)
        share = Mul (x, half_like)
        y = Mul (share, whole)
    }
    """,
)
"""Operators of onnxruntime, as its documentation of them says (docs/ContribOperators.md)."""
_CAST_LIKE = 15
"""The opset that brought CastLike, the latest of what the definitions use."""


@dataclass(frozen=True)
class Definition:
    """An operator by others.

    Attributes:
        source: whose definition it is.
        nodes: what stands for one node.
    """

    source: str
    nodes: tuple[onnx.NodeProto, ...]


@lru_cache(maxsize=1)
def texts() -> dict[tuple[str, str], onnx.FunctionProto]:
    """The definitions that stand here, by domain and type."""
    functions = [onnx.parser.parse_function(text) for text in _TEXTS]
    return {(function.domain, function.name): function for function in functions}


NOT_WRITTEN = {
    "AffineGrid": "onnxruntime does not run its definition, so that no rewrite of it can be compared",
    "Bernoulli": "its values are random, so that no rewrite of it can be compared",
    "DynamicQuantizeLinear": "its definition quantizes to uint8, which the parser has not",
}
"""Operators whose definition is no way out, and why."""


def of(model: onnx.ModelProto, node: onnx.NodeProto) -> Definition | None:
    """How a node of a model is defined by others; None where no definition is known."""
    domain = "" if node.domain == "ai.onnx" else node.domain
    if domain == _MICROSOFT and (domain, node.op_type) in texts():
        source = "onnxruntime's definition"
    elif domain == "" and node.op_type not in NOT_WRITTEN and _has_function(node.op_type):
        source = "ONNX's own definition"
    else:
        return None
    inlined = written_out(_alone(model, node), [(domain, node.op_type)])
    if inlined is None or any(one.op_type == node.op_type for one in inlined.graph.node):
        return None
    return Definition(source, tuple(inlined.graph.node))


def written_out(model: onnx.ModelProto, operators: Sequence[tuple[str, str]]) -> onnx.ModelProto | None:
    """The model with what defines these operators, by domain and type, in their place; None if onnx can't do it."""
    copied = onnx.ModelProto()
    copied.CopyFrom(model)
    own = {(function.domain, function.name) for function in copied.functions}
    version = next((entry for entry in model.opset_import if entry.domain in {"", "ai.onnx"}), None)
    for key in set(operators) - own:
        if key in texts():
            function = copied.functions.add()
            function.CopyFrom(texts()[key])
            # The inliner puts no function of one opset into a model of another.
            if version is not None and version.version >= _CAST_LIKE:
                function.opset_import[0].version = version.version
    # A definition may refer to attributes that the node leaves to their defaults; the inliner doesn't fill these in.
    for node in nodes(copied.graph.node):
        if ("" if node.domain == "ai.onnx" else node.domain, node.op_type) in operators and onnx.defs.has(node.op_type):
            given = {one.name for one in node.attribute}
            defaults = onnx.defs.get_schema(node.op_type).attributes
            node.attribute.extend(
                one.default_value for name, one in defaults.items() if name not in given and one.default_value.name
            )
    # Some definitions follow from types, and the inliner doesn't look for a constant's among the constants.
    have = {value.name for value in (*copied.graph.input, *copied.graph.value_info, *copied.graph.output)}
    copied.graph.value_info.extend(
        onnx.ValueInfoProto(name=name, type=onnx.TypeProto(tensor_type=tensor))
        for name, tensor in shapes(model).items()
        if name not in have
    )
    with contextlib.suppress(Exception):
        return onnx.inliner.inline_selected_functions(copied, list(operators), inline_schema_functions=True)
    return None


def nodes(found: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """The nodes and those in their subgraphs."""
    for node in found:
        yield node
        for _, graph in subgraphs(node):
            yield from nodes(graph.node)


def _has_function(kind: str) -> bool:
    if not onnx.defs.has(kind):
        return False
    schema = onnx.defs.get_schema(kind)
    return bool(schema.has_function or schema.has_context_dependent_function)


def _alone(model: onnx.ModelProto, node: onnx.NodeProto) -> onnx.ModelProto:
    """A model of the node alone: some definitions follow from the inputs' types."""
    known = shapes(model)
    inputs = [
        onnx.ValueInfoProto(name=name, type=onnx.TypeProto(tensor_type=known[name]))
        if name in known
        else onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None)
        for name in dict.fromkeys(node.input)
        if name
    ]
    outputs = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in node.output if name]
    graph = onnx.helper.make_graph([node], "alone", inputs, outputs)
    alone = onnx.helper.make_model(graph, opset_imports=model.opset_import)
    if not any(entry.domain in {"", "ai.onnx"} for entry in alone.opset_import):
        alone.opset_import.append(onnx.helper.make_opsetid("", onnx.defs.onnx_opset_version()))
    return alone
