"""Rule M19: graphs that can't be computed, in whatever order, and nodes of one name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter

import onnx

from pluginkit.importing.onnx_graph import Place, function_name, places, subgraphs
from pluginkit.library import Problem

_SHOWN = 6
"""So many nodes of a cycle are named."""


def check(model: onnx.ModelProto) -> Iterator[Problem]:
    """What is wrong with the model's graphs as graphs."""
    yield from _graph(model.graph, set(), ())
    for function in model.functions:
        label = f"{function.domain}::{function.name}"
        yield from _nodes(function.node, set(function.input), set(), set(function.output), (label,))
    yield from _recursion(model.functions)


def _recursion(functions: Sequence[onnx.FunctionProto]) -> Iterator[Problem]:
    """A function that calls itself, perhaps through others: ONNX has none, and NVIDIA's parser ends its process."""
    names = {function_name(function) for function in functions}
    calls = {
        function_name(function): {f"{place.node.domain}::{place.node.op_type}" for place in places(function)} & names
        for function in functions
    }
    try:
        TopologicalSorter(calls).prepare()
    except CycleError as error:
        # From one to one that calls it, the first again at the end.
        text = f"functions call each other in a circle: {' -> '.join(reversed(error.args[1]))}."
        yield _error(text, "ONNX has no recursion: write it as a Loop or Scan.", error.args[1][0])


def _graph(graph: onnx.GraphProto, around: set[str], path: tuple[str, ...]) -> Iterator[Problem]:
    constants = {tensor.name for tensor in graph.initializer}
    constants |= {tensor.values.name for tensor in graph.sparse_initializer}
    inputs = Counter(value.name for value in graph.input)
    for name in (name for name, count in inputs.items() if count > 1):
        yield _error(f"{inputs[name]} inputs have the name {name}.", "Give each a name of its own.", "/".join(path))
    given = {*inputs, *constants}
    yield from _nodes(graph.node, given, around, {value.name for value in graph.output}, path)


def _nodes(
    nodes: Sequence[onnx.NodeProto], given: set[str], around: set[str], wanted: set[str], path: tuple[str, ...]
) -> Iterator[Problem]:
    """One graph.

    Args:
        nodes: its nodes.
        given: its inputs and constants.
        around: what the graphs around it have.
        wanted: its outputs.
        path: as of `Place`.
    """
    made = Counter(name for node in nodes for name in node.output if name)
    where = f"graph {'/'.join(path)}" if path else "the graph"
    for name, count in made.items():
        if count > 1 or name in given:
            by = [_label(node, path) for node in nodes if name in node.output]
            owners = f"{' and '.join(by[:3])}{' and an input or constant' if name in given else ''}"
            yield _error(f"{owners} make one tensor: {name}.", "Give each a name of its own.", by[0])
    known = {*made, *given, *around}
    for node in nodes:
        for name in dict.fromkeys(name for name in node.input if name and name not in known):
            text = f"its input {name} is made by no node, and is not an input or constant of {where}."
            yield _error(text, "Name a tensor that is there, or add what makes it.", _label(node, path))
    for name in sorted(wanted - known):
        yield _error(f"nothing makes {name}, an output of {where}.", "Name a tensor that is there.", "/".join(path))
    yield from _cycle(nodes, path)
    names = Counter(node.name for node in nodes if node.name)
    for name, count in names.items():
        if count > 1:
            text = f"{count} nodes of {where} have this name: onnxruntime refuses the model, NVIDIA's parser takes it."
            yield Problem("warning", text, "Give each a name of its own.", "M19", "/".join((*path, name)))
    for node in nodes:
        for name, inner in subgraphs(node):
            yield from _graph(inner, known, (*path, node.name or node.op_type, name))


def _cycle(nodes: Sequence[onnx.NodeProto], path: tuple[str, ...]) -> Iterator[Problem]:
    maker = {name: index for index, node in enumerate(nodes) for name in node.output if name}
    needs = {index: {maker[name] for name in _used(node) if name in maker} for index, node in enumerate(nodes)}
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        # From a node to one that needs it, the first again at the end.
        found = [_label(nodes[index], path) for index in error.args[1]]
        more = " -> ..." if len(found) > _SHOWN else ""
        text = f"its nodes need each other's outputs in a circle: {' -> '.join(found[:_SHOWN])}{more}."
        yield _error(text, "ONNX has no feedback between nodes: write it as a Loop or Scan.", found[0])


def _used(node: onnx.NodeProto) -> Iterator[str]:
    """What a node needs; of its subgraphs more than that, which adds no circle: names are unique."""
    yield from (name for name in node.input if name)
    for _, graph in subgraphs(node):
        own = {value.name for value in graph.input} | set(_names(graph.node))
        for inner in graph.node:
            yield from (name for name in _used(inner) if name not in own)
        yield from (value.name for value in graph.output if value.name not in own)


def _names(nodes: Iterable[onnx.NodeProto]) -> Iterator[str]:
    for node in nodes:
        yield from node.output


def _label(node: onnx.NodeProto, path: tuple[str, ...]) -> str:
    return Place(node, path).label


def _error(text: str, fix: str, node: str) -> Problem:
    return Problem("error", text, fix, "M19", node)
