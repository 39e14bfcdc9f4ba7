"""Forms of operators that NVIDIA's parser or builder does not have: M22; that some TensorRT has or computes otherwise:
M30; and what follows from the profile: M23."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
import onnx
from onnx import TensorProto

from pluginkit.importing.inputs import inferred_at
from pluginkit.importing.onnx_graph import dims, places, shapes
from pluginkit.importing.rules.constants import Constants
from pluginkit.library import Problem
from pluginkit.network.networks import NetworkProfile

Known: TypeAlias = Mapping[str, onnx.TypeProto.Tensor]
Fault: TypeAlias = "tuple[str, str]"
"""What is wrong with a node, and what to do."""

LARGEST_K = 3840
"""Of TopK: from TensorRT-RTX's message."""
MASK, ATTENTION_OUTPUTS = 3, 1
MOST_SPATIAL = 3
"""Dimensions of a window."""
SMALLEST_HEAD, LARGEST_HEAD = 9, 256
"""Elements of an Attention's head for which TensorRT-RTX 1.7.1 has a kernel (tests/importing/test_agreement.py)."""
FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE)
RANGES = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT32, TensorProto.INT64)


def check(model: onnx.ModelProto, known: Known, constants: Constants) -> Iterator[Problem]:
    """M22, node by node; functions are not looked at."""
    for place in places(model.graph):
        if place.node.domain not in {"", "ai.onnx"}:
            continue
        for text, fix in _FORMS.get(place.node.op_type, _nothing)(_Node(place.node, known, constants)):
            yield Problem("error", text, fix, "M22", place.label)
        for text, fix in _DIFFER.get(place.node.op_type, _nothing)(_Node(place.node, known, constants)):
            wrong = place.node.op_type in _WRONG
            yield Problem("error" if wrong else "warning", text, fix, "M30", place.label)


def squeezed(model: onnx.ModelProto, profile: NetworkProfile) -> Iterator[Problem]:
    """M23: Squeeze without axes where a dimension is dynamic. TensorRT fixes the rank when it builds."""
    found = [place for place in places(model.graph) if place.node.op_type == "Squeeze" and _all_axes(place.node)]
    if not found:
        return
    known = shapes(model)
    ends = [shapes(inferred_at(model, profile, point)) for point in (0, 2)]
    for place in found:
        name = place.node.input[0]
        shape = dims(known[name]) if name in known else None
        opened = [axis for axis, dim in enumerate(shape or ()) if not isinstance(dim, int)]
        sizes = [dims(one[name]) if name in one else None for one in ends]
        if not opened:
            continue
        always = any(
            all(size is not None and axis < len(size) and size[axis] == 1 for size in sizes) for axis in opened
        )
        axis = opened[0]
        text = f"it has no axes, and dimension {axis} of {name} is open: TensorRT fixes the rank when it builds"
        fix = "Give it the axes that are to go."
        if always:
            yield Problem(
                "error", f"{text}, and refuses a size of 1 there, which this profile has.", fix, "M23", place.label
            )
        else:
            text += ", and keeps that dimension where ONNX removes it (a size of 1)."
            yield Problem("warning", text, fix, "M23", place.label)


def _all_axes(node: onnx.NodeProto) -> bool:
    return len([name for name in node.input if name]) == 1 and not any(one.name == "axes" for one in node.attribute)


class _Node:
    """A node's attributes, and the types and constants of its inputs."""

    def __init__(self, node: onnx.NodeProto, known: Known, constants: Constants) -> None:
        self.node = node
        self._known, self._constants = known, constants

    def attribute(self, name: str, default: Any) -> Any:
        """An attribute's value, or the default of ONNX's operator."""
        return next((onnx.helper.get_attribute_value(one) for one in self.node.attribute if one.name == name), default)

    def given(self, position: int) -> str:
        return self.node.input[position] if len(self.node.input) > position else ""

    def kind(self, position: int) -> int:
        """An input's element type; 0 if it isn't known."""
        tensor = self._known.get(self.given(position))
        return tensor.elem_type if tensor is not None else 0

    def shape(self, position: int) -> tuple[int | str | None, ...] | None:
        tensor = self._known.get(self.given(position))
        return dims(tensor) if tensor is not None else None

    def constant(self, position: int) -> Any:
        """An input's values, if it is a constant that is in the model; else None."""
        return self._constants.value(self.given(position))

    def is_constant(self, position: int) -> bool:
        """Whether an input is given, and follows from constants alone."""
        return self.given(position) in self._constants.names

    @property
    def outputs(self) -> int:
        return len(list(filter(None, self.node.output)))


def _nothing(_: _Node) -> Iterator[Fault]:
    yield from ()


def _windows(node: _Node) -> Iterator[Fault]:
    """Convolutions and poolings of a rank that TensorRT's layers haven't."""
    shape = node.shape(0)
    least = 2 if node.node.op_type == "LpPool" else 1
    if shape is not None and not least <= len(shape) - 2 <= MOST_SPATIAL:
        text = f"its input has {len(shape) - 2} spatial dimension{'' if len(shape) == 3 else 's'}; NVIDIA's parser has "
        yield f"{text}{least} to {MOST_SPATIAL}.", "Reshape around it, where a dimension is 1, or write a plugin."


