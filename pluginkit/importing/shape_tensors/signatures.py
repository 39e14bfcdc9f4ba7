"""The layers' signatures of NVIDIA's document, for ONNX's operators.

Source: https://docs.nvidia.com/deeplearning/tensorrt-rtx/latest/inference-library/dynamic-shapes-advanced.html, "Formal
Inference Rules": S is a shape tensor, E an execution tensor, t either, the same one wherever it stands. Which layer an
operator becomes is what NVIDIA's parser does; tests/importing/test_shape_tensors.py holds the outcome against
ITensor::isShapeTensor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class LayerSignature:
    """What an operator's layer takes.

    Attributes:
        layer: the layer, with its signature.
        shapes: the positions of inputs that are shape tensors, each with what it is taken as.
        same: whether the other inputs and the outputs are of one class (t).
    """

    layer: str
    shapes: Mapping[int, str]
    same: bool


def _same(layer: str, operators: str) -> dict[str, LayerSignature]:
    return {name: LayerSignature(layer, {}, True) for name in operators.split()}


SIGNATURES: Mapping[str, LayerSignature] = {
    **_same("IConcatenationLayer: t x t x ... -> t", "Concat"),
    **_same("ICumulativeLayer: t x t -> t", "CumSum"),
    **_same("IIfConditionalOutputLayer: t -> t", "If"),
    **_same("IConstantLayer: -> t", "Constant"),
    **_same("IActivationLayer: t -> t", "Relu Sigmoid Tanh LeakyRelu Elu Selu Softplus Softsign Clip HardSigmoid"),
    **_same(
        "IElementWiseLayer: t x t -> t",
        "Add Sub Mul Div Pow Mod Max Min Sum Mean And Or Xor Equal Greater GreaterOrEqual Less LessOrEqual",
    ),
    **_same("IGatherLayer: t x t -> t", "Gather GatherElements GatherND"),
    **_same("IIdentityLayer: t -> t", "Identity Cast CastLike"),
    **_same(
        "IReduceLayer: t -> t",
        "ReduceSum ReduceProd ReduceMax ReduceMin ReduceMean ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSum",
    ),
    **_same("ISelectLayer: t x t x t -> t", "Where"),
    **_same("IShuffleLayer (one input): t -> t", "Transpose Flatten Squeeze Unsqueeze"),
    **_same(
        "IUnaryLayer: t -> t",
        "Abs Acos Asin Atan Ceil Cos Cosh Erf Exp Floor IsInf IsNaN Log Neg Not Reciprocal Round Sign Sin Sinh Sqrt "
        "Tan",
    ),
    "ConstantOfShape": LayerSignature("IFillLayer: S -> t", {0: "its output's dimensions"}, False),
    "Expand": LayerSignature("ISliceLayer (four inputs): t x S x S x S -> t", {1: "its output's dimensions"}, True),
    "Loop": LayerSignature("ITripLimitLayer (kCOUNT): S ->", {0: "its number of trips"}, False),
    "Pad": LayerSignature("ISliceLayer (four inputs): t x S x S x S -> t", {1: "the pads"}, True),
    "Range": LayerSignature("IFillLayer: S x t x t -> t", {0: "its length", 1: "its length", 2: "its length"}, False),
    "Reshape": LayerSignature("IShuffleLayer (two inputs): t x S -> t", {1: "its output's dimensions"}, True),
    "Resize": LayerSignature("IResizeLayer (two inputs): E x S -> E", {3: "its output's dimensions"}, False),
    "Slice": LayerSignature(
        "ISliceLayer (four inputs): t x S x S x S -> t",
        {1: "the start", 2: "the end", 3: "the axes", 4: "the stride"},
        True,
    ),
    "Split": LayerSignature("ISliceLayer (four inputs): t x S x S x S -> t", {1: "the parts' sizes"}, True),
    "Tile": LayerSignature("ISliceLayer (four inputs): t x S x S x S -> t", {1: "the repeats"}, True),
    "TopK": LayerSignature("ITopKLayer (two inputs): E x S -> E", {1: "k"}, False),
}
OTHER = "all other layers: E x ... -> E x ..."
