"""What the TensorRTs that a model is for make of it, by tables: operators that their parsers lack, and places where
they refuse every plugin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import onnx
from packaging.version import Version

from pluginkit import parser_operators
from pluginkit.importing.implementations import Implementation
from pluginkit.layouts import TARGETS, TargetName, TargetTensorRT
from pluginkit.runtimes.tensorrt import foreseen


@dataclass(frozen=True)
class ModelTarget:
    """What is known of a model in one TensorRT, without it.

    Attributes:
        title: the TensorRT.
        refused: what it refuses, and how that is known.
        known: what it does with plugins, where the model has any; and how that is known.
    """

    title: str
    refused: tuple[str, ...]
    known: tuple[str, ...]


def of_model(
    proto: onnx.ModelProto, implementations: Sequence[Implementation], names: Sequence[TargetName]
) -> tuple[ModelTarget, ...]:
    """One of each TensorRT that is named.

    Args:
        proto: the model.
        implementations: its nodes, and what implements them; a missing one is taken for a plugin's.
        names: the TensorRTs.
    """
    operators = dict.fromkeys(one.place.node.op_type for one in implementations if one.by == "native")
    plugins = {
        (one.place.node.domain, one.place.node.op_type) for one in implementations if one.by in ("plugin", "missing")
    }
    there = [*foreseen.places(proto.graph, lambda node: (node.domain, node.op_type) in plugins)] if plugins else []
    found = []
    for target in (TARGETS[name] for name in names):
        lacking = [line for name in operators if (line := _lacking(name, target))]
        known = tuple(one.line for one in foreseen.of_table(target.name)) if plugins else ()
        found.append(ModelTarget(target.title, (*lacking, *_refused(there, target)), known))
    return tuple(found)


def _lacking(name: str, target: TargetTensorRT) -> str:
    """That the parser has not an operator; of TensorRT 10 and 11 any minor version counts."""
    if target.name == "rtx":
        return "" if name in parser_operators.OF_RTX else f"{name} is not in its parser (by a run)"
    since = parser_operators.SINCE.get(name)
    if since is None:
        return f"{name}: whether its parser has it is not known"
    late = Version(since) > Version("8.5") if target.name == "8.5" else Version(since).major > target.number
    return f"{name} is in the parsers of TensorRT {since} and later (by a document)" if late else ""


def _refused(there: Sequence[foreseen.PluginPlace], target: TargetTensorRT) -> Iterator[str]:
    for place in there:
        if row := place.refused(target.name):
            name = place.node or "a node without a name"
            instead = f"; what to do: {row.instead}" if row.instead else ""
            yield f"{name}: {row.network}, whatever the plugin ({row.id}, {row.of(target.name)[1]}){instead}"
