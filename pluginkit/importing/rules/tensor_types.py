"""What is known of the tensors that a model's nodes see: what is declared, what onnx infers, what manifests add."""

from __future__ import annotations

import contextlib
from collections import ChainMap
from collections.abc import Iterator, MutableMapping, Sequence
from typing import TypeAlias

import onnx

from pluginkit.importing.control_flow.types import declare
from pluginkit.importing.implementations import Implementation
from pluginkit.importing.onnx_graph import own_types, subgraphs
from pluginkit.importing.signature import outputs

Types: TypeAlias = "MutableMapping[str, onnx.TypeProto.Tensor]"
"""By name: what a node sees in its graph and in those around it."""

ROUNDS = 8
"""Operators between two plugins cost an inference of the whole model; behind so many of them nothing more is known."""


def types(model: onnx.ModelProto, implementations: Sequence[Implementation]) -> list[Types]:
    """What each node of the main graph and of the graphs in it sees; `implementations` begins with these nodes, in
    this order.

    onnx knows no plugin, so its inference ends at each; here the outputs of those that have a manifest follow from it.
    """
    model = _inferred(model)
    for _ in range(ROUNDS):
        added = declare(model.graph)
        seen = list(walk(model.graph, ChainMap()))
        for one, (graph, node, known) in zip(implementations, seen, strict=False):
            if one.member is None or one.by != "plugin":
                continue
            for name, kind in outputs(one.member.manifest, node, known).items():
                if name not in known:
                    known[name] = kind.tensor_type
                    graph.value_info.append(onnx.ValueInfoProto(name=name, type=kind))
                    added = True
        if not added:
            break
        model = _inferred(model)
    return [known for _, _, known in walk(model.graph, ChainMap())]


def _inferred(model: onnx.ModelProto) -> onnx.ModelProto:
    # Inference is a help: a model that it can't follow is checked without.
    with contextlib.suppress(Exception):
        return onnx.shape_inference.infer_shapes(model)
    copied = onnx.ModelProto()
    copied.CopyFrom(model)
    return copied


def walk(
    graph: onnx.GraphProto, around: ChainMap[str, onnx.TypeProto.Tensor]
) -> Iterator[tuple[onnx.GraphProto, onnx.NodeProto, Types]]:
    """All nodes in the order of `model.places`, each with its graph and what it sees."""
    known = around.new_child(own_types(graph))
    for node in graph.node:
        yield graph, node, known
        for _, inner in subgraphs(node):
            yield from walk(inner, known)
