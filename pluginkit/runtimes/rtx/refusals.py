"""Networks that NVIDIA's builder refuses whatever the operator: what its message means, and the workaround.

Each row is held from both sides by tests/runtimes/test_refusals.py: the form that is refused, and the one that builds.
The message alone is no proof: `pluginkit test` makes an experiment. It asks for the same network with ONNX's own
operators in the plugin's place (`judges/rtx/own_operators.py`), and calls a refusal NVIDIA's only if that one is
refused by the same row. Where ONNX's operators have nothing like it, a workspace, it asks for the same network with
the plugin's wish for one hidden from the builder: if that is built, the refusal is NVIDIA's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pluginkit.runtimes.rtx.leniencies import TRIED
from pluginkit.runtimes.verdict import BuildVerdict


@dataclass(frozen=True)
class Refusal:
    """One row.

    Attributes:
        id: what tests and reports call it.
        pattern: a regular expression of NVIDIA's message.
        cause: which networks it refuses.
        instead: what to write, so that it builds.
        source: where it was seen.
        of_workspaces: whether the experiment is the plugin without a workspace, not ONNX's operators in its place.
    """

    id: str
    pattern: str
    cause: str
    instead: str
    source: str = TRIED
    of_workspaces: bool = False


REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "loop-in-if",
        r"graphScope\.cpp::analyze::(417|463|471)",
        "a Loop, LSTM or GRU in a branch of an If on a condition of run time, if its last output is used by nothing, "
        "or if something in it is the same in all trips (an inner If's condition, the Cast of a tensor from outside)",
        "use the last output, or put unused states first and leave unused scan outputs out; of an LSTM take the last "
        "step of Y instead of Y_h; pass what doesn't change through the Loop as a state; or move the Loop before the "
        "If",
    ),
    Refusal(
        "if-in-if",
        r"MyelinCheckException: utils\.cpp:3613",
        "an If in a branch of an If where a dimension is open",
        "profiles whose min, opt and max are one shape; or compute the inner If before the outer one, or write it as "
        "Where",
    ),
    Refusal(
        "half-slice",
        r"MyelinCheckException: (tactics_tiled_layout|formats)\.cpp",
        "a loop in which a forward iterator's FP32 slice is cast to FP16",
        "cast before the iterator, and back behind the loop's output",
    ),
    Refusal(
        "concatenate-axis-1",
        r"No scan input/output tensor to derive shape",
        "a loop without iterators that concatenates on another axis than 0",
        "concatenate on axis 0 and transpose behind the loop",
    ),
    Refusal(
        "workspace-in-flow",
        r"_wksp with TYPE\s+unspecified\s+and not inferred",
        "a plugin that wants a workspace in a loop or a conditional",
        "give it its scratch memory as one more output that nothing uses, or as a buffer of the object's own from "
        "attachToContext on; or leave it outside of loops and conditionals",
        of_workspaces=True,
    ),
)
"""Every row."""


def recognise(verdict: BuildVerdict) -> Refusal | None:
    """The row that a refusal's message belongs to; None if it was built, or if none is."""
    if verdict.status != "refused":
        return None
    text = "\n".join((verdict.message, *verdict.log))
    return next((row for row in REFUSALS if re.search(row.pattern, text)), None)
