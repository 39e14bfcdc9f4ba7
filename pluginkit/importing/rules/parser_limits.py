"""M29: what NVIDIA's parser refuses of a model, or takes for something else (seen with TensorRT-RTX 1.7.1)."""

from __future__ import annotations

import math
from collections.abc import Iterator

import onnx
from onnx import TensorProto

from pluginkit.importing import profiles
from pluginkit.importing.onnx_graph import Place, places, subgraphs
from pluginkit.library import Problem

_LARGEST = 2**31 - 1
"""Of a dimension: the parser keeps its low 32 bits, 2^40 becomes 0."""
_BODIES = {"If": ("then_branch", "else_branch"), "Loop": ("body",), "Scan": ("body",)}
_HOLDERS = ("Constant", "ConstantOfShape")


def check(model: onnx.ModelProto) -> Iterator[Problem]:
    """M29, in the main graph, in the functions that it calls, and in the bodies of all nodes."""
    graph = model.graph
    yield from _initializers(graph)
    for place in (place for one in (graph, *_called(model)) for place in places(one)):
        yield from _bodies(place)
    inputs = {value.name for value in profiles.given(model)}
    for name in dict.fromkeys(value.name for value in graph.output if value.name in inputs):
        text = f"the input {name} is an output too: NVIDIA's parser calls the input __{name}."
        yield Problem("warning", text, "Put an Identity between the two, or leave the output out.", "M29")
    for value in (*graph.input, *graph.output):
        if large := [dim.dim_value for dim in value.type.tensor_type.shape.dim if dim.dim_value > _LARGEST]:
            text = f"{value.name} has a dimension of {large[0]}: NVIDIA's parser keeps 32 bits of it."
            yield Problem("error", text, "TensorRT's tensors have dimensions of at most 2^31 - 1.", "M29")


def _called(model: onnx.ModelProto) -> list[onnx.FunctionProto]:
    """The functions that the model's nodes call, directly or through others; NVIDIA's parser reads no other."""
    functions = {(one.domain, one.name): one for one in model.functions}
    found: dict[tuple[str, str], onnx.FunctionProto] = {}
    todo: list[onnx.GraphProto | onnx.FunctionProto] = [model.graph]
    while todo:
        for node in (place.node for place in places(todo.pop())):
            key = (node.domain, node.op_type)
            if key in functions and key not in found:
                found[key] = functions[key]
                todo.append(functions[key])
    return list(found.values())


def _bodies(place: Place) -> Iterator[Problem]:
    """A node's bodies, and the tensors that it holds."""
    node = place.node
    for _, inner in subgraphs(node):
        yield from _initializers(inner)
    if node.domain not in {"", "ai.onnx"}:
        return
    missing = [name for name in _BODIES.get(node.op_type, ()) if name not in dict(subgraphs(node))]
    if missing:
        text = f"it has no {' and no '.join(missing)}: NVIDIA's parser and onnxruntime refuse it."
        yield Problem("error", text, "Was the model exported to its end?", "M29", place.label)
    if node.op_type in _HOLDERS:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.SPARSE_TENSOR:
                yield _sparse("its value", place.label)
            elif attribute.type == onnx.AttributeProto.TENSOR:
                yield from _short(attribute.t, "its value", place.label)


def _initializers(graph: onnx.GraphProto) -> Iterator[Problem]:
    for sparse in graph.sparse_initializer:
        yield _sparse(f"the constant {sparse.values.name}")
    for tensor in graph.initializer:
        yield from _short(tensor, f"the constant {tensor.name}")


def _sparse(what: str, label: str = "") -> Problem:
    text = f"{what} is a sparse tensor: NVIDIA's parser knows none."
    return Problem("error", text, "Write it as a dense one (graph.initializer).", "M29", label)


def _short(tensor: onnx.TensorProto, what: str, label: str = "") -> Iterator[Problem]:
    """A tensor with more or fewer bytes than its type and shape take."""
    size = _SIZES.get(tensor.data_type)
    # Of other types the elements of a byte, or of a number, differ: the checker's own message tells them.
    if size is None or tensor.external_data:
        return
    numbers = getattr(tensor, onnx.helper.tensor_dtype_to_field(tensor.data_type))
    # Some writers set raw_data to nothing besides the numbers.
    found, wanted = len(tensor.raw_data) or size * len(numbers), size * math.prod(tensor.dims)
    if found != wanted:
        text = f"{what} has {found} bytes; its type and shape take {wanted}."
        yield Problem("error", text, "Was the model exported to its end?", "M29", label)


_SIZES = {
    TensorProto.FLOAT: 4,
    TensorProto.FLOAT16: 2,
    TensorProto.BFLOAT16: 2,
    TensorProto.DOUBLE: 8,
    TensorProto.INT8: 1,
    TensorProto.UINT8: 1,
    TensorProto.INT32: 4,
    TensorProto.INT64: 8,
    TensorProto.BOOL: 1,
}
"""The bytes of an element, of the types that have a number for each."""
