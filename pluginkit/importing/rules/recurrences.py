"""M24: recurrences in branches of an If that NVIDIA's builder refuses (`runtimes/rtx/refusals.py`, loop-in-if)."""

from __future__ import annotations

from collections.abc import Iterator

import onnx

from pluginkit.importing.onnx_graph import Place, subgraphs
from pluginkit.importing.rules.constants import Constants
from pluginkit.library import Problem

LAYERS = ("LSTM", "GRU", "RNN")


def check(model: onnx.ModelProto, constants: Constants) -> Iterator[Problem]:
    """Loops and recurrent layers in an If on a condition of run time, whose last-made output nothing uses."""
    yield from _graph(model.graph, constants, (), inside=False)


def _graph(graph: onnx.GraphProto, constants: Constants, path: tuple[str, ...], *, inside: bool) -> Iterator[Problem]:
    used = uses(graph) if inside else set()
    for node in graph.node:
        if inside and (unused := _unused(node, used)):
            text = (
                f"it stands in an If, and nothing uses {unused}, of its outputs the last-made: NVIDIA's builder fails."
            )
            fix = (
                "`pluginkit doctor --fix` writes it so that the output is used, where it can; or move it out of the If."
            )
            yield Problem("error", text, fix, "M24", Place(node, path).label)
        within = inside or (node.op_type == "If" and node.input[0] not in constants.names)
        for name, inner in subgraphs(node):
            yield from _graph(inner, constants, (*path, node.name or node.op_type, name), inside=within)


def _unused(node: onnx.NodeProto, used: set[str]) -> str:
    """What of a node's outputs is used by nothing and makes the builder fail; empty if none does."""
    if node.op_type in LAYERS:
        steps = node.output[0] if node.output else ""
        return "" if steps in used else steps or "the output of all steps"
    if node.op_type == "Loop" and node.output:
        scans = node.output[max(0, len(node.input) - 2) :]
        return next((name for name in [*scans, node.output[-1]] if name not in used), "")
    return ""


def uses(graph: onnx.GraphProto) -> set[str]:
    """What something in a graph, or in those inside it, uses; its outputs included."""
    found = {value.name for value in graph.output}
    for node in graph.node:
        found |= {name for name in node.input if name}
        for _, inner in subgraphs(node):
            found |= uses(inner)
    return found
