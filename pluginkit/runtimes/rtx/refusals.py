"""Networks that NVIDIA's builder refuses whatever the operator: what its message means, and the workaround.

Each row is held from both sides by tests/runtimes/test_refusals.py: the form that is refused, and the one that builds.
The message alone is not proof: `pluginkit test` makes an experiment. It asks for the same network with ONNX's own
operators in the plugin's place (`evaluators/rtx/own_operators.py`), and calls a refusal NVIDIA's only if that one is
refused by the same row. Where ONNX's operators have nothing like it, a workspace, an output in an input's memory or a
size tensor, it asks for the same network with that hidden from the builder: if that is built, the refusal is NVIDIA's.
Of a shape input it is the values that are hidden: they are constants then.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pluginkit.runtimes.rtx.leniencies import TRIED
from pluginkit.runtimes.verdict import BuildVerdict

Structure: TypeAlias = Literal[
    "if", "loop", "if in if", "loop in if", "flow", "plugin", "plugin in flow", "cast", "quantize"
]
"""What a model has: `flow` is a loop or a conditional; `loop` is a recurrent layer too; `quantize` is a QuantizeLinear,
a Cast or a plugin, which make tensors of 8 bits."""
Hidden: TypeAlias = Literal["", "workspace", "aliases", "sizes", "values"]
"""What of a plugin's answers an experiment keeps from the builder."""


@dataclass(frozen=True)
class Refusal:
    """One row.

    Attributes:
        id: what tests and reports call it.
        pattern: a regular expression of NVIDIA's message.
        cause: which networks it refuses.
        instead: what to write, so that it builds.
        source: where it was seen.
        hidden: what of the plugin the builder doesn't hear of in the experiment; empty: ONNX's operators are in the
            plugin's place instead.
        crash: whether the builder ends its process there, and the message is pluginkit's on that.
        has: what a model has that is refused so, all of these: NVIDIA's compiler says the same of others too. Empty:
            the message itself names what is refused.
    """

    id: str
    pattern: str
    cause: str
    instead: str
    source: str = TRIED
    hidden: Hidden = ""
    crash: bool = False
    has: tuple[Structure, ...] = ()


REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "loop-in-if",
        r"graphScope\.cpp::analyze::(417|463|471)",
        "a Loop, LSTM or GRU in a branch of an If on a condition of run time, if its last output is used by nothing, "
        "or if something in it is the same in all trips (an inner If's condition, the Cast of a tensor from outside)",
        "use the last output, or put unused states first and leave unused scan outputs out; of an LSTM take the last "
        "step of Y instead of Y_h; pass what doesn't change through the Loop as a state; or move the Loop before the "
        "If",
        has=("loop in if",),
    ),
    Refusal(
        "if-in-if",
        r"MyelinCheckException: utils\.cpp:3613",
        "an If in a branch of an If where a dimension is dynamic",
        "profiles whose min, opt and max are one shape; or compute the inner If before the outer one, or write it as "
        "Where",
        has=("if in if",),
    ),
    Refusal(
        "same-constants",
        # The first where the other branch is of ONNX's operators, the second where a plugin is in it.
        r"element type myelinTypeNone|Shape inference exceeded maximum iteration count",
        "an If on a condition of run time, two of whose outputs are the same INT32 or INT64 constant in one branch",
        "constants that differ; or the If gives one of the two alone, and the other comes of it",
        has=("if",),
    ),
    Refusal(
        "half-slice",
        r"MyelinCheckException: (tactics_tiled_layout|formats)\.cpp",
        "a loop in which a forward iterator's FP32 slice is cast to FP16",
        "cast before the iterator, and back behind the loop's output",
        has=("loop", "cast"),
    ),
    Refusal(
        "concatenate-axis-1",
        r"No scan input/output tensor to derive shape",
        "a loop without iterators that concatenates on another axis than 0",
        "concatenate on axis 0 and transpose behind the loop",
        has=("loop",),
    ),
    Refusal(
        "workspace-in-flow",
        r"_wksp with TYPE\s+unspecified\s+and not inferred",
        "a plugin that wants a workspace in a loop or a conditional",
        "give it its scratch memory as one more output that nothing uses, or as a buffer of the object's own from "
        "attachToContext on; or leave it outside of loops and conditionals",
        hidden="workspace",
        has=("plugin in flow",),
    ),
    Refusal(
        "aliased-twice",
        r"Cannot reformat, possibly due to insufficient memory",
        "a tensor into which two plugin layers write an output in its place, one of them in a conditional",
        "a copy of the tensor for one of them, as by an IElementWiseLayer that adds 0; or no getAliasedInput",
        hidden="aliases",
        has=("plugin",),
    ),
    Refusal(
        "aliased-format",
        r"optimizer\.cpp::reduce::1321",
        "an output in an input's memory in another format than linear",
        "a linear format for the two, or no getAliasedInput",
        hidden="aliases",
        has=("plugin",),
    ),
    Refusal(
        "aliased-int64",
        r"Unsupported data type INT64\. In proposeFormatsForIsolatedRegions",
        "an INT64 output in the memory of an input that something else in the network reads too, so that it is copied",
        "an INT32 tensor, or no getAliasedInput",
        hidden="aliases",
        has=("plugin",),
    ),
    Refusal(
        "size-in-flow",
        # The second in conditionals, the third in loops that a condition ends.
        r"Data-dependent shapes are only allowed in the top-level scope|addMyelinTensor at \S+codeGenerator\.cpp:2880"
        r"|removeDeadLayers\.cpp::markLive",
        "a size that only the run knows (a plugin's, or one that follows from a loop's states) in a loop or a "
        "conditional",
        "Gather in place of a Slice or Range; the plugin outside of loops and conditionals; or an output as large as "
        "its upper bound, and how much of it means something as another output (`valid` in pluginkit.toml)",
        hidden="sizes",
        has=("flow",),
    ),
    Refusal(
        "size-of-zero",
        r"deviceToShapeHostBuilder\.cpp::makeRunner",
        "several profiles, in one of which a size that only the run knows can be nothing but 0",
        "profiles in all of which its upper bound is above 0 at max; or an engine for the one where it is 0",
        hidden="sizes",
        has=("plugin",),
    ),
    Refusal(
        "size-in-loop",
        r"graphScope\.cpp::makeScopeNodesContiguous|myelinNodesClusterer\.cpp::ClusterForeignNodes",
        "a size in a loop (of a Slice, Range, Expand, ...) that follows from the loop's states or its trip number",
        "indices that the loop gives, for Gather; a tensor from outside for a state that never changes; or the whole "
        "tensor, and a mask",
        has=("loop",),
    ),
    Refusal(
        "shape-input-in-flow",
        r"SIGSEGV outside of the plugin, after IPluginV3::clone",
        "a plugin's shape input whose values are known at run time only, in a loop or in both branches of a "
        "conditional",
        "the plugin outside of loops and conditionals, or in one branch; or values that are constants there",
        hidden="values",
        crash=True,
        has=("plugin in flow",),
    ),
    Refusal(
        "uint8-tensor",
        r"legalUINT8|validateUInt8",
        "a uint8 tensor that is neither a network input nor an output that a Cast gives",
        "cast a uint8 input to float16 or float32 at once, and to uint8 only what leaves the network",
    ),
    Refusal(
        "int8-and-float8",
        r"int8SupportRequired && fp8SupportRequired|\b(f8 vs\. expected type:i8|i8 vs\. expected type:f8)\b",
        "INT8 and FP8 tensors in one part of a network, as of one plugin, or with no layer of weight between them",
        "one of the two: let the plugin's quantized tensors have float8 all at once, and int8 all at once",
        has=("quantize",),
    ),
    Refusal(
        "quantized-by-cast",
        r"validateQuantizedTypesProducersConsumers",
        "a float8 or int4 tensor that a Cast makes or reads",
        "use QuantizeLinear and DequantizeLinear with a scale",
        has=("cast",),
    ),
)
"""Every row."""


def recognise(
    verdict: BuildVerdict, *, shape_inputs: bool = False, has: Collection[Structure] | None = None
) -> Refusal | None:
    """The row that a refusal's message belongs to; None if it was built, or if none is.

    A crash belongs to a row only where a plugin has `shape_inputs`: its message tells no cause. Of a model that `has`
    these structures a row speaks only if it needs no other; None: they aren't looked at.
    """
    if verdict.status not in ("refused", "crashed") or (verdict.status == "crashed" and not shape_inputs):
        return None
    text = "\n".join((verdict.message, *verdict.log))
    rows = (row for row in REFUSALS if row.crash == (verdict.status == "crashed"))
    fitting = (row for row in rows if has is None or set(row.has) <= set(has))
    return next((row for row in fitting if re.search(row.pattern, text)), None)


def place(verdict: BuildVerdict) -> str:
    """Where in NVIDIA's sources a refusal ends, as its message says, with the file's line; without it, the message.

    Two networks that NVIDIA's compiler takes for too hard are refused in one place for reasons of several texts; what
    a plugin answers wrongly is refused elsewhere.
    """
    found = re.findall(r"\bIn \w+ at [^\s)]+", verdict.message)
    return found[-1] if found else verdict.message
