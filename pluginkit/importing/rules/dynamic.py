"""Rules of NVIDIA's document on dynamic shapes: M25 (shape tensors), M26 (channels), and of loops: M27."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import onnx
from onnx import TensorProto

from pluginkit.importing.inputs import inferred_at
from pluginkit.importing.onnx_graph import Place, dims, places, shapes, subgraphs, type_name
from pluginkit.importing.rules.constants import Constants
from pluginkit.importing.rules.plugins import Known
from pluginkit.importing.shape_tensors import TensorClass
from pluginkit.library import Problem
from pluginkit.network.networks import NetworkProfile

AT_BOUNDARY = (TensorProto.INT32, TensorProto.INT64)
"""Types of shape tensors that are inputs: "Shape Tensor I/O (Advanced)"."""
LARGEST = 64
"""Elements of a shape tensor: "Execution Tensors vs Shape Tensors"."""
CONVOLUTIONS = ("Conv", "ConvTranspose")
IN_LOOPS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.BOOL, TensorProto.INT32,
            TensorProto.INT64, TensorProto.DOUBLE)  # fmt: skip
"""Types that a loop carries."""
SHOWN = 3


def check(model: onnx.ModelProto, known: Known, tensors: Sequence[TensorClass]) -> Iterator[Problem]:
    """What the model's declared and inferred shapes break."""
    yield from _shape_tensors(model, known, tensors)
    for place in places(model.graph):
        node = place.node
        if node.op_type in CONVOLUTIONS and node.domain in {"", "ai.onnx"} and node.input:
            shape = dims(known[node.input[0]]) if node.input[0] in known else None
            # An open size that follows from the weights is one only for who looks at the shapes alone.
            if (
                shape is not None
                and len(shape) > 1
                and not isinstance(shape[1], int)
                and node.input[0] in _inputs(model)
            ):
                text = f"the channels (dimension 1) of its input {node.input[0]} are open; TensorRT wants a constant."
                yield Problem(
                    "warning", text, f"Give that dimension of {node.input[0]} its number.", "M26", place.label
                )
        if node.op_type in {"Loop", "Scan"}:
            yield from _carried(place, known)


def loops(model: onnx.ModelProto, profile: NetworkProfile) -> Iterator[Problem]:
    """M27: loops whose collected outputs have several dynamic dimensions, with the memory that they take at the max."""
    found = [place for place in places(model.graph) if place.node.op_type in {"Loop", "Scan"}]
    if not found:
        return
    declared, most = shapes(model), shapes(inferred_at(model, profile, 2))
    for place in found:
        for name in filter(None, place.node.output):
            shape = dims(declared[name]) if name in declared else None
            opened = [dim for dim in shape or () if not isinstance(dim, int)]
            if len(opened) < 2:
                continue
            size = dims(most[name]) if name in most else None
            numbers = [dim for dim in size or () if isinstance(dim, int)]
            bytes_each = _width(declared[name].elem_type)
            memory = "its size at the profile's max is not known from the model"
            if size is not None and len(numbers) == len(size):
                memory = f"at the profile's max it takes {math.prod(numbers) * bytes_each / 2**20:.1f} MiB"
            text = f"its output {name} has {len(opened)} dynamic dimensions: {memory}, which is allotted for any run."
            fix = "Keep the profile's max near what is needed, or give dimensions numbers."
            yield Problem("warning", text, fix, "M27", place.label)


def _inputs(model: onnx.ModelProto) -> set[str]:
    return {value.name for value in model.graph.input}


def _shape_tensors(model: onnx.ModelProto, known: Known, tensors: Sequence[TensorClass]) -> Iterator[Problem]:
    constants = Constants(model).names
    for one in tensors:
        if not one.shape or one.name in constants:
            continue
        kind = known[one.name].elem_type if one.name in known else 0
        if not one.node and kind and kind not in AT_BOUNDARY:
            name = type_name(kind)
            text = (
                f"the input {one.name} is {name} and a shape tensor: {one.rule}. At the network's end it must be int32 "
            )
            yield Problem("error", text + "or int64.", f"Make it int64, and Cast it to {name}.", "M25")
        size = dims(known[one.name]) if one.name in known else None
        count = math.prod(dim for dim in size or () if isinstance(dim, int))
        if count > LARGEST:
            text = f"{one.name} has {count} elements and is a shape tensor: {one.rule}. It may have {LARGEST}."
            yield Problem("warning", text, "Gather the elements that are needed first.", "M25", one.node)
    computed = [one for one in tensors if one.computed and one.name not in constants]
    for one in computed[:SHOWN]:
        text = (
            f"{one.name} is a shape tensor, and {one.operator} computes it on the GPU: each run copies it to the CPU "
        )
        text += f"and waits. {one.rule}."
        if len(computed) > SHOWN:
            text += f" It is one of {len(computed)}; --json has all."
        yield Problem("warning", text, "Compute it from shapes, or outside of the network.", "M25", one.node)


def _carried(place: Place, known: Known) -> Iterator[Problem]:
    """M27: what a loop carries or collects in 8 bits and less."""
    names = [*place.node.input, *place.node.output]
    names += [value.name for _, body in subgraphs(place.node) for value in (*body.input, *body.output)]
    for name in dict.fromkeys(names):
        kind = known[name].elem_type if name in known else 0
        if kind and kind not in IN_LOOPS:
            text = f"it carries {name}, of type {type_name(kind)}; TensorRT's loops compute in "
            fix = "Quantize and dequantize within the body."
            yield Problem("warning", text + "FP32 and FP16.", fix, "M27", place.label)


def _width(kind: int) -> int:
    return int(onnx.helper.tensor_dtype_to_np_dtype(kind).itemsize) if kind else 4
