"""The operators that TensorRT's ONNX parser serves itself: it asks a plugin of such a name only where the node has a
plugin's attributes.

It does if the node has the attribute `plugin_namespace`, be it empty, and there is a creator of that name, version and
namespace; the node's domain plays no part (tried with TensorRT-RTX 1.7.1.116).

Recorded: what `OnnxParser.supports_operator` of TensorRT-RTX 1.7.1.116 answers for every operator of onnx 1.23, and of
every one that onnx-tensorrt 10.1 names (https://github.com/onnx/onnx-tensorrt, onnxOpImporters.cpp); and of those the
two that the full TensorRT has and RTX hasn't, DeformConv and TRT_PluginV2.
"""

from __future__ import annotations

OPERATORS = frozenset(
    """
    Abs Acos Acosh Add And ArgMax ArgMin Asin Asinh Atan Atanh Attention AveragePool BatchNormalization
    BlackmanWindow Cast CastLike CausalConvWithState Ceil Celu Clip Concat Constant ConstantOfShape Conv
    ConvTranspose Cos Cosh CumSum DeformConv DepthToSpace DequantizeLinear Div Dropout Einsum Elu Equal Erf Exp
    Expand EyeLike Flatten Floor GRU Gather GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalLpPool
    GlobalMaxPool Greater GreaterOrEqual GridSample GroupNormalization HammingWindow HannWindow HardSigmoid
    HardSwish Hardmax Identity If ImageScaler InstanceNormalization IsInf IsNaN LRN LSTM LayerNormalization
    LeakyRelu Less LessOrEqual LinearAttention Log LogSoftmax Loop LpNormalization LpPool MatMul Max MaxPool Mean
    MeanVarianceNormalization Min Mish Mod Mul Neg NonMaxSuppression NonZero Not OneHot Or PRelu Pad
    ParametricSoftplus Pow QuantizeLinear RMSNormalization RNN RandomNormal RandomNormalLike RandomUniform
    RandomUniformLike Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean
    ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape Resize ReverseSequence RoiAlign RotaryEmbedding
    Round STFT ScaledTanh Scan Scatter ScatterElements ScatterND Selu Shape Shrink Sigmoid Sign Sin Sinh Size
    Slice Softmax Softplus Softsign SpaceToDepth Split Sqrt Squeeze Sub Sum Swish TRT_AveragePool TRT_Conv
    TRT_Deconv TRT_FP8DequantizeLinear TRT_FP8QuantizeLinear TRT_FloorDiv TRT_Gather TRT_INT4DequantizeLinear
    TRT_INT4QuantizeLinear TRT_MatMul TRT_MaxAverageBlendPool TRT_MaxPool TRT_PluginV2 TRT_RaggedSoftmax
    TRT_Resize TRT_Scale TRT_Shuffle TRT_Slice TRT_TopK_Min Tan Tanh TensorScatter ThresholdedRelu Tile TopK
    Transpose Trilu Unsqueeze Upsample Where Xor
    """.split()  # noqa: SIM905 (180 quoted names would be 180 lines)
)

NOT_IN_RTX = frozenset({"DeformConv", "TRT_PluginV2"})
"""Those that the full TensorRT alone has."""

PLUGINS_OF_RTX = {
    "NonZero": ("NonZero", "1"),
    "RoiAlign": ("ROIAlign_TRT", "1"),
    "LinearAttention": ("LinearAttention", "1"),
    "CausalConvWithState": ("CausalConvWithState", "1"),
}
"""Operators of which the parser of TensorRT-RTX 1.7.1 makes a plugin (name, version) that its registry hasn't."""


def advice(name: str) -> str:
    """The warning on a plugin's name that is one of them; empty for any other."""
    if name not in OPERATORS:
        return ""
    return (
        f"TensorRT's ONNX parser has an operator {name} of its own, and asks no plugin for a node of that name, "
        f"whatever its domain, unless it has the attribute plugin_namespace. Call the plugin {name}Plugin."
    )
