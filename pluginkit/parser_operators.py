"""The operators that TensorRT's ONNX parser implements itself: it asks a plugin of such a name only where the node has
a plugin's attributes.

It does if the node has the attribute `plugin_namespace`, be it empty, and there is a creator of that name, version and
namespace; the node's domain plays no part (tried with TensorRT-RTX 1.7.1.116).

Recorded: what `OnnxParser.supports_operator` of TensorRT-RTX 1.7.1.116 answers for every operator of onnx 1.23 and of
onnxruntime 1.32, and for every word in its parser's library that could be one; and of those that onnx-tensorrt 10.1
names (https://github.com/onnx/onnx-tensorrt, onnxOpImporters.cpp) the two that the full TensorRT has and RTX hasn't,
DeformConv and TRT_PluginV2.
"""

from __future__ import annotations

from collections.abc import Iterable

OPERATORS = frozenset(
    """
    Abs Acos Acosh Add And ArgMax ArgMin Asin Asinh Atan Atanh Attention AveragePool BatchNormalization
    BlackmanWindow Cast CastLike CausalConvWithState Ceil Celu Clip Concat Constant ConstantOfShape Conv
    ConvTranspose Cos Cosh CumSum DeformConv DepthToSpace DequantizeLinear DistCollective Div Dropout Einsum
    Elu Equal Erf Exp Expand EyeLike Flatten Floor GRU Gather GatherElements GatherND Gelu Gemm
    GlobalAveragePool GlobalLpPool GlobalMaxPool Greater GreaterOrEqual GridSample GroupNormalization
    GroupQueryAttention HammingWindow HannWindow HardSigmoid HardSwish Hardmax Identity If ImageScaler
    InstanceNormalization IsInf IsNaN LRN LSTM LayerNormalization LeakyRelu Less LessOrEqual LinearAttention
    Log LogSoftmax Loop LpNormalization LpPool MatMul MatMulNBits Max MaxPool Mean MeanVarianceNormalization
    Min Mish Mod Mul MultiHeadAttention Neg NonMaxSuppression NonZero Not OneHot Or PRelu Pad
    ParametricSoftplus Pow QMoE QuantizeLinear RMSNormalization RNN RandomNormal RandomNormalLike
    RandomUniform RandomUniformLike Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp
    ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape Resize ReverseSequence
    RoiAlign RotaryEmbedding Round STFT ScaledTanh Scan Scatter ScatterElements ScatterND Selu Shape Shrink
    Sigmoid Sign SimplifiedLayerNormalization Sin Sinh Size SkipSimplifiedLayerNormalization Slice Softmax
    Softplus Softsign SpaceToDepth Split Sqrt Squeeze Sub Sum Swish TRT_Attention TRT_AveragePool
    TRT_BlockDequantize TRT_BlockQuantize TRT_Conv TRT_Deconv TRT_DynamicQuantize TRT_FP4DynamicQuantize
    TRT_FP8DequantizeLinear TRT_FP8QuantizeLinear TRT_FloorDiv TRT_Gather TRT_INT4DequantizeLinear
    TRT_INT4QuantizeLinear TRT_KVCacheUpdate TRT_MXFP8DequantizeLinear TRT_MXFP8DynamicQuantize
    TRT_MXFP8QuantizeLinear TRT_MatMul TRT_MaxAverageBlendPool TRT_MaxPool TRT_MoE TRT_PluginV2
    TRT_QuantizedAttention TRT_RaggedSoftmax TRT_Resize TRT_Scale TRT_Shuffle TRT_Slice TRT_TopK_Min Tan
    Tanh TensorScatter ThresholdedRelu Tile TopK Transpose Trilu Unsqueeze Upsample Where Xor
    """.split()  # noqa: SIM905 (200 quoted names would be 200 lines)
)

NOT_IN_RTX = frozenset({"DeformConv", "TRT_PluginV2"})
"""Those that the full TensorRT alone has."""
OF_RTX = OPERATORS - NOT_IN_RTX
"""What the parser of TensorRT-RTX 1.7.1.116 says that it has."""

