"""Loops and conditionals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import tensorrt as trt
from onnx import TensorProto, helper

from pluginkit.runtimes.nvidia.copying.plugin import CALLS, CopyingSetup, calls

from .engine import Network, compared, control, creator_of, data, gelu_of, loaded, run

SUM, GREATER = trt.ElementWiseOperation.SUM, trt.ElementWiseOperation.GREATER


def _loop(where: str) -> str:
    """y: the sum of tanh over three slices of x, with GELU somewhere."""
    made = Network()
    api, x = made.api, made.input("x", (3, 4))
    loop = api.add_loop()
    loop.add_trip_limit(made.constant(3, np.int32), trt.TripLimit.COUNT)
    slices = loop.add_iterator(made.gelu(x) if where == "before" else x, 0, False).get_output(0)
    if where == "iterator":
        slices = made.gelu(slices)
    if where == "invariant":
        total = api.add_reduce(made.gelu(x), trt.ReduceOperation.SUM, 1, False).get_output(0)
        slices = api.add_elementwise(slices, total, SUM).get_output(0)
    state = loop.add_recurrence(made.constant(np.zeros(4)))
    following = api.add_elementwise(state.get_output(0), slices, SUM).get_output(0)
    if where == "recurrence":
        following = made.gelu(following)
    state.set_input(1, api.add_activation(following, trt.ActivationType.TANH).get_output(0))
    y = loop.add_loop_output(state.get_output(0), trt.LoopOutput.LAST_VALUE).get_output(0)
    made.output(made.gelu(y) if where == "after" else y, "y")
    engine = made.engine()
    given = data(3, 4)
    right = np.zeros(4)
    for one in gelu_of(given) if where == "before" else given:
        step = gelu_of(one) if where == "iterator" else one
        right = right + step + (gelu_of(given).sum(0) if where == "invariant" else 0)
        right = np.tanh(gelu_of(right) if where == "recurrence" else right)
    right = gelu_of(right) if where == "after" else right
    return f"built, {compared(run(engine, {'x': given}), {'y': right}, 1e-4)}"


@control
def loop_before() -> str:
    return _loop("before")


@control
def loop_after() -> str:
    return _loop("after")


@control
def loop_invariant() -> str:
    return _loop("invariant")


@control
def loop_iterator() -> str:
    return _loop("iterator")


@control
def loop_recurrence() -> str:
    return _loop("recurrence")


def _value(name: str, kind: int, shape: Sequence[int | str]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def node(plugin: str, source: str, result: str, **fields: Any) -> onnx.NodeProto:
    """A plugin's node."""
    return helper.make_node(plugin, [source], [result], f"node_{result}", plugin_version="1", **fields)


