"""Types of what goes into and out of loops' bodies, of which onnx's shape inference gives the element type alone.

In ONNX a state may change its shape from step to step. TensorRT's recurrences keep it (rule M8), so here a state has
the shape that it begins with, as far as the body's own output doesn't say otherwise.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import onnx

from pluginkit.importing.onnx_graph import dims, own_types, subgraphs

Tensor: TypeAlias = "onnx.TypeProto.Tensor"
COUNTED = 2
"""Of a Loop's inputs, and of its body's: the number of trips and the condition."""


def declare(graph: onnx.GraphProto, around: ChainMap[str, Tensor] | None = None) -> bool:
    """Write into a graph's loops what follows from what is known outside of them, and of their outputs from the body.

    Returns whether anything new was written.
    """
    known = (around if around is not None else ChainMap()).new_child(own_types(graph))
    added = False
    for node in graph.node:
        for name, body in subgraphs(node):
            is_loop = name == "body" and node.op_type in {"Loop", "Scan"}
            for value, kind in _given(node, body, known) if is_loop else ():
                added |= _write(value, kind)
            added |= declare(body, known)
            for made, kind in _made(node, body, own_types(body)) if is_loop else ():
                if made and not _whole(known.get(made)):
                    added |= write(graph, made, kind)
                    known[made] = kind
    return added


def _given(
    node: onnx.NodeProto, body: onnx.GraphProto, known: Mapping[str, Tensor]
) -> Iterator[tuple[onnx.ValueInfoProto, Tensor]]:
    """The body's inputs with their types."""
    if node.op_type == "Loop":
        scalars = (onnx.TensorProto.INT64, onnx.TensorProto.BOOL)
        for value, kind in zip(body.input, scalars, strict=False):
            yield value, onnx.helper.make_tensor_type_proto(kind, []).tensor_type
        # Behind the body's condition.
        states = zip(body.input[COUNTED:], node.input[COUNTED:], body.output[1:], strict=False)
    else:
        states = zip(body.input, list(node.input)[: _states(node)], body.output, strict=False)
    for value, name, after in states:
        if name in known and known[name].HasField("shape"):
            yield value, _kept(known[name], after.type.tensor_type)
    if node.op_type == "Scan":
        first = _states(node)
        for value, name, axis in zip(body.input[first:], node.input[first:], _axes(node, "input"), strict=False):
            shape = dims(known[name]) if name in known else None
            if shape:
                at = axis % len(shape)
                yield value, _tensor(known[name].elem_type, [*shape[:at], *shape[at + 1 :]])


def _made(node: onnx.NodeProto, body: onnx.GraphProto, inside: Mapping[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    """The node's outputs with their types: states as they are in the body; what each step gives, once a step."""
    states = len(node.input) - COUNTED if node.op_type == "Loop" else _states(node)
    outputs = body.output[1:] if node.op_type == "Loop" else body.output
    axes = iter(_axes(node, "output") if node.op_type == "Scan" else ())
    for index, (name, value) in enumerate(zip(node.output, outputs, strict=False)):
        axis = next(axes, 0) if index >= states else 0
        kind = inside.get(value.name)
        if kind is None or not kind.HasField("shape"):
            continue
        if index < states:
            yield name, kind
        else:
            shape = list(dims(kind) or ())
            at = axis % (len(shape) + 1)
            yield name, _tensor(kind.elem_type, [*shape[:at], None, *shape[at:]])


def _kept(before: Tensor, after: Tensor) -> Tensor:
    """A state's type: a dimension that the body changes is open."""
    first, then = list(dims(before) or ()), dims(after)
    if then is not None and len(then) == len(first):
        first = [None if isinstance(b, int) and a != b else a for a, b in zip(first, then, strict=True)]
    return _tensor(before.elem_type, first)


def _tensor(kind: int, shape: Sequence[int | str | None]) -> Tensor:
    return onnx.helper.make_tensor_type_proto(kind, shape).tensor_type


def _states(node: onnx.NodeProto) -> int:
    """How many states a Scan has."""
    return len(node.input) - next((one.i for one in node.attribute if one.name == "num_scan_inputs"), 0)


def _axes(node: onnx.NodeProto, which: str) -> list[int]:
    given = next((list(one.ints) for one in node.attribute if one.name == f"scan_{which}_axes"), [])
    return given or [0] * len(node.input)


def _whole(kind: Tensor | None) -> bool:
    return kind is not None and bool(kind.elem_type) and kind.HasField("shape")


def _write(value: onnx.ValueInfoProto, kind: Tensor) -> bool:
    if value.type.WhichOneof("value") not in {None, "tensor_type"}:
        return False
    if _whole(value.type.tensor_type) or value.type.tensor_type == kind:
        return False
    value.type.tensor_type.CopyFrom(kind)
    return True


def write(graph: onnx.GraphProto, name: str, kind: Tensor) -> bool:
    """Write what a tensor of a graph is; not where that is known. Returns whether it was new."""
    there = (value for value in (*graph.value_info, *graph.output) if value.name == name)
    return _write(next(there, None) or graph.value_info.add(name=name), kind)
