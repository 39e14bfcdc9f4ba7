"""The operators that nothing implements: where they are, whether other operators can stand for them, what to type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import onnx

from pluginkit.importing.implementations import Implementation
from pluginkit.importing.onnx_graph import Place
from pluginkit.importing.rewrites import definitions
from pluginkit.importing.rules.plugins import no_tensor
from pluginkit.process.escapes import quoted, shown

MAIN = "main graph"
FUSED = 4
"""Chains of no more elementwise operators than that are not called long."""
ELEMENTWISE = frozenset(
    """
    Abs Acos Acosh Add And Asin Asinh Atan Atanh Cast CastLike Ceil Celu Clip Constant Cos Cosh Div Elu Equal Erf Exp
    Floor Gelu Greater GreaterOrEqual HardSigmoid HardSwish Identity LeakyRelu Less LessOrEqual Log Max Min Mish Mod Mul
    Neg Not Or PRelu Pow Reciprocal Relu Round Selu Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Sub Sum Swish Tan Tanh
    ThresholdedRelu Where Xor
    """.split()  # noqa: SIM905
)


@dataclass(frozen=True)
class MissingOperator:
    """An operator that is missing: neither the parser, nor a plugin, nor a function of the model implements it.

    Attributes:
        operator: `domain::type`, or the type alone in ONNX's default domain.
        nodes: its nodes' labels.
        places: where they are, as `main graph` or `inside If`, with how many.
        expressible: the documents' first question, whether TensorRT's own layers can express it; empty: not known.
        slow: the second, whether they do it too slowly.
        chain: the third, whether the chain of layers is too long.
        rewrite: whether `--fix` writes it by other operators.
        command: what makes a plugin project of it; empty where no plugin can be it.
        lacks: why that can't make one as it stands, and what to do; empty: it was tried, or not asked.
        after: how many of the others' commands are to be typed before.
    """

    operator: str
    nodes: tuple[str, ...]
    places: dict[str, int]
    expressible: str
    slow: str
    chain: str
    rewrite: bool
    command: str
    lacks: str = ""
    after: int = 0

    @property
    def where(self) -> str:
        """The places for the user."""
        return ", ".join(f"{count} {place}" for place, count in self.places.items())

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def find(
    path: Path, model: onnx.ModelProto, implementations: Sequence[Implementation], native: Callable[[str], bool]
) -> tuple[MissingOperator, ...]:
    """The missing operators, those with most nodes first.

    Args:
        path: the model's file.
        model: the model.
        implementations: its nodes.
        native: whether NVIDIA's parser knows an operator.
    """
    groups: dict[str, list[Place]] = {}
    for one in implementations:
        if one.by == "missing":
            groups.setdefault(one.place.operator, []).append(one.place)
    functions = {f"{function.domain}::{function.name}" for function in model.functions}
    found = [_operator(path, model, name, places, functions, native) for name, places in groups.items()]
    return tuple(sorted(found, key=lambda one: -len(one.nodes)))


def commands(found: Iterable[MissingOperator]) -> list[str]:
    """What to type, in this order; where something is missing, a line of comment says what."""
    ordered = sorted(
        (one for one in found if one.command and not one.rewrite), key=lambda one: (bool(one.lacks), one.after)
    )
    return [f"# {shown(one.operator)}: {shown(one.lacks)}" if one.lacks else one.command for one in ordered]


def command(path: Path, operator: str) -> str:
    """What makes a plugin project of an operator's nodes."""
    return f"pluginkit new --from-onnx {quoted(str(path))} --op {quoted(operator)}"


def _operator(
    path: Path,
    model: onnx.ModelProto,
    name: str,
    places: Sequence[Place],
    functions: set[str],
    native: Callable[[str], bool],
) -> MissingOperator:
    counts = Counter(_place(place, functions) for place in places)
    if what := no_tensor(places[0].node):
        reason = f"no, and no plugin can: it takes or gives {what}"
        return MissingOperator(
            name, tuple(place.label for place in places), dict(counts.most_common()), reason, "", "", False, ""
        )
    answers = _answers(model, places[0].node, native)
    return MissingOperator(
        name,
        tuple(place.label for place in places),
        dict(counts.most_common()),
        *answers,
        command(path, name),
    )


def _place(place: Place, functions: set[str]) -> str:
    inside = " inside ".join(reversed(place.flow))
    if place.path and place.path[0] in functions:
        return f"in function {place.path[0]}" + (f", inside {inside}" if inside else "")
    return f"inside {inside}" if inside else MAIN


def _answers(model: onnx.ModelProto, node: onnx.NodeProto, native: Callable[[str], bool]) -> tuple[str, str, str, bool]:
    """The three questions, and whether a rewrite is known."""
    definition = definitions.of(model, node)
    if definition is None:
        if node.domain in {"", "ai.onnx"} and onnx.defs.has(node.op_type):
            why = definitions.NOT_WRITTEN.get(node.op_type)
            reason = f"no: {why}" if why else "not defined in ONNX, which defines it by no other operators"
            return reason, "", "", False
        return "not known: no definition by other operators was found", "", "", False
    kinds = [inner.op_type for inner in definitions.nodes(definition.nodes)]
    missing = sorted({kind for kind in kinds if not native(kind)})
    if missing:
        return f"no: {definition.source} needs {', '.join(missing)}, which the parser has not", "", "", False
    count = sum(kind != "Constant" for kind in kinds)
    loops = sorted(set(kinds) & {"Loop", "Scan"})
    expressible = f"yes: {definition.source} is {count} operators that the parser has; --fix writes them"
    if loops:
        return expressible, f"likely: it has a {loops[0]}, a step at a time", f"{count} operators", True
    if set(kinds) <= ELEMENTWISE:
        slow = "hardly: all are elementwise, and TensorRT fuses these into one kernel"
        return expressible, slow, f"no: {count} operators, fused", True
    long = f"{'yes' if count > FUSED else 'no'}: {count} operators, some of which are not elementwise"
    return expressible, "measure it: build both, and compare (pluginkit bench)", long, True


def labels(nodes: Iterable[str], most: int) -> str:
    """The first of some labels."""
    listed = list(nodes)
    more = f", ... ({len(listed) - most} more)" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more
