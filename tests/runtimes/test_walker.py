"""The walker against onnxruntime, on models without a plugin, or whose plugin both can run (Add as 'plugin')."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

from pluginkit.interpreter import walker

Array = np.ndarray[Any, Any]
HEAD = '<ir_version: 8, opset_import: ["" : 17, "pluginkit" : 1]>\n'


def no_plugin(node: str, inputs: Sequence[Array]) -> Sequence[Array]:
    raise AssertionError(f"{node} is not a plugin")


def both(model: onnx.ModelProto, feeds: dict[str, Array]) -> dict[str, Array]:
    """Runs both, asserts that they agree in shape, type and value, and returns the walker's."""
    onnx.checker.check_model(model)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    theirs = session.run(None, feeds)
    ours = walker.run(model, "NoPlugin", no_plugin, feeds)
    for their, (name, our) in zip(theirs, ours.items(), strict=True):
        assert (our.shape, our.dtype) == (their.shape, their.dtype), name
        np.testing.assert_array_equal(our, their, err_msg=name)
    return ours


LOOP = (
    HEAD
    + """
agraph (int64 trips, float[N, 3] x) => (float[N, 3] last, float[T, N, 3] all, float[T] sums, int64[T] iters)
{
  yes = Constant <value: tensor = bool {1}> ()
  last, all, sums, iters = Loop <body = body (int64 i, bool going, float[N, 3] state)
      => (bool still, float[N, 3] next, float[N, 3] scan, float sum, int64 iter) {
    still = Identity (going)
    next = Add (state, x)
    scan = Mul (next, state)
    sum = ReduceSum <keepdims = 0> (scan)
    iter = Identity (i)
  }> (trips, yes, x)
}"""
)


@pytest.mark.parametrize("trips", [1, 2, 5])
def test_loop_stacks_scan_outputs(trips: int) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    ours = both(parser.parse_model(LOOP), {"trips": np.array(trips, np.int64), "x": x})
    assert ours["all"].shape == (trips, 2, 3)
    assert ours["sums"].shape == (trips,)


def test_loop_of_no_trips() -> None:
    x = np.ones((2, 3), np.float32)
    ours = both(parser.parse_model(LOOP), {"trips": np.array(0, np.int64), "x": x})
    assert ours["sums"].shape == (0,)
    assert ours["iters"].dtype == np.int64


WHILE = (
    HEAD
    + """
agraph (float x) => (float last, float[T] all)
{
  yes = Constant <value: tensor = bool {1}> ()
  limit = Constant <value: tensor = float {100}> ()
  last, all = Loop <body = body (int64 i, bool going, float state) => (bool still, float next, float scan) {
    next = Add (state, state)
    scan = Identity (next)
    still = Less (next, limit)
  }> (, yes, x)
}"""
)


@pytest.mark.parametrize("x", [1.0, 99.0, 3.5])
def test_loop_until_a_condition(x: float) -> None:
    ours = both(parser.parse_model(WHILE), {"x": np.array(x, np.float32)})
    assert ours["last"] >= 100


IF = (
    HEAD
    + """
agraph (bool flag, float[2, 3] x) => (float[2, 3] y)
{
  outer = Add (x, x)
  y = If (flag) <then_branch = yes () => (float[2, 3] a) { a = Mul (outer, x) },
                 else_branch = no () => (float[2, 3] b) { b = Sub (outer, x) }>
}"""
)


@pytest.mark.parametrize("flag", [True, False])
def test_if_uses_outer_values(flag: bool) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    ours = both(parser.parse_model(IF), {"flag": np.array(flag), "x": x})
    np.testing.assert_array_equal(ours["y"], 2 * x * x if flag else x)


NESTED = (
    HEAD
    + """
agraph (int64 trips, bool flag, float[2] x) => (float[2] last, float[T, 2] all)
{
  yes = Constant <value: tensor = bool {1}> ()
  outer = Mul (x, x)
  last, all = Loop <body = body (int64 i, bool going, float[2] state) => (bool still, float[2] next, float[2] scan) {
    still = Identity (going)
    between = Add (state, outer)
    next = If (flag) <then_branch = yes () => (float[2] a) {
      two = Constant <value: tensor = int64 {2}> ()
      go = Constant <value: tensor = bool {1}> ()
      a = Loop <body = inner (int64 j, bool g, float[2] s) => (bool t, float[2] n) {
        t = Identity (g)
        sum = Add (between, outer)
        n = Add (sum, s)
      }> (two, go, state)
    }, else_branch = no () => (float[2] b) { b = Sub (between, x) }>
    scan = Identity (between)
  }> (trips, yes, x)
}"""
)


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("trips", [0, 1, 3])
def test_nested_bodies_see_all_outer_values(flag: bool, trips: int) -> None:
    feeds = {"trips": np.array(trips, np.int64), "flag": np.array(flag), "x": np.array([1.5, -2], np.float32)}
    both(parser.parse_model(NESTED), feeds)