def _pooling(node: _Node) -> Iterator[Fault]:
    yield from _windows(node)
    dilations = list(node.attribute("dilations", ()))
    if any(size != 1 for size in dilations):
        text = f"its dilations are {dilations}; NVIDIA's parser has pooling without dilations only."
        yield text, "Compute it by slices with steps, or write a plugin."
    if node.node.op_type == "MaxPool" and node.outputs > 1:
        yield "it gives the maxima's indices too; NVIDIA's parser has the first output only.", "Write a plugin."
    if node.node.op_type == "LpPool" and node.attribute("p", 2) not in {1, 2}:
        yield f"its p is {node.attribute('p', 2)}; NVIDIA's parser has 1 and 2.", "Write it by Pow and AveragePool."


def _resize(node: _Node) -> Iterator[Fault]:
    if node.attribute("antialias", 0):
        yield "its attribute antialias is set, which NVIDIA's parser does not have.", "Leave it out, or blur before it."
    if node.attribute("coordinate_transformation_mode", b"half_pixel") == b"tf_crop_and_resize":
        yield "NVIDIA's parser has no coordinate_transformation_mode tf_crop_and_resize.", "Slice, then resize."
    policy = node.attribute("keep_aspect_ratio_policy", b"stretch").decode()
    if policy != "stretch":
        yield f"its keep_aspect_ratio_policy is {policy}; NVIDIA's parser has stretch only.", "Compute the sizes."


def _normalization(node: _Node) -> Iterator[Fault]:
    if node.outputs > 1:
        text = f"it gives {node.outputs} outputs; NVIDIA's parser has the first one only."
        yield text, "Compute the others by operators of their own."


def _batch_normalization(node: _Node) -> Iterator[Fault]:
    if node.attribute("training_mode", 0):
        yield "its training_mode is set, which NVIDIA's parser does not have.", "Export the model for inference."


def _attention(node: _Node) -> Iterator[Fault]:
    yield from _normalization(node)
    if node.attribute("softcap", 0.0):
        yield "its softcap is set, which NVIDIA's parser does not have.", "Write it by MatMul, Tanh and Softmax."
    if node.given(MASK) and node.attribute("is_causal", 0):
        yield "it has a mask and is causal; NVIDIA's layer takes one of the two.", "Put both in the mask."
    key, value = node.shape(1), node.shape(2)
    sizes = [shape[-1] for shape in (key, value) if shape]
    if len(sizes) > 1 and len(set(sizes)) > 1:
        yield f"its keys and values have sizes {sizes[0]} and {sizes[1]}; NVIDIA's layer wants one.", "Pad one of them."

    yield from _without_kernel(node)


def _without_kernel(node: _Node) -> Iterator[Fault]:
    """An Attention that no kernel of TensorRT-RTX 1.7.1 computes, and that it doesn't take apart by itself."""
    if node.attribute("TRT_decomposable", 0):
        return
    query, key = node.shape(0), node.shape(1)
    why = ""
    # Of rank 3 the parser makes layers of other operators, unless there is one query.
    if query and len(query) == 4:
        why = "it is of float32" if node.kind(0) == TensorProto.FLOAT else ""
        if isinstance(query[-1], int) and not SMALLEST_HEAD <= query[-1] <= LARGEST_HEAD:
            why = f"its heads have {query[-1]} elements"
    if query and key and len(query) > 2 and query[-2] == 1 and isinstance(key[-2], int) and key[-2] > 1:
        why = f"it has one query for {key[-2]} keys"
    if why:
        text = f"{why}; TensorRT-RTX 1.7.1 has kernels of float16 and bfloat16, for heads of {SMALLEST_HEAD} to "
        text += f"{LARGEST_HEAD} elements and more than one query, and refuses others."
        fix = "Set the attribute TRT_decomposable=1 on the node: NVIDIA's parser reads it, onnx's checker does not."
        yield text, fix


def _dropout(node: _Node) -> Iterator[Fault]:
    training = node.constant(2)
    if training is not None and training.any():
        yield "its training_mode is true, which NVIDIA's parser does not have.", "Export the model for inference."


def _mod(node: _Node) -> Iterator[Fault]:
    if not node.attribute("fmod", 0) and node.kind(0) in {*FLOATS, TensorProto.INT8}:
        yield "it is of floats or int8 without fmod; NVIDIA's parser has int32 and int64 there.", "Set fmod to 1."


def _scatter(node: _Node) -> Iterator[Fault]:
    reduction = node.attribute("reduction", b"none").decode()
    if reduction != "none":
        yield f"its reduction is {reduction}; NVIDIA's parser has none only.", "Write a plugin."


def _range(node: _Node) -> Iterator[Fault]:
    if node.kind(0) and node.kind(0) not in RANGES:
        yield "NVIDIA's parser has Range of int32, int64 and float32 only.", "Cast before and behind it."


