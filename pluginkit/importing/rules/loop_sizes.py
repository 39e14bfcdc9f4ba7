"""M28: sizes in loops that the shapes of the network's inputs don't give (`runtimes/rtx/refusals.py`, size-in-loop)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import onnx

from pluginkit.importing.onnx_graph import Place, places, shapes, subgraphs
from pluginkit.importing.rules.constants import Constants
from pluginkit.importing.rules.sums import Sums
from pluginkit.importing.shape_tensors.inference import DIMENSIONS, needed
from pluginkit.library import Problem

LOOPS = ("Loop", "Scan")


@dataclass(frozen=True)
class LoopSize:
    """A node in a loop's body with inputs that NVIDIA's builder can't have there.

    Attributes:
        place: the node.
        graph: the one that the node stands in.
        inputs: what they are taken as, and their names.
        carried: whether they follow from the loop's states, slices or trip number; else from values of the network's
            inputs, and what they are the size of follows from the loop.
    """

    place: Place
    graph: onnx.GraphProto
    inputs: tuple[str, ...]
    carried: bool


def check(model: onnx.ModelProto, known: Mapping[str, onnx.TypeProto.Tensor] | None = None) -> Iterator[Problem]:
    """M28, for each node; `known` as of `find`."""
    for one in find(model, known):
        if one.carried:
            text = f"from the loop's states or its trip number follows {' and '.join(one.inputs)}: NVIDIA's builder "
            text += "has no such sizes in a loop."
            fix = (
                "Gather takes indices that the loop gives: `pluginkit doctor --fix` writes it where start and end "
                "differ by a constant. A state that never changes needs to be none. Else compute on the whole tensor, "
                "and choose by a mask (Where)."
            )
        else:
            text = f"from values of the network's inputs follows {' and '.join(one.inputs)}, of a tensor that the loop "
            text += "carries: NVIDIA's builder ends its process there."
            fix = "Gather takes such indices; or apply the size outside of the loop, or take it from a tensor's shape."
        yield Problem("error", text, fix, "M28", one.place.label)


def find(model: onnx.ModelProto, known: Mapping[str, onnx.TypeProto.Tensor] | None = None) -> list[LoopSize]:
    """All of them; functions are not looked into. `known` are the tensors' types, inferred if they are not given."""
    if not any(place.node.op_type in LOOPS for place in places(model.graph)):
        return []
    given = {value.name for value in model.graph.input} - {tensor.name for tensor in model.graph.initializer}
    sums = Sums(Constants(model), shapes(model) if known is None else known)
    return list(_graph(model.graph, (), sums, inside=False, carried=set(), given=given))


def _graph(
    graph: onnx.GraphProto,
    path: tuple[str, ...],
    sums: Sums,
    *,
    inside: bool,
    carried: set[str],
    given: set[str],
) -> Iterator[LoopSize]:
    """Those of a graph. What follows from a loop is added to `carried`, from the network's inputs to `given`: each by
    its values, for the shape of a loop's state is the same in all trips."""
    number = sums.begin(graph)
    for node in graph.node:
        place = Place(node, path)
        loop = node.op_type in LOOPS
        sources = sums.sources(node, number)
        for name, inner in subgraphs(node):
            states = {value.name for value in inner.input} if loop else set()
            within, known = carried | states, set(given)
            here = (*path, node.name or node.op_type, name)
            yield from _graph(inner, here, sums, inside=inside or loop, carried=within, given=known)
            ends = {value.name for value in inner.output}
            # What an inner loop gives is its own only inside it.
            carried |= set(node.output) if not loop and ends & within else set()
            given |= set(node.output) if ends & known else set()
        if inside and not loop:
            sizes = list(needed(place))
            moved = tuple(f"{what} ({name})" for name, what in sizes if name in carried)
            outer = tuple(f"{what} ({name})" for name, what in sizes if name in given and node.input[0] in carried)
            if moved or outer:
                yield LoopSize(place, graph, moved or outer, carried=bool(moved))
        if node.op_type not in DIMENSIONS:
            carried |= set(node.output) if sources & carried else set()
            given |= set(node.output) if sources & given else set()
