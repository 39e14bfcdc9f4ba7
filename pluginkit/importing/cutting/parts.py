"""The parts of a model between tensors at which it is cut.

NVIDIA's document on dynamic shapes has networks A, B and C, built in reverse order: what C needs as a shape tensor is
to be marked in B by INetworkDefinition::markOutputForShapes, and what B then needs, in A ("Shape Tensor I/O
(Advanced)").
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import onnx
from onnx import TensorProto

from pluginkit.errors import UsageError
from pluginkit.importing.onnx_graph import shapes, subgraphs
from pluginkit.importing.shape_tensors import classify

AT_BOUNDARY = (TensorProto.INT32, TensorProto.INT64)


@dataclass(frozen=True)
class Part:
    """One of the parts.

    Attributes:
        name: A, B, C, ...
        model: the part, with all that it needs.
        shape_inputs: its inputs that are shape tensors: their values are to be given when it is built and run.
        shape_outputs: its outputs to be marked by markOutputForShapes, as a later part has them as shape tensors.
        wrong: which of these can't be one at a network's end, for their type.
    """

    name: str
    model: onnx.ModelProto
    shape_inputs: tuple[str, ...]
    shape_outputs: tuple[str, ...]
    wrong: tuple[str, ...]


def parts(model: onnx.ModelProto, cuts: Sequence[Sequence[str]]) -> tuple[Part, ...]:
    """Cut a model's main graph: the first part makes the first cut's tensors, the next what it adds to the second's.

    Args:
        model: the model.
        cuts: of each cut, the tensors; what the nodes before it make and others behind it need, crosses it too.

    Raises:
        UsageError: a tensor isn't there or is not a node's, a cut leaves a part without nodes, or a type is not known.
    """
    graph = model.graph
    makers = {name: index for index, node in enumerate(graph.node) for name in node.output if name}
    for name in (name for one in cuts for name in one):
        _check(name, makers, graph)
    groups: list[set[int]] = []
    taken: set[int] = set()
    for one in cuts:
        group = _ancestors(one, makers, graph) - taken
        if not group:
            raise UsageError(
                f"The cut at {', '.join(one)} leaves no nodes for its part.", hint="Name the cuts from front to back."
            )
        groups.append(group)
        taken |= group
    rest = set(range(len(graph.node))) - taken
    if not rest:
        raise UsageError(f"Behind {', '.join(cuts[-1])} there is nothing left: no output needs more.")
    return _classified(model, [*groups, rest])


def with_outputs(model: onnx.ModelProto, outputs: Sequence[str]) -> onnx.ModelProto:
    """The model with other outputs, and without the nodes that these don't need.

    Raises:
        UsageError: a tensor isn't there, or its type is not known.
    """
    makers = {name: index for index, node in enumerate(model.graph.node) for name in node.output if name}
    for name in outputs:
        _check(name, makers, model.graph)
    return _part(model, _ancestors(outputs, makers, model.graph), list(outputs), set(), shapes(model))


def _check(name: str, makers: dict[str, int], graph: onnx.GraphProto) -> None:
    if name in makers:
        return
    if name in {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}:
        raise UsageError(f"{name} is an input or a constant of the model: no node makes it.")
    inside = {output for node in graph.node for _, inner in subgraphs(node) for output in _made(inner)}
    if name in inside:
        raise UsageError(
            f"{name} is made inside an If, Loop or Scan, which can't be cut.", hint="Name an output of that node."
        )
    close = difflib.get_close_matches(name, makers, n=1)
    raise UsageError(f"The model has no tensor {name!r}.", hint=f"Is {close[0]} meant?" if close else "")


def _made(graph: onnx.GraphProto) -> Iterator[str]:
    for node in graph.node:
        yield from node.output
        for _, inner in subgraphs(node):
            yield from _made(inner)


def _needs(node: onnx.NodeProto) -> set[str]:
    """What a node uses, by its subgraphs too."""
    found = {name for name in node.input if name}
    for _, graph in subgraphs(node):
        own = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
        own |= {name for inner in graph.node for name in inner.output}
        inside = {value.name for value in graph.output}.union(*(_needs(inner) for inner in graph.node))
        found |= inside - own
    return found


def _ancestors(names: Sequence[str], makers: dict[str, int], graph: onnx.GraphProto) -> set[int]:
    found: set[int] = set()
    todo = [makers[name] for name in names]
    while todo:
        index = todo.pop()
        if index not in found:
            found.add(index)
            todo += [makers[name] for name in _needs(graph.node[index]) if name in makers]
    return found


def _classified(model: onnx.ModelProto, groups: Sequence[set[int]]) -> tuple[Part, ...]:
    graph, known = model.graph, shapes(model)
    made = [{name for index in group for name in graph.node[index].output if name} for group in groups]
    needed = [set().union(*(_needs(graph.node[index]) for index in group)) for group in groups]
    results = {value.name for value in graph.output}
    found: list[Part] = []
    wanted: set[str] = set()
    # In reverse order, as the document has it: what is behind says what a shape tensor is.
    for number in reversed(range(len(groups))):
        behind = set().union(*needed[number + 1 :]) if number + 1 < len(groups) else set()
        order = [name for index in sorted(groups[number]) for name in graph.node[index].output]
        outputs = [name for name in order if name in made[number] and name in behind | results]
        before = set().union(*made[:number])
        own = _part(model, groups[number], outputs, before, known)
        marked = tuple(name for name in outputs if name in wanted)
        inputs = tuple(one.name for one in classify(own, marked) if not one.node and one.shape)
        wanted |= set(inputs)
        wrong = tuple(name for name in (*inputs, *marked) if known[name].elem_type not in AT_BOUNDARY)
        found.append(Part(chr(ord("A") + number), own, inputs, marked, wrong))
    return tuple(reversed(found))


def _part(
    model: onnx.ModelProto,
    group: set[int],
    outputs: Sequence[str],
    before: set[str],
    known: dict[str, onnx.TypeProto.Tensor],
) -> onnx.ModelProto:
    """A model of some of the nodes. `before` is what other parts make."""
    graph = model.graph
    nodes = [graph.node[index] for index in sorted(group)]
    used = set(outputs).union(*(_needs(node) for node in nodes))
    given = [value for value in graph.input if value.name in used]
    order = [name for node in graph.node for name in node.output]
    crossing = [name for name in order if name in before and name in used]
    declared = {value.name: value for value in (*graph.output, *graph.value_info)}
    made = onnx.helper.make_graph(
        nodes,
        graph.name or "part",
        [*given, *(_value(name, known) for name in crossing)],
        [declared[name] if name in declared else _value(name, known) for name in outputs],
        [tensor for tensor in graph.initializer if tensor.name in used],
        value_info=[value for value in graph.value_info if value.name in used - set(crossing)],
        sparse_initializer=[tensor for tensor in graph.sparse_initializer if tensor.values.name in used],
    )
    part = onnx.ModelProto()
    part.CopyFrom(model)
    part.graph.CopyFrom(made)
    return part


def _value(name: str, known: dict[str, onnx.TypeProto.Tensor]) -> onnx.ValueInfoProto:
    if name not in known or not known[name].elem_type:
        raise UsageError(
            f"The type of {name}, at which the model is cut, is not known.",
            hint="It stands behind an operator that ONNX does not have: cut elsewhere, or add the type to the model.",
        )
    return onnx.ValueInfoProto(name=name, type=onnx.TypeProto(tensor_type=known[name]))