PLUGINS_OF_RTX = {
    "NonZero": ("NonZero", "1"),
    "RoiAlign": ("ROIAlign_TRT", "1"),
    "LinearAttention": ("LinearAttention", "1"),
    "CausalConvWithState": ("CausalConvWithState", "1"),
    "MatMulNBits": ("MatMulNBits", "1"),
    "GroupQueryAttention": ("GroupQueryAttention", "1"),
    "QMoE": ("QuantizedMixtureOfExperts", "1"),
}
"""Operators of which the parser of TensorRT-RTX 1.7.1 makes a plugin (name, version) that its registry hasn't."""
IN_WHEEL = frozenset(name for name in PLUGINS_OF_RTX if name != "RoiAlign")
"""Those whose plugin libtensorrt_plugins.so of WHEEL has (asked of its initLibNvTensorRTRtxPlugins)."""
WHEEL = "onnxruntime-ep-nv-tensorrt-rtx-cu12 0.5.0"

RTX = "TensorRT-RTX 1.7.1"
_LISTED = (
    (
        "8.5",
        """
        Abs Acos Acosh Add And ArgMax ArgMin Asin Asinh Atan Atanh AveragePool BatchNormalization Cast Ceil Celu Clip
        Concat Constant ConstantOfShape Conv ConvTranspose Cos Cosh CumSum DepthToSpace DequantizeLinear Div Dropout
        Einsum Elu Equal Erf Exp Expand EyeLike Flatten Floor GRU Gather GatherElements GatherND Gemm
        GlobalAveragePool GlobalLpPool GlobalMaxPool Greater GreaterOrEqual GridSample HardSigmoid HardSwish Identity
        If ImageScaler InstanceNormalization IsNaN LRN LSTM LeakyRelu Less LessOrEqual Log LogSoftmax Loop
        LpNormalization LpPool MatMul Max MaxPool Mean MeanVarianceNormalization Min Mod Mul Neg NonMaxSuppression
        NonZero Not OneHot Or PRelu Pad ParametricSoftplus Pow QuantizeLinear RNN RandomNormal RandomNormalLike
        RandomUniform RandomUniformLike Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax
        ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape Resize ReverseSequence RoiAlign Round
        ScaledTanh Scan Scatter ScatterElements ScatterND Selu Shape Shrink Sigmoid Sign Sin Sinh Size Slice Softmax
        Softplus Softsign SpaceToDepth Split Sqrt Squeeze Sub Sum Tan Tanh ThresholdedRelu Tile TopK Transpose Trilu
        Unsqueeze Upsample Where Xor
        """,
    ),
    ("8.6", "GroupNormalization IsInf LayerNormalization"),
    ("10.0", "CastLike Gelu Hardmax Mish"),
    ("10.1", "DeformConv"),
    ("10.14", "Attention"),
    ("10.15", "BlackmanWindow HammingWindow HannWindow RMSNormalization RotaryEmbedding STFT TensorScatter"),
    ("11.0", "Swish"),
    ("11.2", "DFT"),
)
SINCE = {name: version for version, names in _LISTED for name in names.split()}
"""The first of these TensorRT whose parser is documented to have an operator of ONNX.

By docs/operators.md of onnx-tensorrt at 8.5-GA, 8.6-GA, 10.0-GA, 10.1-GA and of TensorRT 10.15, and of operators that
came between two of these by the release notes of TensorRT OSS and its parser (10.1, 10.14, 11.0, 11.2). Operators of
"8.5" may be older; of "10.15" they came after 10.1.
"""


def parsers(name: str) -> str:
    """Which parsers have an operator of ONNX, for the user; empty if no parser here is known to."""
    since = f"TensorRT {SINCE[name]} and later" if name in SINCE else ""
    return ", ".join(filter(None, (since, RTX if name in OF_RTX - set(PLUGINS_OF_RTX) else "")))


def not_in_all(names: Iterable[str]) -> dict[str, str]:
    """Of these operators those that a parser from TensorRT 8.5 on lacks, each with those that have it."""
    every = parsers("Relu")
    return {name: found for name in names if (found := parsers(name)) and found != every}


def advice(name: str) -> str:
    """The warning on a plugin's name that is one of them; empty for any other."""
    if name not in OPERATORS:
        return ""
    return (
        f"TensorRT's ONNX parser has an operator {name} of its own, and asks no plugin for a node of that name, "
        f"whatever its domain, unless it has the attribute plugin_namespace. Call the plugin {name}Plugin."
    )
