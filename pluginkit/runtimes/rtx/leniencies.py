"""Where NVIDIA's builder accepts what its documents forbid, or crashes, and what pluginkit does instead.

A leniency is never copied: pluginkit's host refuses, so that a plugin doesn't fail in the next version or in the full
TensorRT. Comparisons of the two leave these rows out, and only these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pluginkit.network.api_model import PROBE

TRIED = "tried with tensorrt-rtx 1.7.1.116"
IF = "https://docs.nvidia.com/deeplearning/tensorrt/archives/tensorrt-1060/operators/docs/If.html"

GUIDE = "https://docs.nvidia.com/deeplearning/tensorrt/latest/inference-library"


@dataclass(frozen=True)
class Leniency:
    """One row.

    Attributes:
        id: what tests and reports call it.
        kind: whether NVIDIA accepts it, or takes the process down.
        nvidia: what NVIDIA does.
        instead: what pluginkit does.
        source: what forbids it, and where NVIDIA's behaviour was seen.
    """

    id: str
    kind: Literal["accepts", "crashes"]
    nvidia: str
    instead: str
    source: str


LENIENCIES: tuple[Leniency, ...] = (
    Leniency(
        "plugin-name",
        "accepts",
        "builds a plugin whose name is not its creator's",
        "the host refuses it at getPluginType; pluginkit test fails on what the probe saw",
        f"NvInferRuntime.h on IPluginV2::getPluginType: the plugin's name is to be its creator's; {TRIED}",
    ),
    Leniency(
        "plugin-version",
        "accepts",
        "builds a plugin whose version is not its creator's",
        "the host refuses it at getPluginVersion; pluginkit test fails on what the probe saw",
        f"NvInferRuntime.h on IPluginV2::getPluginVersion: the version is to be its creator's; {TRIED}",
    ),
    Leniency(
        "int8-across-if",
        "accepts",
        "builds an If with INT8 tensors as a branch's outputs",
        "the host refuses the network",
        f"{IF}: what crosses the boundary is bool, int32, float16, float32 or bfloat16; {TRIED}",
    ),
    Leniency(
        "null-fields",
        "accepts",
        "builds a plugin whose getFieldsToSerialize answers null: its engine can't be deserialized",
        "the host refuses a state of more than 2 GiB, of which the adapter makes null; pluginkit test fails on what "
        "the probe saw",
        f"NvInferRuntime.h on IPluginV3OneRuntime::getFieldsToSerialize: what createPlugin gets at run time; {TRIED}",
    ),
    Leniency(
        "branch-shapes",
        "accepts",
        "builds an If whose branches give the shapes [n + 1, 3] and [n, 3]; where another dimension is dynamic too, an "
        "assertion of its backend fails that does not mention the If",
        "the host refuses the network, at the first of each profile's min, opt and max where they differ",
        f"{IF}: the branches' outputs have equal shapes up to 10.10; in NvInfer.h of 10.16 and 11 equal ranks; {TRIED}",
    ),
    Leniency(
        "negative-dimension",
        "accepts",
        "builds a plugin whose output has a negative dimension at a profile's min or max, if it has none at opt",
        "the host refuses it: the engine would refuse shapes that its profile promises",
        f"a dimension is never negative; {TRIED}, which refuses it where it is negative at opt or in the whole profile",
    ),
    Leniency(
        "constant-state",
        "accepts",
        "builds a loop whose state is [n] before a trip and [3] after it, if 3 lies between the profile's min and max",
        "the host refuses the network, at the first of each profile's min, opt and max where they differ",
        f"NvInfer.h on IRecurrenceLayer: both inputs have the same dimensions; {TRIED}",
    ),
    Leniency(
        "neighbour-shapes",
        "accepts",
        "builds the sum of [n] and [n + 1], or of [n] and [3], which fit at one point of the profile and not at others",
        "the host refuses the network, at the first of each profile's min, opt and max that doesn't fit",
        f"https://onnx.ai/onnx/operators/onnx__Add.html: dimensions are equal or 1; {TRIED}",
    ),
    Leniency(
        "division-by-zero",
        "crashes",
        "gives the plugin null for kFLOOR_DIV by the constant 0, and ends with a segmentation fault if the plugin "
        "returns that; behind pluginkit's adapter it refuses",
        "the host refuses it at the call of IExprBuilder::operation",
        f"a quotient by 0 is not a dimension; {TRIED}",
    ),
    Leniency(
        "null-clone",
        "crashes",
        "ends with a segmentation fault if clone answers null",
        "the host refuses it at clone",
        f"NvInferRuntime.h on IPluginV2DynamicExt::clone: a copy of the plugin; {TRIED}",
    ),
    Leniency(
        "null-dimension",
        "crashes",
        "ends with a segmentation fault if getOutputShapes of an IPluginV3 leaves a dimension null; behind pluginkit's "
        "adapter it refuses",
        "the host refuses it at getOutputShapes",
        f"NvInferRuntime.h on IPluginV3OneBuild::getOutputShapes: expressions for the dimensions; {TRIED}",
    ),
    Leniency(
        "int8-scalar",
        "accepts",
        "makes a 0-D tensor 1-D, of one element, where the ONNX model quantizes it before a plugin",
        "for the host it stays 0-D",
        f"https://onnx.ai/onnx/operators/onnx__QuantizeLinear.html: the output has the input's shape; {TRIED}",
    ),
    Leniency(
        "int8-channels",
        "accepts",
        "builds a plugin with INT8 tensors whose channel dimension is dynamic",
        "the host refuses the network; those of pluginkit test have a constant there, in a network for each count",
        '"Restrictions for Dynamic Shapes" in "Dynamic Shapes: Advanced Topics" of TensorRT 10.16, 11.4 and RTX: INT8 '
        f"wants a channel dimension that is a constant at build time; {TRIED}",
    ),
    Leniency(
        "second-condition",
        "accepts",
        "takes a second condition for a conditional, and forgets the first",
        "the host refuses the network",
        f"{GUIDE}/work-with-conditionals.html: a conditional has exactly one IConditionLayer; {TRIED}",
    ),
    Leniency(
        "conditional-without-output",
        "accepts",
        "leaves out a conditional that has no output layer",
        "the host refuses the network",
        f"{GUIDE}/work-with-conditionals.html: a conditional has at least one IIfConditionalOutputLayer; {TRIED}",
    ),
    Leniency(
        "computed-length",
        "accepts",
        "builds a concatenation whose length is the output of another loop",
        "the host refuses the network",
        'NvInfer.h on ILoopOutputLayer: the length is a shape tensor; which layers give such: "Formal Inference Rules" '
        f"in {GUIDE}/work-dynamic-shapes.html; {TRIED}",
    ),
    Leniency(
        "short-concatenation",
        "accepts",
        "builds a concatenation of loop outputs whose length is below the trip count, constants both",
        "the host refuses the network, at the first of each profile's min, opt and max where it is so",
        f"NvInfer.h on ILoopOutputLayer: the second input is the concatenation's length; {TRIED}",
    ),
    Leniency(
        "iterator-past-end",
        "accepts",
        "builds a loop whose trip count's max is above the length of the axis that it iterates over; of constants it "
        "refuses that",
        "the host refuses the network, at the first of each profile's min, opt and max where it is so",
        f"{GUIDE}/work-with-loops.html: an iteration out of the tensor's bounds is invalid; {TRIED}",
    ),
)
"""Every row; tests/runtimes/test_leniencies.py has both sides of each."""


def row(name: str) -> Leniency:
    """The row of that id.

    Raises:
        KeyError: there is none.
    """
    return {one.id: one for one in LENIENCIES}[name]


def seen(calls: Iterable[Mapping[str, Any]], name: str, version: str) -> list[str]:
    """What a builder has let pass, by the probe's trace of its calls: a sentence for each.

    Args:
        calls: the trace, as native/probe.cpp writes it.
        name: the creator's name.
        version: its version.
    """
    expected = {
        "IPluginV3OneCore::getPluginName": ("plugin-name", {name, PROBE[0]}),
        "IPluginV3OneCore::getPluginVersion": ("plugin-version", {version, PROBE[1]}),
    }
    found: dict[str, None] = {}
    for call in calls:
        method, answer = call.get("leave", ""), call.get("result")
        if method == "IPluginV3OneRuntime::getFieldsToSerialize" and answer is None:
            found[f"{method} answered null ({_lets_pass('null-fields')})"] = None
        elif method in expected and answer not in expected[method][1]:
            wanted = name if method.endswith("Name") else version
            message = f"{method} answered {answer!r}, and its creator says {wanted!r}"
            found[f"{message} ({_lets_pass(expected[method][0])})"] = None
    return list(found)


def _lets_pass(name: str) -> str:
    return f"leniency {name}: NVIDIA's builder {row(name).nvidia}"
