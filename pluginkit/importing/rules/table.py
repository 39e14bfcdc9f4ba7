"""The rules of `pluginkit import`: what each is on, its level, its source. The other modules of this folder look for
what breaks them. docs/inspect-and-import.md has this table for readers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pluginkit.demands import NAMES

Level = Literal["error", "warning"]
_REFUSED = "TensorRT-RTX 1.7.1 refuses it"
_SILENT = "TensorRT-RTX 1.7.1 does so silently"


@dataclass(frozen=True)
class ImportRule:
    """A rule.

    Attributes:
        description: what is wrong with the model, in Markdown.
        levels: the levels at which it is reported.
        source: the document or the experiment that it follows from.
        unfit: whether after an error no plugin can run the node.
        builder_decides: whether an error is a warning where NVIDIA's builder takes the model nevertheless.
        foresees: whether an error says that NVIDIA's parser or builder will refuse the model.
    """

    description: str
    levels: tuple[Level, ...]
    source: str
    unfit: bool = False
    builder_decides: bool = False
    foresees: bool = True


RULES: dict[str, ImportRule] = {
    "M1": ImportRule(
        "`plugin_version` or `plugin_namespace` is not a string",
        ("error",),
        _REFUSED,
    ),
    "M2": ImportRule(
        "the parser's own operator goes before the plugin or function of that name: an error where a "
        "given library has such a plugin, unless other nodes of that name reach it; it looks at no "
        "domain, only at `plugin_namespace`; plugin and function have one name",
        ("error", "warning"),
        _SILENT,
        foresees=False,
    ),
    "M3": ImportRule(
        "an attribute is not a field of the creator, and is dropped silently",
        ("warning",),
        _SILENT,
        foresees=False,
    ),
    "M4": ImportRule(
        "an integer does not fit 32 bits, and is cut silently",
        ("error",),
        _SILENT,
        foresees=False,
    ),
    "M5": ImportRule(
        "`tensorrt_plugin_shape_input_indices` out of range, twice the same, or for a V2 creator",
        ("error",),
        _REFUSED,
        unfit=True,
    ),
    "M6": ImportRule(
        "an int32 or int64 input, or dynamic dimensions, where the V2 base has none",
        ("warning", "error"),
        "NvInfer.h, INetworkDefinition::addPluginV2; IPluginV2 and IPluginV2Ext have no dynamic shapes; "
        "changelog of onnx-tensorrt (9.0: INT64 is no longer cast)",
    ),
    "M7": ImportRule(
        "a type that TensorRT does not document to cross an If's boundary; branches of different types or"
        " ranks, or of different shapes at the profile's min, opt or max; "
        "branches that differ so where one is always taken",
        ("warning", "error"),
        "TensorRT's documentation of the operator If (10.6); NvInfer.h on IIfConditional for ranks; "
        "NVIDIA/TensorRT#3034 (8.6 refuses branches of two ranks on a condition that is always true)",
        builder_decides=True,
    ),
    "M8": ImportRule(
        "a Loop's state that changes its shape; scan outputs without a trip count; a condition that is not given",
        ("error",),
        "TensorRT's recurrences have one shape, its outputs a length; NVIDIA's parser wants the condition",
    ),
    "M9": ImportRule(
        "pooling, deconvolution, PReLU, padding or resize inside a loop or branch",
        ("warning",),
        "docs/loops-and-conditionals.md: NVIDIA's compiler in TensorRT-Incubator, after TensorRT's table",
    ),
    "M10": ImportRule(
        "of two nodes in an If's branches one's name is the beginning of the other's",
        ("warning",),
        "NVIDIA's parser finds layers by the beginning of their names",
    ),
    "M11": ImportRule(
        "nothing implements the node: missing library, another version or namespace, a name that is nearly "
        "right; TensorRT-RTX's parser makes a plugin of it that TensorRT-RTX does not have (`NonZero`, "
        "`RoiAlign`)",
        ("error",),
        _REFUSED,
    ),
    "M12": ImportRule(
        "an attribute comes as another type than the field's (INT for a kFLOAT32); a length that "
        "`pluginkit.toml` doesn't allow; another length than the creator lists",
        ("error", "warning"),
        _REFUSED,
    ),
    "M13": ImportRule(
        "no opset, one below 7 (an error where a node broadcasts), or one newer than the onnx package here",
        ("error", "warning"),
        "NVIDIA's parser; the onnx package",
        builder_decides=True,
    ),
    "M14": ImportRule(
        "onnx's checker refuses the model: unknown operator in ONNX's own domain, a domain that is not imported, ...",
        ("warning",),
        "onnx's checker",
    ),
    "M15": ImportRule(
        "the node has other inputs or outputs than `pluginkit.toml` says, lacks a field, or has one that "
        "stands only in the creator",
        ("error", "warning"),
        "the plugin's `pluginkit.toml`; TensorRT-RTX 1.7.1 refuses what is an error",
        unfit=True,
    ),
    "M16": ImportRule(
        "an int8 input whose channel dimension (axis 1) is dynamic",
        ("warning",),
        "NVIDIA's documents on INT8 (`interpreter/preflight.py`)",
    ),
    "M17": ImportRule(
        "an input has a type, or the inputs have types together, that `pluginkit.toml` does not list; "
        "float64, of which the parser makes float32; an output that the model declares with another type",
        ("error", "warning"),
        "the plugin's `pluginkit.toml`; TensorRT-RTX 1.7.1 refuses what is an error",
        unfit=True,
        builder_decides=True,
    ),
    "M18": ImportRule(
        "an input has another rank than in `pluginkit.toml`, another number as a dimension, or one symbol"
        " is two numbers; an output that the model declares with another rank or size",
        ("error", "warning"),
        "the plugin's `pluginkit.toml`",
        unfit=True,
        builder_decides=True,
    ),
    "M19": ImportRule(
        "the graph is none that can be computed: a cycle of nodes or of functions, a tensor that two nodes make or "
        "that nothing makes; two inputs, or two nodes, have one name",
        ("error", "warning"),
        "TensorRT-RTX 1.7.1 refuses what is an error; onnxruntime refuses nodes of one name",
        unfit=True,
    ),
    "M20": ImportRule(
        "a type that TensorRT does not have (uint32, int16, strings, some float8, ...); uint8 in other operators than "
        "Cast and Equal; float8 and 4 bits at the network's ends; float64, which becomes float32",
        ("error", "warning"),
        "TensorRT-RTX 1.7.1 refuses what is an error",
        builder_decides=True,
    ),
    "M21": ImportRule(
        "no constant: axes of Squeeze, Unsqueeze, CumSum or a reduction, scales of Resize or Upsample, a "
        "quantization's zero point, the depth of OneHot, STFT's frame_step, Dropout's training_mode; an axis of "
        "CumSum that is an input, unless the profile has one value of it",
        ("error", "warning"),
        _REFUSED,
        builder_decides=True,
    ),
    "M22": ImportRule(
        "a form of an operator that the parser or builder does not have: windows of more than three "
        "dimensions, pooling with dilations, a LpPool of another p than 1 and 2, a Resize that blurs, crops "
        "or keeps the aspect ratio, more than one output of Attention, MaxPool or a normalization, an "
        "Attention with softcap, with mask and causal, of keys and values of two sizes, or without a kernel "
        "for its type, heads or single query, Dropout in training mode, Mod of floats without fmod, Scatter "
        "with a reduction, Range of float16, a k of TopK above 3840, quantization of int32 or uint8 or with a"
        " zero point, Clip of int8, NonMaxSuppression",
        ("error",),
        _REFUSED,
        builder_decides=True,
    ),
    "M23": ImportRule(
        "Squeeze without axes where a dimension is dynamic: an error where the profile has a size of 1 there",
        ("error", "warning"),
        _REFUSED,
        builder_decides=True,
    ),
    "M24": ImportRule(
        "a Loop, LSTM, GRU or RNN in an If on a condition of run time, whose last-made output (of a layer, that of all "
        "steps; of a Loop, any scan output or the last state) nothing uses",
        ("error",),
        "TensorRT-RTX 1.7.1 refuses it (refusal `loop-in-if`)",
        builder_decides=True,
    ),
    "M25": ImportRule(
        "a shape tensor that is a float or bool input of the network, has more than 64 elements, or is computed on the "
        "GPU, so that each run copies it to the CPU",
        ("error", "warning"),
        "NVIDIA's document on dynamic shapes (Execution Tensors vs Shape Tensors, Shape Tensor I/O); TensorRT-RTX "
        "1.7.1 refuses what is an error",
        builder_decides=True,
    ),
    "M26": ImportRule(
        "Conv or ConvTranspose of an input whose channels are dynamic",
        ("warning",),
        "NVIDIA's document on dynamic shapes (Restrictions for Dynamic Shapes)",
    ),
    "M27": ImportRule(
        "a loop that carries 8 bits or less, or that collects an output with several dynamic dimensions: the memory at "
        "the profile's max",
        ("warning",),
        "pluginkit's host takes FP32 and FP16 in loops (`interpreter/scan.py`); memory is that of the output's max",
    ),
    "M28": ImportRule(
        "in a loop, a size (of a Slice, Range, Expand, Reshape, ...) that follows from its states or its trip number; "
        "or from values of the network's inputs, of a tensor that the loop carries",
        ("error",),
        "TensorRT-RTX 1.7.1 refuses it (refusal `size-in-loop`), or its process ends",
        builder_decides=True,
    ),
    "M29": ImportRule(
        "a sparse or short constant; an If, Loop or Scan without its body; a dimension beyond 2^31 - 1; an input that "
        "is an output too (NVIDIA's parser gives it another name)",
        ("error", "warning"),
        "TensorRT-RTX 1.7.1: it refuses the former, and builds another network of a dimension too large",
        builder_decides=True,
    ),
    "M30": ImportRule(
        "a form that not all do alike: a Scatter whose constant indices name an element twice; a GridSample of rank 5; "
        "a recurrent layer of layout 1",
        ("error", "warning"),
        "ONNX's definition of ScatterND and ScatterElements; IGridSampleLayer in NvInfer.h of TensorRT 10, and "
        "NVIDIA/TensorRT#4618 (10.6 refuses it)",
        foresees=False,
    ),
    "B10": ImportRule(
        "two libraries have a plugin of the same name, version and namespace",
        ("error",),
        "a registry has one creator of an identity",
    ),
}
"""By id, which `Problem.rule` has. M is of models; B10 is a demand on libraries, as `pluginkit inspect` has others."""

UNFIT = frozenset(name for name, rule in RULES.items() if rule.unfit)
FORESEES = frozenset(name for name, rule in RULES.items() if rule.foresees)
BUILDER_DECIDES = frozenset(name for name, rule in RULES.items() if rule.builder_decides)


def table() -> list[str]:
    """The page's table, a line a row."""
    rows = [
        f"| {name} | {NAMES[name]} | {one.description} | {', '.join(one.levels)} | {one.source} |"
        for name, one in RULES.items()
    ]
    return ["| rule | name | what is wrong | level | source |", "| --- | --- | --- | --- | --- |", *rows]
