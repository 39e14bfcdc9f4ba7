"""Conditionals as NVIDIA's builder takes them.

An If whose condition follows from the model's own shapes is replaced by the branch that it always takes: the branches
may have other ranks then, which not every TensorRT builds (rule M7). An If in a branch of an If, where a dimension is
open (refusal if-in-if of `runtimes/rtx/refusals.py`): both of its branches are computed, and Where takes one.
"""

from __future__ import annotations

from collections.abc import Iterator

import onnx
from onnx import helper

from pluginkit.importing.onnx_graph import dims, subgraphs
from pluginkit.importing.rewrites.names import every, free
from pluginkit.importing.rules.constants import Constants
from pluginkit.importing.rules.folding import Folding

_BRANCHES = ("then_branch", "else_branch")


def rewrite(model: onnx.ModelProto) -> list[str]:
    """Change a model in place; what was done, a sentence a node."""
    taken = every(model)
    done = list(_decided(model.graph, Folding.of(model, Constants(model)), "", taken))
    if any(_open(value) for value in model.graph.input):
        done += _graph(model.graph, inside=False, path="", taken=taken)
    return done


def _decided(graph: onnx.GraphProto, folding: Folding, path: str, taken: set[str]) -> Iterator[str]:
    """Conditionals of which one branch is always taken, with that branch in their place."""
    nodes: list[onnx.NodeProto] = []
    for node in graph.node:
        label = f"{path}{node.name or node.op_type}"
        inner = dict(subgraphs(node))
        for name, body in inner.items():
            yield from _decided(body, folding, f"{label}/{name}/", taken)
        body = inner.get(folding.branch(node)) if node.op_type == "If" else None
        if body is None or len(body.output) != len(node.output):
            copied = onnx.NodeProto()
            copied.CopyFrom(node)
            nodes.append(copied)
            continue
        for one in body.node:
            made = onnx.NodeProto()
            made.CopyFrom(one)
            nodes.append(made)
        for tensor in body.initializer:
            graph.initializer.add().CopyFrom(tensor)
        for value, output in zip(body.output, node.output, strict=True):
            if output:
                nodes.append(helper.make_node("Identity", [value.name], [output], free(f"{output}_same", taken)))
        yield f"{label}: it always takes {folding.branch(node)}, which stands in its place"
    del graph.node[:]
    graph.node.extend(nodes)


def _open(value: onnx.ValueInfoProto) -> bool:
    shape = dims(value.type.tensor_type)
    return shape is None or any(not isinstance(dim, int) for dim in shape)


def _graph(graph: onnx.GraphProto, *, inside: bool, path: str, taken: set[str]) -> Iterator[str]:
    nodes: list[onnx.NodeProto] = []
    for node in graph.node:
        label = f"{path}{node.name or node.op_type}"
        for name, inner in subgraphs(node):
            within = node.op_type == "If" or (inside and node.op_type != "Loop")
            yield from _graph(inner, inside=within, path=f"{label}/{name}/", taken=taken)
        if inside and node.op_type == "If" and _simple(node):
            nodes += _chosen(graph, node, taken)
            yield f"{label}: both of its branches are computed, and Where takes one"
        else:
            copied = onnx.NodeProto()
            copied.CopyFrom(node)
            nodes.append(copied)
    del graph.node[:]
    graph.node.extend(nodes)


def _simple(node: onnx.NodeProto) -> bool:
    """Branches without control flow, whose outputs may be of one shape."""
    branches = [inner for _, inner in subgraphs(node)]
    if len(branches) != len(_BRANCHES) or len({len(inner.output) for inner in branches} | {len(node.output)}) > 1:
        return False
    if any(list(subgraphs(one)) for inner in branches for one in inner.node):
        return False
    for pair in zip(*(inner.output for inner in branches), strict=True):
        shapes = [dims(value.type.tensor_type) for value in pair]
        known = [shape for shape in shapes if shape is not None]
        if len({len(shape) for shape in known}) > 1:
            return False
        sizes = zip(*known, strict=True) if len(known) > 1 else ()
        if any(len({dim for dim in one if isinstance(dim, int)}) > 1 for one in sizes):
            return False
    return True


def _chosen(graph: onnx.GraphProto, node: onnx.NodeProto, taken: set[str]) -> Iterator[onnx.NodeProto]:
    """The nodes of both branches under names of their own, and a Where for each output."""
    results: dict[str, list[str]] = {}
    for attribute, inner in subgraphs(node):
        renamed = {name: free(f"{name}_{attribute}", taken) for one in inner.node for name in one.output if name}
        renamed |= {tensor.name: free(f"{tensor.name}_{attribute}", taken) for tensor in inner.initializer}
        for tensor in inner.initializer:
            copied = onnx.TensorProto()
            copied.CopyFrom(tensor)
            copied.name = renamed[tensor.name]
            graph.initializer.append(copied)
        for one in inner.node:
            made = onnx.NodeProto()
            made.CopyFrom(one)
            made.name = free(f"{one.name or one.op_type}_{attribute}", taken)
            made.input[:] = [renamed.get(name, name) for name in one.input]
            made.output[:] = [renamed.get(name, name) for name in one.output]
            yield made
        results[attribute] = [renamed.get(value.name, value.name) for value in inner.output]
    pairs = zip(*(results[name] for name in _BRANCHES), node.output, strict=True)
    for then, other, output in pairs:
        if output:
            yield helper.make_node("Where", [node.input[0], then, other], [output], free(f"{output}_where", taken))
