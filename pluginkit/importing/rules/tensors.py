"""What NVIDIA's parser has in some forms only: M20 (types), M21 (constants), M22 (operators)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import onnx
from onnx import TensorProto

from pluginkit.importing.model import Place, places, subgraphs
from pluginkit.library import Problem

TYPES = frozenset(
    {
        TensorProto.FLOAT,
        TensorProto.FLOAT16,
        TensorProto.BFLOAT16,
        TensorProto.DOUBLE,
        TensorProto.INT8,
        TensorProto.UINT8,
        TensorProto.INT32,
        TensorProto.INT64,
        TensorProto.BOOL,
        TensorProto.FLOAT8E4M3FN,
        TensorProto.INT4,
        TensorProto.FLOAT4E2M1,
    }
)
"""The types that NVIDIA's parser converts; of float64 it makes float32."""
_REDUCTIONS = "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare"
CONSTANTS: Mapping[str, Mapping[int, str]] = {
    **{f"Reduce{name}": {1: "axes"} for name in _REDUCTIONS.split()},
    "Squeeze": {1: "axes"},
    "Resize": {2: "scales"},
    "Upsample": {1: "scales"},
    "QuantizeLinear": {2: "zero_point"},
    "DequantizeLinear": {2: "zero_point"},
}
"""Inputs that NVIDIA's parser wants as constants: of each operator, positions with names."""
POOLING = ("AveragePool", "LpPool", "MaxPool")
ONE_OUTPUT = ("Attention", "LayerNormalization")
"""Operators of which the parser gives the first output only."""
_INT32 = "Cast it to int32 where it is an integer, to float32 where it is a float."


def check(model: onnx.ModelProto, known: Mapping[str, onnx.TypeProto.Tensor]) -> Iterator[Problem]:
    """What is wrong with the main graph and those in it, each tensor or node once; functions are not looked at."""
    found = [place for place in places(model.graph) if place.node.domain in {"", "ai.onnx"}]
    yield from _types(found, known, model)
    constants = _constants(model)
    for place in found:
        for position, name in CONSTANTS.get(place.node.op_type, {}).items():
            given = place.node.input[position] if len(place.node.input) > position else ""
            if given and given not in constants:
                text = f"its input {name} ({given}) is computed or given at run time; NVIDIA's parser wants a constant."
                yield Problem("error", text, f"Make {given} an initializer or a Constant.", "M21", place.label)
        yield from _form(place)


def _form(place: Place) -> Iterator[Problem]:
    node = place.node
    dilations = next((one.ints for one in node.attribute if one.name == "dilations"), ())
    if node.op_type in POOLING and any(size != 1 for size in dilations):
        text = f"its dilations are {list(dilations)}; NVIDIA's parser has pooling without dilations only."
        yield Problem("error", text, "Compute it by slices with steps, or write a plugin.", "M22", place.label)
    if node.op_type == "Resize" and any(one.name == "antialias" and one.i for one in node.attribute):
        text = "its attribute antialias is set, which NVIDIA's parser does not have."
        yield Problem("error", text, "Leave it out, or blur before the Resize.", "M22", place.label)
    if node.op_type in ONE_OUTPUT and any(node.output[1:]):
        text = f"it gives {len(list(filter(None, node.output)))} outputs; NVIDIA's parser has the first one only."
        yield Problem("error", text, "Compute the others by operators of their own.", "M22", place.label)


def _types(
    found: Sequence[Place], known: Mapping[str, onnx.TypeProto.Tensor], model: onnx.ModelProto
) -> Iterator[Problem]:
    seen: set[str] = set()
    graph = [value.name for value in (*model.graph.input, *model.graph.output)]
    for label, names in (("", graph), *((one.label, [*one.node.input, *one.node.output]) for one in found)):
        for name in names:
            tensor = known.get(name)
            if not name or name in seen or tensor is None or not tensor.elem_type:
                continue
            seen.add(name)
            kind = TensorProto.DataType.Name(tensor.elem_type).lower()
            if tensor.elem_type not in TYPES:
                text = f"{name} is of type {kind}, which TensorRT does not have."
                yield Problem("error", text, _INT32, "M20", label)
            elif tensor.elem_type == TensorProto.DOUBLE:
                text = f"{name} is float64; NVIDIA's parser computes it in float32."
                yield Problem("warning", text, "Export the model in float32, and compare its outputs.", "M20", label)


def _constants(model: onnx.ModelProto) -> set[str]:
    """Names of constants in all graphs: initializers, outputs of Constant, and what is computed of these alone."""
    found: set[str] = set()

    def walk(graph: onnx.GraphProto) -> None:
        found.update(tensor.name for tensor in graph.initializer)
        found.update(tensor.values.name for tensor in graph.sparse_initializer)
        for node in graph.node:
            inner = [one for _, one in subgraphs(node)]
            for one in inner:
                walk(one)
            if not inner and all(not name or name in found for name in node.input):
                found.update(node.output)

    walk(model.graph)
    return found
