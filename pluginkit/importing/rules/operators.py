"""Forms of operators that NVIDIA's parser or builder does not have: M22; and what follows from the profile: M23."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import onnx
from onnx import TensorProto

from pluginkit.importing.inputs import inferred_at
from pluginkit.importing.model import dims, places, shapes
from pluginkit.importing.rules.constants import Constants
from pluginkit.library import Problem
from pluginkit.network.model import NetworkProfile

Known: TypeAlias = Mapping[str, onnx.TypeProto.Tensor]
Fault: TypeAlias = "tuple[str, str]"
"""What is wrong with a node, and what to do."""

LARGEST_K = 3840
"""Of TopK: from TensorRT-RTX's message."""
MASK, ATTENTION_OUTPUTS = 3, 1
FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE)
RANGES = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT32, TensorProto.INT64)


def check(model: onnx.ModelProto, known: Known, constants: Constants) -> Iterator[Problem]:
    """M22, node by node; functions are not looked at."""
    for place in places(model.graph):
        if place.node.domain not in {"", "ai.onnx"}:
            continue
        for text, fix in _FORMS.get(place.node.op_type, _nothing)(_Node(place.node, known, constants)):
            yield Problem("error", text, fix, "M22", place.label)


def squeezed(model: onnx.ModelProto, profile: NetworkProfile) -> Iterator[Problem]:
    """M23: Squeeze without axes where a dimension is open. TensorRT fixes the rank when it builds."""
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

    @property
    def outputs(self) -> int:
        return len(list(filter(None, self.node.output)))


def _nothing(_: _Node) -> Iterator[Fault]:
    yield from ()


def _pooling(node: _Node) -> Iterator[Fault]:
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
    if node.kind(0) == TensorProto.INT8:
        yield "it clips int8; NVIDIA's parser has floats, int32 and int64.", "Cast to int32 before it, and back."


_FORMS: Mapping[str, Callable[[_Node], Iterator[Fault]]] = {
    **dict.fromkeys(("AveragePool", "LpPool", "MaxPool"), _pooling),
    **dict.fromkeys(("ScatterND", "ScatterElements"), _scatter),
    **dict.fromkeys(("QuantizeLinear", "DequantizeLinear"), _quantized),
    "Attention": _attention,
    "BatchNormalization": _batch_normalization,
    "Clip": _clip,
    "LayerNormalization": _normalization,
    "Mod": _mod,
    "NonMaxSuppression": _non_max_suppression,
    "Range": _range,
    "Resize": _resize,
    "TopK": _top_k,
}
