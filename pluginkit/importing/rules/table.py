"""The rules of `pluginkit import`: what each is on, its level, its source. The other modules of this folder look for
what breaks them. docs/inspect-and-import.md has this table for readers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["error", "warning"]
_REFUSED = "TensorRT-RTX 1.7.1 refuses it"
_SILENT = "TensorRT-RTX 1.7.1 does so without a word"


@dataclass(frozen=True)
class ImportRule:
    """A rule.

    Attributes:
        description: what is wrong with the model, in Markdown.
        levels: the levels at which it is reported.
        source: the document or the experiment that it follows from.
        unfit: whether after an error no plugin can run the node.
        builder_decides: whether an error is a warning where NVIDIA's builder takes the model all the same.
    """

    description: str
    levels: tuple[Level, ...]
    source: str
    unfit: bool = False
    builder_decides: bool = False


RULES: dict[str, ImportRule] = {
    "M1": ImportRule(
        "`plugin_version` or `plugin_namespace` is no string",
        ("error",),
        _REFUSED,
    ),
    "M2": ImportRule(
        "the parser's own operator goes before the plugin or function of that name: an error where a "
        "given library has such a plugin, unless other nodes of that name reach it; it looks at no "
        "domain, only at `plugin_namespace`; plugin and function have one name",
        ("error", "warning"),
        _SILENT,
    ),
    "M3": ImportRule(
        "an attribute is no field of the creator, and is dropped without a word",
        ("warning",),
        _SILENT,
    ),
    "M4": ImportRule(
        "an integer does not fit 32 bits, and is cut without a word",
        ("error",),
        _SILENT,
    ),
    "M5": ImportRule(
        "`tensorrt_plugin_shape_input_indices` out of range, twice the same, or for a V2 creator",
        ("error",),
        _REFUSED,
        unfit=True,
    ),
    "M6": ImportRule(
        "an int32 input, or open dimensions, where the V2 base has none",
        ("warning", "error"),
        "NvInfer.h, INetworkDefinition::addPluginV2; IPluginV2 and IPluginV2Ext have no dynamic shapes",
    ),
    "M7": ImportRule(
        "a type that TensorRT does not document to cross an If's boundary; branches of different types or"
        " ranks, or of different shapes at the profile's min, opt or max",
        ("warning", "error"),
        "TensorRT's documentation of the operator If (10.6); NvInfer.h on IIfConditional for ranks",
    ),
    "M8": ImportRule(
        "a Loop's state that changes its shape; scan outputs without a trip count; a condition that nobody gives",
        ("error",),
        "TensorRT's recurrences have one shape, its outputs a length; NVIDIA's parser wants the condition",
    ),
    "M9": ImportRule(
        "pooling, deconvolution, PReLU, padding or resize inside of a loop or branch",
        ("warning",),
        "NVIDIA's compiler in TensorRT-Incubator (TensorRT.cpp)",
    ),
    "M10": ImportRule(
        "of two nodes in an If's branches one's name is the beginning of the other's",
        ("warning",),
        "NVIDIA's parser finds layers by the beginning of their names",
    ),
    "M11": ImportRule(
        "nobody serves the node: missing library, another version or namespace, a name that is nearly "
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
        "no opset, one below 7, or one newer than the onnx package here",
        ("warning",),
        "NVIDIA's parser; the onnx package",
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
        "an int8 input whose channel dimension (axis 1) is open",
        ("warning",),
        "NVIDIA's documents on INT8 (`interpreter/preflight.py`)",
    ),
    "M17": ImportRule(
        "an input has a type, or the inputs have types together, that `pluginkit.toml` does not list; "
        "float64, of which the parser makes float32",
        ("error", "warning"),
        "the plugin's `pluginkit.toml`; TensorRT-RTX 1.7.1 refuses what is an error",
        unfit=True,
        builder_decides=True,
    ),
    "M18": ImportRule(
        "an input has another rank than in `pluginkit.toml`, another number as a dimension, or one symbol"
        " is two numbers",
        ("error",),
        "the plugin's `pluginkit.toml`",
        unfit=True,
        builder_decides=True,
    ),
    "M19": ImportRule(
        "the graph is none that can be computed: a cycle, a tensor that two nodes make or that nothing makes; two "
        "nodes have one name",
        ("error", "warning"),
        "TensorRT-RTX 1.7.1 refuses what is an error; onnxruntime refuses nodes of one name",
        unfit=True,
    ),
    "M20": ImportRule(
        "a type that TensorRT does not have (uint32, int16, strings, some float8, ...); float64, which becomes float32",
        ("error", "warning"),
        "TensorRT-RTX 1.7.1 refuses what is an error",
        builder_decides=True,
    ),
    "M21": ImportRule(
        "axes of Squeeze or a reduction, scales of Resize or Upsample, or a quantization's zero point that are no "
        "constant",
        ("error",),
        _REFUSED,
        builder_decides=True,
    ),
    "M22": ImportRule(
        "a form of an operator that the parser does not have: pooling with dilations, Resize with antialias, more "
        "than one output of Attention or LayerNormalization",
        ("error",),
        _REFUSED,
        builder_decides=True,
    ),
    "B10": ImportRule(
        "two libraries have a plugin of the same name, version and namespace",
        ("error",),
        "a registry has one creator of an identity",
    ),
}
"""By id, which `Problem.rule` has. M is of models; B10 is a demand on libraries, as `pluginkit inspect` has others."""

UNFIT = frozenset(name for name, rule in RULES.items() if rule.unfit)
BUILDER_DECIDES = frozenset(name for name, rule in RULES.items() if rule.builder_decides)


def table() -> list[str]:
    """The page's table, a line a row."""
    rows = [f"| {name} | {one.description} | {', '.join(one.levels)} | {one.source} |" for name, one in RULES.items()]
    return ["| rule | what is wrong | level | source |", "| --- | --- | --- | --- |", *rows]
