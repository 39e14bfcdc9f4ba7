"""Recurrences in branches of an If, as NVIDIA's builder takes them (refusal loop-in-if of `runtimes/rtx/refusals.py`).

It refuses a Loop, LSTM or GRU in a branch on a condition of run time if its last-made output is used by nothing; and
NVIDIA's parser a Loop without a condition whose body uses it (rule M8).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import onnx
from onnx import helper

from pluginkit.importing.onnx_graph import subgraphs
from pluginkit.importing.rewrites.names import every, free
from pluginkit.importing.rules.recurrences import uses

LAYERS = ("LSTM", "GRU")
SEQUENCE_LENGTHS = 4
"""The input of ONNX's recurrent operators with the sequences' lengths: behind it the last step isn't Y's last."""
END = 2**31 - 1


def rewrite(model: onnx.ModelProto) -> list[str]:
    """Change a model in place; what was done, a sentence a node."""
    done: list[str] = []
    taken = every(model)
    _graph(model.graph, inside=False, path="", taken=taken, done=done)
    return done


def _graph(graph: onnx.GraphProto, *, inside: bool, path: str, taken: set[str], done: list[str]) -> None:
    for node in list(graph.node):
        label = f"{path}{node.name or node.op_type}"
        for name, inner in subgraphs(node):
            within = inside or node.op_type == "If"
            _graph(inner, inside=within, path=f"{label}/{name}/", taken=taken, done=done)
        if inside and node.op_type in LAYERS:
            done += _last_step(graph, node, label, taken)
        elif node.op_type == "Loop":
            done += [*_condition(graph, node, label, taken), *(_last_state(graph, node, label) if inside else ())]


def _body(node: onnx.NodeProto) -> onnx.GraphProto | None:
    """A Loop's body; None if it has none, or no inputs, and so is not a Loop of ONNX's."""
    return next((inner for name, inner in subgraphs(node) if name == "body" and node.input), None)


def _condition(graph: onnx.GraphProto, node: onnx.NodeProto, label: str, taken: set[str]) -> Iterator[str]:
    """A constant condition, where the node has none and its body uses it: rule M8."""
    body = _body(node)
    if body is None:
        return
    given = body.input[1].name if len(body.input) > 1 else ""
    if (len(node.input) > 1 and node.input[1]) or given not in uses(body):
        return
    true = free("always_true", taken)
    graph.initializer.append(helper.make_tensor(true, onnx.TensorProto.BOOL, [], [True]))
    node.input[:] = [node.input[0], true, *node.input[2:]]
    yield f"{label}: it has a constant condition"


def _last_step(graph: onnx.GraphProto, node: onnx.NodeProto, label: str, taken: set[str]) -> Iterator[str]:
    """H as the last step of Y, where nothing uses Y."""
    used = uses(graph)
    outputs = [*node.output, "", ""]
    direction = next((one.s for one in node.attribute if one.name == "direction"), b"forward")
    layout = next((one.i for one in node.attribute if one.name == "layout"), 0)
    lengths = len(node.input) > SEQUENCE_LENGTHS and node.input[SEQUENCE_LENGTHS]
    if outputs[0] in used or outputs[1] not in used or direction != b"forward" or layout or lengths:
        return
    hidden, steps = outputs[1], outputs[0] or free(f"{outputs[1]}_steps", taken)
    names = {key: free(f"{hidden}_{key}", taken) for key in ("begin", "end", "axis", "last")}
    node.output[:] = [steps, "", *node.output[2:]] if len(node.output) > 2 and node.output[2] in used else [steps]
    constants = {"begin": -1, "end": END, "axis": 0}
    graph.initializer.extend(
        helper.make_tensor(names[key], onnx.TensorProto.INT64, [1], [value]) for key, value in constants.items()
    )
    begin, end, axis, last = (names[key] for key in ("begin", "end", "axis", "last"))
    made = [
        helper.make_node("Slice", [steps, begin, end, axis], [last], free(f"last_{hidden}", taken)),
        helper.make_node("Squeeze", [last, axis], [hidden], free(f"squeezed_{hidden}", taken)),
    ]
    _insert(graph, node, made)
    yield f"{label}: its last hidden state is taken from its output of all steps, which nothing used"


def _last_state(graph: onnx.GraphProto, node: onnx.NodeProto, label: str) -> Iterator[str]:
    """Unused states first, and no unused scan outputs."""
    used = uses(graph)
    body = _body(node)
    if body is None:
        return
    states = max(0, len(node.input) - 2)
    scans = range(states, len(node.output))
    kept = [index for index in scans if node.output[index] in used]
    order = sorted(range(states), key=lambda index: node.output[index] in used)
    dropped = len(scans) - len(kept)
    last_unused = states and node.output[states - 1] not in used and not kept
    if not dropped and not last_unused:
        return
    if not (kept or any(node.output[index] in used for index in range(states))):
        return
    inputs, outputs = list(node.input), list(node.output)
    within, given = [_copy(one) for one in body.output], [_copy(one) for one in body.input]
    node.input[:] = [*inputs[:2], *(inputs[2 + index] for index in order)]
    node.output[:] = [*(outputs[index] for index in order), *(outputs[index] for index in kept)]
    del body.input[2:], body.output[1:]
    body.input.extend(given[2 + index] for index in order)
    body.output.extend(within[1 + index] for index in (*order, *kept))
    what = ["states that nothing uses come first"] if order != list(range(states)) else []
    what += [f"{dropped} scan output{'s' if dropped > 1 else ''} that nothing uses left out"] if dropped else []
    yield f"{label}: {' and '.join(what)}"


def _copy(value: onnx.ValueInfoProto) -> onnx.ValueInfoProto:
    copied = onnx.ValueInfoProto()
    copied.CopyFrom(value)
    return copied


def _insert(graph: onnx.GraphProto, after: onnx.NodeProto, made: Sequence[onnx.NodeProto]) -> None:
    nodes: list[onnx.NodeProto] = []
    for node in graph.node:
        copied = onnx.NodeProto()
        copied.CopyFrom(node)
        nodes.append(copied)
        if node is after or node == after:
            nodes += made
    del graph.node[:]
    graph.node.extend(nodes)