def model(
    nodes: Sequence[onnx.NodeProto], inputs: Sequence[onnx.ValueInfoProto], constants: Sequence[onnx.TensorProto] = ()
) -> bytes:
    """An ONNX model with the output y."""
    graph = helper.make_graph(nodes, "g", inputs, [_value("y", TensorProto.FLOAT, ["m", 4])], constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return bytes(made.SerializeToString())


def _body(
    nodes: Sequence[onnx.NodeProto], inputs: Sequence[onnx.ValueInfoProto], outputs: Sequence[onnx.ValueInfoProto]
) -> onnx.GraphProto:
    return helper.make_graph(nodes, "body", inputs, outputs)


FLOAT, BOOL, INT64 = TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT64
ROWS: Sequence[int | str] = ["n", 4]
CONSTANTS = [
    helper.make_tensor("trips", INT64, [], [3]),
    helper.make_tensor("yes", BOOL, [], [True]),
    helper.make_tensor("limit", FLOAT, [], [0.1]),
    helper.make_tensor("zeros", FLOAT, [4], [0.0] * 4),
    helper.make_tensor("zero", INT64, [], [0]),
]


def _gelu(source: str, result: str) -> onnx.NodeProto:
    return node("CustomGeluPluginDynamic", source, result, type_id=0)


def _onnx_loop(inside: Sequence[onnx.NodeProto], going: onnx.NodeProto) -> str:
    """A Loop of three trips at most, whose state `s` becomes `s2`."""
    inputs = [_value("i", INT64, []), _value("c", BOOL, []), _value("s", FLOAT, ROWS)]
    outputs = [_value("going", BOOL, []), _value("s2", FLOAT, ROWS)]
    loop = helper.make_node("Loop", ["trips", "yes", "x"], ["y"], "loop", body=_body([*inside, going], inputs, outputs))
    return _parsed(model([loop], [_value("x", FLOAT, ROWS)], CONSTANTS))


def _parsed(proto: bytes) -> str:
    made = Network()
    made.parse(proto)
    made.profile(x=((1, 4), (2, 4), (6, 4)))
    made.build()
    return "built"


ALWAYS = helper.make_node("Identity", ["c"], ["going"], "still")


@control
def onnx_loop() -> str:
    return _onnx_loop([_gelu("s", "s2")], ALWAYS)


@control
def onnx_while() -> str:
    largest = helper.make_node("ReduceMax", ["s2"], ["largest"], "largest", keepdims=0)
    return _onnx_loop([_gelu("s", "s2"), largest], helper.make_node("Greater", ["largest", "limit"], ["going"], "more"))


@control
def onnx_if_in_loop() -> str:
    then = helper.make_graph([_gelu("s", "t")], "then", [], [_value("t", FLOAT, ROWS)])
    other = helper.make_graph([helper.make_node("Neg", ["s"], ["e"])], "else", [], [_value("e", FLOAT, ROWS)])
    first = helper.make_node("Equal", ["i", "zero"], ["first"], "first")
    choice = helper.make_node("If", ["first"], ["s2"], "if", then_branch=then, else_branch=other)
    return _onnx_loop([first, choice], ALWAYS)


@control
def onnx_scan() -> str:
    values = [_value("s", FLOAT, [4]), _value("e", FLOAT, [4])], [_value("s2", FLOAT, [4]), _value("o", FLOAT, [4])]
    nodes = [helper.make_node("Add", ["s", "e"], ["t"]), _gelu("t", "s2"), helper.make_node("Identity", ["s2"], ["o"])]
    scan = helper.make_node(
        "Scan", ["zeros", "x"], ["last", "y"], "scan", body=_body(nodes, *values), num_scan_inputs=1
    )
    return _parsed(model([scan], [_value("x", FLOAT, ROWS)], CONSTANTS))


@control
def onnx_iteration_number() -> str:
    """The first row is added to zeros; what is left is negated in the other iterations."""
    then = helper.make_graph([helper.make_node("Add", ["s", "row"], ["t"])], "then", [], [_value("t", FLOAT, [4])])
    other = helper.make_graph([helper.make_node("Neg", ["s"], ["e"])], "else", [], [_value("e", FLOAT, [4])])
    nodes = [
        helper.make_node("Gather", ["x", "i"], ["row"], "gather", axis=0),
        helper.make_node("Equal", ["i", "zero"], ["first"], "first"),
        helper.make_node("If", ["first"], ["s2"], "if", then_branch=then, else_branch=other),
        ALWAYS,
    ]
    inputs = [_value("i", INT64, []), _value("c", BOOL, []), _value("s", FLOAT, [4])]
    outputs = [_value("going", BOOL, []), _value("s2", FLOAT, [4])]
    loop = helper.make_node("Loop", ["trips", "yes", "zeros"], ["last"], "loop", body=_body(nodes, inputs, outputs))
    rows = helper.make_node("Unsqueeze", ["last", "axis"], ["y"], "rows")
    axis = helper.make_tensor("axis", INT64, [1], [0])
    return _parsed(model([loop, rows], [_value("x", FLOAT, ROWS)], [*CONSTANTS, axis]))


Branches = Callable[[Network, Any, Any], tuple[Any, Any]]


def _enqueued(engine: Any, right: Callable[[np.ndarray, bool], np.ndarray]) -> str:
    same, counts = set(), []
    for taken in (True, False):
        given, context = data(2, 4), engine.create_execution_context()
        before = len(CALLS)
        got = run(engine, {"x": given, "c": np.array(taken)}, context)
        same.add(compared(got, {"y": right(given, taken)}))
        counts.append(len(calls("enqueue", before)))
    return f"built, {' and '.join(sorted(same))}; enqueue {counts[0]} with true, {counts[1]} with false"


def _conditional(branches: Branches) -> str:
    """y: x where c is true, else -x; the copies are counted."""
    creator_of(CopyingSetup())
    made = Network()
    x, condition = made.input("x", (2, 4)), made.input("c", (), trt.bool)
    either = made.api.add_if_conditional()
    either.set_condition(condition)
    made.output(either.add_output(*branches(made, either, x)).get_output(0), "y")
    return _enqueued(loaded(made.build()), lambda given, taken: given if taken else -given)


def _negative(made: Network, tensor: Any) -> Any:
    return made.api.add_unary(tensor, trt.UnaryOperation.NEG).get_output(0)


@control
def if_branch() -> str:
    def branches(made: Network, either: Any, x: Any) -> tuple[Any, Any]:
        inside = either.add_input(x).get_output(0)
        return made.copy(inside), _negative(made, inside)

    return _conditional(branches)


@control
def if_both() -> str:
    def branches(made: Network, either: Any, x: Any) -> tuple[Any, Any]:
        inside = either.add_input(x).get_output(0)
        return made.copy(inside), made.copy(_negative(made, inside))

    return _conditional(branches)


@control
def if_two_in_one() -> str:
    def branches(made: Network, either: Any, x: Any) -> tuple[Any, Any]:
        inside = either.add_input(x).get_output(0)
        between = _negative(made, _negative(made, made.copy(inside)))
        return made.copy(between), _negative(made, inside)

    return _conditional(branches)


@control
def if_outside() -> str:
    def branches(made: Network, either: Any, x: Any) -> tuple[Any, Any]:
        before = either.add_input(made.copy(x)).get_output(0)
        inside = either.add_input(x).get_output(0)
        return made.api.add_identity(before).get_output(0), _negative(made, inside)

    return _conditional(branches)


@control
def onnx_if() -> str:
    creator_of(CopyingSetup())
    then = helper.make_graph([node("Copying", "x", "t")], "then", [], [_value("t", FLOAT, [2, 4])])
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["e"])], "else", [], [_value("e", FLOAT, [2, 4])])
    choice = helper.make_node("If", ["c"], ["y"], "if", then_branch=then, else_branch=other)
    made = Network()
    made.parse(model([choice], [_value("x", FLOAT, [2, 4]), _value("c", BOOL, [])]))
    return _enqueued(loaded(made.build()), lambda given, taken: given if taken else -given)