SCAN = (
    HEAD
    + """
agraph (float[2] start, float[T, 2] xs) => (float[2] last, float[T, 2] all)
{
  last, all = Scan <num_scan_inputs = 1, body = body (float[2] state, float[2] x) => (float[2] next, float[2] y) {
    next = Add (state, x)
    y = Mul (next, x)
  }> (start, xs)
}"""
)


def test_scan() -> None:
    xs = np.arange(8, dtype=np.float32).reshape(4, 2)
    both(parser.parse_model(SCAN), {"start": np.ones(2, np.float32), "xs": xs})


def interesting_floats() -> Array:
    special = [0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, 126.5, 127.4, 127.5, 128, -128.5, 1e9, -1e9, 65504, 65519.9, 65520,
               1e-8, 6e-8, 3e-8, np.inf, -np.inf]  # fmt: skip
    random = np.random.default_rng(1).normal(0, 40, 3000)
    return np.concatenate([special, random]).astype(np.float32)


def test_casts_to_float16_and_back() -> None:
    model = parser.parse_model(
        HEAD + "agraph (float[N] x) => (float16[N] h, float[N] f) { h = Cast<to = 10>(x) f = Cast<to = 1>(h) }"
    )
    x = np.append(interesting_floats(), np.float32(np.nan))
    ours = both(model, {"x": x})
    assert ours["h"].dtype == np.float16


@pytest.mark.parametrize("scale", [1.0, 0.037, 0.5, 3.25])
def test_quantize_and_dequantize(scale: float) -> None:
    graph = helper.make_graph(
        [
            helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
            helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"]),
        ],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N"])],
        [
            helper.make_tensor_value_info("q", TensorProto.INT8, ["N"]),
            helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N"]),
        ],
        [numpy_helper.from_array(np.array(scale, np.float32), "s"), numpy_helper.from_array(np.array(0, np.int8), "z")],
    )
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    ours = both(model, {"x": interesting_floats()})
    assert ours["q"].min() == -128
    assert ours["q"].max() == 127


@pytest.mark.parametrize("opset", [13, 17, 19])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_quantize_along_an_axis(axis: int, opset: int) -> None:
    size = (4, 3)[axis]
    graph = parser.parse_graph(f"""
        agraph (float[4, 3] x, float[{size}] s, uint8[{size}] z) => (uint8[4, 3] q, float[4, 3] y)
        {{ q = QuantizeLinear<axis = {axis}>(x, s, z) y = DequantizeLinear<axis = {axis}>(q, s, z) }}""")
    random = np.random.default_rng(2)
    feeds = {
        "x": random.normal(0, 30, (4, 3)).astype(np.float32),
        "s": random.uniform(0.1, 1, size).astype(np.float32),
        "z": random.integers(0, 255, size).astype(np.uint8),
    }
    both(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset)]), feeds)


PLUGIN = (
    HEAD
    + """
agraph (int64 trips, float[2] x) => (float[2] last)
{
  yes = Constant <value: tensor = bool {1}> ()
  first, unused = DOMAINPlug <alpha = 2.0> (x, x)
  last = Loop <body = body (int64 i, bool going, float[2] state) => (bool still, float[2] next) {
    still = Identity (going)
    next, side = DOMAINPlug (state, first)
  }> (trips, yes, first)
}"""
)


@pytest.mark.parametrize("domain", ["", "pluginkit."])
def test_plugin_nodes_go_to_the_function_by_name(domain: str) -> None:
    model = parser.parse_model(PLUGIN.replace("DOMAIN", domain))
    for index, node in enumerate(n for n in walker.nodes(model.graph) if n.op_type == "Plug"):
        node.name = f"p{index}"
        node.attribute.append(helper.make_attribute("plugin_version", "1"))
        node.attribute.append(helper.make_attribute("plugin_namespace", "acme" if index else ""))
    moved = onnx.load_from_string(walker.as_exported(model.SerializeToString(), "Plug"))
    assert {node.domain for node in walker.nodes(moved.graph)} == {""}
    first, second = ([one.name for one in n.attribute] for n in walker.nodes(moved.graph) if n.op_type == "Plug")
    assert "plugin_namespace" not in first
    assert "plugin_namespace" in second, "it is not one of the parser's defaults"
    assert "plugin_version" not in [*first, *second]
    calls = []

    def plug(node: str, inputs: Sequence[Array]) -> Sequence[Array]:
        calls.append(node)
        return [inputs[0] + inputs[1], inputs[0]]

    x = np.array([1, 2], np.float32)
    out = walker.run(model, "Plug", plug, {"trips": np.array(3, np.int64), "x": x})
    np.testing.assert_array_equal(out["last"], 8 * x)
    assert calls == ["p0", "p1", "p1", "p1"]