def _top_k(node: _Node) -> Iterator[Fault]:
    k = node.constant(1)
    if k is not None and k.size == 1 and int(k.reshape(-1)[0]) > LARGEST_K:
        yield (
            f"its k is {int(k.reshape(-1)[0])}; TensorRT has {LARGEST_K} at most.",
            "Write a plugin, or sort in parts.",
        )


def _quantized(node: _Node) -> Iterator[Fault]:
    kind = node.kind(0)
    if node.node.op_type == "DequantizeLinear" and kind == TensorProto.INT32:
        text = "its input is int32, as of a bias; NVIDIA's parser has 8 bits and less."
        yield text, "Give the bias in float32: Cast and Mul by the scale, or its values."
    if TensorProto.UINT8 in {kind, node.kind(2)}:
        yield "it quantizes to uint8; NVIDIA's parser has int8.", "Quantize the model to int8, with zero points of 0."
    zero = node.constant(2)
    if zero is not None and zero.dtype.kind in "iu" and zero.any():
        yield "its zero point is not 0; TensorRT has symmetric quantization only.", "Quantize the model symmetrically."


def _non_max_suppression(_: _Node) -> Iterator[Fault]:
    text = "TensorRT-RTX 1.7.1 has no kernel for it. The full TensorRT has one: INMSLayer."
    yield text, "Take it out of the model and compute it behind the engine, or write a plugin."


def _clip(node: _Node) -> Iterator[Fault]:
    bounded = node.is_constant(1) and (not node.given(2) or node.is_constant(2))
    if node.kind(0) == TensorProto.INT8 and not bounded:
        text = (
            "it clips int8, and its bounds are not constants with a min; NVIDIA's parser wants floats, int32 or int64 "
        )
        yield f"{text}then.", "Give it a constant min and max, or cast to int32 before it, and back."


_FORMS: Mapping[str, Callable[[_Node], Iterator[Fault]]] = {
    **dict.fromkeys(("AveragePool", "LpPool", "MaxPool"), _pooling),
    **dict.fromkeys(("ScatterND", "ScatterElements"), _scatter),
    **dict.fromkeys(("QuantizeLinear", "DequantizeLinear"), _quantized),
    **dict.fromkeys(("Conv", "ConvTranspose"), _windows),
    "Attention": _attention,
    "BatchNormalization": _batch_normalization,
    "Clip": _clip,
    "Dropout": _dropout,
    "LayerNormalization": _normalization,
    "Mod": _mod,
    "NonMaxSuppression": _non_max_suppression,
    "Range": _range,
    "Resize": _resize,
    "TopK": _top_k,
}


def _same_place_twice(node: _Node) -> Iterator[Fault]:
    """Of indices that the model has: an update of an element that another one updates."""
    indices = node.constant(1)
    if indices is None or node.attribute("reduction", b"none") not in (b"none", "none"):
        return
    if node.node.op_type == "ScatterND":
        places = indices.reshape(-1, indices.shape[-1]) if indices.ndim else indices.reshape(1, 1)
    else:
        axis = node.attribute("axis", 0) % max(indices.ndim, 1)
        grid = np.indices(indices.shape).reshape(indices.ndim, -1).T.copy()
        grid[:, axis] = indices.reshape(-1)
        places = grid
    shape = node.shape(0)
    length = None if shape is None else shape[0 if node.node.op_type == "ScatterND" else axis]
    if isinstance(length, int):
        column = 0 if node.node.op_type == "ScatterND" else axis
        places = places.copy()
        places[:, column] %= length
    kinds, counts = np.unique(places, axis=0, return_counts=True)
    if (counts > 1).any():
        where = kinds[counts > 1][0].tolist()
        text = (
            f"its constant indices name {where} more than once, and reduction is none: which of the updates stays is "
        )
        yield text + "not defined by ONNX, and TensorRT and onnxruntime may differ.", "Leave out the updates that go."


def _grid_sample(node: _Node) -> Iterator[Fault]:
    if len(node.shape(0) or ()) == 5 or len(node.shape(1) or ()) == 5:
        text = (
            "its input and grid have rank 5. TensorRT-RTX 1.7.1 builds that, and by their release notes TensorRT 11.2 "
        )
        text += "and later have it; 10.6 refuses it, and onnx-tensorrt's list for 10.15 has rank 4 alone."
        yield text, "For TensorRT before 11.2: write a plugin under another name."


def _layout(node: _Node) -> Iterator[Fault]:
    if node.attribute("layout", 0):
        text = "its layout is 1: TensorRT-RTX 1.7.1 takes no notice, reads the batch as the sequence, and computes "
        yield text + "another network. onnx-tensorrt's list wants 0.", "Transpose before and behind it, with layout 0."


_DIFFER: Mapping[str, Callable[[_Node], Iterator[Fault]]] = {
    **dict.fromkeys(("GRU", "LSTM", "RNN"), _layout),
    **dict.fromkeys(("ScatterND", "ScatterElements"), _same_place_twice),
    "GridSample": _grid_sample,
}
"""Forms that one TensorRT takes and another doesn't, or that two runtimes may compute otherwise: M30."""
_WRONG = ("GRU", "LSTM", "RNN")
"""Of these it is TensorRT-RTX that computes something else than ONNX."""
