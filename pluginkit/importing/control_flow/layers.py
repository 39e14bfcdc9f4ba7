"""Which layers TensorRT allows in loops and conditionals; `docs/loops-and-conditionals.md` has the table of it.

`python -c 'from pluginkit.importing.control_flow import layers; layers.write()'` in the checkout writes it there again.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

BEGIN, END = "<!-- table -->", "<!-- end of the table -->"


Inside = Literal["yes", "some", "no", "differs"]


@dataclass(frozen=True)
class FlowLayer:
    """A layer of TensorRT.

    Attributes:
        name: its type.
        operators: the ONNX operators that NVIDIA's parser makes it of, mostly.
        inside: whether it may stand in a loop or conditional; `some`: some forms of it; `differs`: that depends on the
            version, as the page says below the table.
        what: what it does, for messages.
    """

    name: str
    operators: tuple[str, ...]
    inside: Inside = "yes"
    what: str = ""


def _layer(name: str, operators: str, inside: Inside = "yes", what: str = "") -> FlowLayer:
    return FlowLayer(name, tuple(operators.split()), inside, what)


LAYERS = (
    _layer("Activation", "Relu LeakyRelu Elu Selu Sigmoid Tanh Clip Softplus Softsign HardSigmoid", "some"),
    _layer("Cast", "Cast"),
    _layer("Concatenation", "Concat"),
    _layer("Constant", "Constant"),
    _layer("Convolution", "Conv", "some"),
    _layer("Cumulative", "CumSum"),
    _layer("Deconvolution", "ConvTranspose", "no", "deconvolution"),
    _layer("Einsum", "Einsum"),
    _layer("ElementWise", "Add Sub Mul Div Max Min Pow Equal Greater Less And Or"),
    _layer("Fill", "ConstantOfShape Range RandomUniformLike", "some"),
    _layer("Gather", "Gather GatherElements GatherND"),
    _layer("GridSample", "GridSample"),
    _layer("Identity", "Identity"),
    _layer("Loop, IfConditional", "Loop If Scan LSTM GRU RNN"),
    _layer("LRN", "LRN"),
    _layer("MatrixMultiply", "MatMul Gemm"),
    _layer("Normalization", "LayerNormalization InstanceNormalization GroupNormalization"),
    _layer("OneHot", "OneHot"),
    _layer("Padding", "Pad", "no", "padding"),
    _layer("ParametricReLU", "PRelu", "no", "parametric ReLU"),
    _layer("Plugin", "", "differs"),
    _layer("Pooling", "MaxPool AveragePool GlobalMaxPool GlobalAveragePool LpPool", "no", "pooling"),
    _layer("Quantize, Dequantize", "QuantizeLinear DequantizeLinear"),
    _layer("RaggedSoftMax", "", "no", "ragged softmax"),
    _layer("Reduce", "ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd"),
    _layer("Resize", "Resize Upsample", "no", "resize"),
    _layer("ReverseSequence", "ReverseSequence"),
    _layer("Scale", "BatchNormalization"),
    _layer("Scatter", "ScatterElements ScatterND"),
    _layer("Select", "Where"),
    _layer("Shape", "Shape Size"),
    _layer("Shuffle", "Reshape Transpose Squeeze Unsqueeze Flatten"),
    _layer("Slice", "Slice Split"),
    _layer("SoftMax", "Softmax LogSoftmax"),
    _layer("TopK", "TopK ArgMax ArgMin"),
    _layer("Unary", "Exp Log Sqrt Abs Neg Floor Ceil Erf Not", "some"),
)
"""By the list in NVIDIA's compiler (TensorRT-Incubator, TensorRT.cpp, isOperationSupportedInControlFlowBranchRegion),
which follows NVIDIA's table and says that it lacks checks of forms of convolution, activation, fill and unary layers.
"""

NOT_INSIDE = {operator: one.what for one in LAYERS if one.inside == "no" for operator in one.operators}
"""Operators whose layers may not stand in a loop or conditional, and what they do."""


def table() -> list[str]:
    """The page's table, a line a row."""
    words: dict[Inside, str] = {
        "yes": "yes", "some": "some forms", "no": "no (M9)", "differs": "not in loops of 8.5 (below)"
    }  # fmt: skip
    rows = [
        f"| {one.name} | {', '.join(f'`{name}`' for name in one.operators) or '-'} | {words[one.inside]} |"
        for one in LAYERS
    ]
    return ["| layer | ONNX operators | in loops and conditionals |", "| --- | --- | --- |", *rows]


def written(page: str) -> str:
    """A page with the table between its marks."""
    before, _, rest = page.partition(BEGIN)
    return "\n".join([before + BEGIN, *table(), END + rest.partition(END)[2]])


def write(page: Path = Path("docs/loops-and-conditionals.md")) -> None:
    """Write the table into the page."""
    page.write_text(written(page.read_text(encoding="utf-8")), encoding="utf-8")