@control
def if_in_if() -> str:
    made = Network()
    x, condition = made.input("x", (8, 4)), made.input("c", (), trt.bool)
    outer, inner = made.api.add_if_conditional(), made.api.add_if_conditional()
    outer.set_condition(condition)
    inside = outer.add_input(x).get_output(0)
    inner.set_condition(outer.add_input(condition).get_output(0))
    within = inner.add_input(inside).get_output(0)
    magnitude = made.api.add_unary(within, trt.UnaryOperation.ABS).get_output(0)
    chosen = inner.add_output(made.gelu(within), magnitude).get_output(0)
    made.output(outer.add_output(chosen, _negative(made, inside)).get_output(0), "y")
    made.build()
    return "built"


@control
def if_plugin_decides() -> str:
    creator_of(CopyingSetup(types=["BOOL"]))
    made = Network()
    x = made.input("x", (2, 4))
    total = made.api.add_reduce(x, trt.ReduceOperation.SUM, 3, False).get_output(0)
    positive = made.api.add_elementwise(total, made.constant(0), GREATER).get_output(0)
    either = made.api.add_if_conditional()
    either.set_condition(made.copy(positive))
    inside = either.add_input(x).get_output(0)
    same = made.api.add_identity(inside).get_output(0)
    made.output(either.add_output(same, _negative(made, inside)).get_output(0), "y")
    made.build()
    return "built"
