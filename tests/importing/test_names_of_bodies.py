"""Bodies side by side may use one name: what one's tensor is isn't taken for what the other's is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

from pluginkit.importing import onnx_graph
from pluginkit.importing.implementations import find_implementations
from pluginkit.importing.importer import find_problems
from pluginkit.importing.rewrites import fixing
from pluginkit.network.networks import NetworkProfile

TWO = """<ir_version: 8, opset_import: ["" : 17]>
g (float[1, 8, 3] x, bool first, bool go) => (float[1, 8, 3] y, float[1, 8, 3] z)
  <int64 trips = {4}, int64 zero = {0}, int64 one = {1}, int64[1] at = {0}, int64[1] axis = {1}> {
  y = If (first) <
    then_branch = t () => (float[1, 8, 3] a) { k = Identity (one) starts = Unsqueeze (k, at) THEN },
    else_branch = e () => (float[1, 8, 3] a) { k = Identity (x) a = Neg (k) }>
  last, z = Loop (trips, go, zero, x) <body = b (int64 i, bool c, int64 k, float[1, 8, 3] s)
      => (bool still, int64 next, float[1, 8, 3] s2) {
    still = Identity (c)
    next = Add (k, one)
    a = Unsqueeze (k, at)
    stop = Unsqueeze (next, at)
    part = Slice (s, a, stop, axis)
    sum = ReduceSum <keepdims = 0> (part)
    s2 = Add (s, sum)
  }>
}"""


def two(then: str = "b = Neg (x)\n a = Relu (b)") -> onnx.ModelProto:
    found = parser.parse_model(TWO.replace("THEN", then))
    onnx.checker.check_model(found, full_check=True)
    return found


def own(graph: onnx.GraphProto) -> list[str]:
    return [name for node in graph.node for name in node.output]


def test_the_second_of_a_name_gets_another() -> None:
    model = two()
    onnx_graph.separate(model)
    onnx.checker.check_model(model, full_check=True)
    choice, loop = model.graph.node
    then, other = (graph for _, graph in onnx_graph.subgraphs(choice))
    ((_, body),) = onnx_graph.subgraphs(loop)
    # A branch's attributes come in the order of their names.
    both = [own(then), own(other)]
    assert sorted(map(len, both)) == [2, 4]
    assert not set(both[0]) & set(both[1])
    assert {"k_2", "a_2"} <= set(both[0]) | set(both[1])
    assert [value.name for value in body.input] == ["i", "c", "k_3", "s"]
    assert {"next", "still", "a_3"} <= set(own(body))
    assert model.graph.node[0].output == ["y"]


def test_a_new_name_is_nobodys() -> None:
    """The loop's `k_2` is the name of no node's input or output."""
    text = """<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x, bool first, int64 trips) => (float[2] y, float[2] z) {
      y = If (first) <
        then_branch = t () => (float[2] a) { k = Neg (x) a = Abs (k) },
        else_branch = e () => (float[2] b) { b = Neg (x) }>
      z = If (first) <
        then_branch = t2 () => (float[2] c) {
          k = Neg (x)
          c = Loop (trips, first, k) <body = l (int64 i, bool go, float[2] k_2) => (bool still, float[2] k_2) {
            still = Identity (go)
          }>
        },
        else_branch = e2 () => (float[2] d) { d = Neg (x) }>
    }"""
    model = parser.parse_model(text)
    onnx_graph.separate(model)
    onnx.checker.check_model(model, full_check=True)
    then = dict(onnx_graph.subgraphs(model.graph.node[1]))["then_branch"]
    assert own(then) == ["k_3", "c"]


def test_the_values_stay() -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    rng = np.random.default_rng(7)
    model, changed = two(), two()
    onnx_graph.separate(changed)
    assert changed != model
    for first in (True, False):
        feeds = {"x": rng.normal(size=(1, 8, 3)).astype(np.float32), "first": np.array(first), "go": np.array(True)}
        before, after = (onnxruntime.InferenceSession(one.SerializeToString()).run(None, feeds)
                         for one in (model, changed))  # fmt: skip
        for one, other in zip(before, after, strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_name_of_a_graph_around_stays_a_fault() -> None:
    """onnx refuses it, and so does onnxruntime: nothing is changed about it."""
    model = two()
    ((_, body),) = onnx_graph.subgraphs(model.graph.node[1])
    body.node[2].output[0] = body.node[4].input[1] = "x"
    onnx_graph.separate(model)
    assert "x" in own(body)


def loaded(folder: Path, model: onnx.ModelProto) -> onnx.ModelProto:
    onnx.save(model, folder / "model.onnx")
    return onnx_graph.load(folder / "model.onnx")


def test_rules_do_not_take_the_one_for_the_other(tmp_path: Path) -> None:
    """The axes are a constant in one branch; NVIDIA's parser refuses those of the other."""
    text = """<ir_version: 8, opset_import: ["" : 17]>
    g (float[1, n] x, bool first, int64[1] given) => (float[n] y) {
      y = If (first) <
        then_branch = t () => (float[n] a) { axes = Constant <value = int64[1] {0}> () a = Squeeze (x, axes) },
        else_branch = e () => (float[n] a) { axes = Neg (given) a = Squeeze (x, axes) }>
    }"""
    proto = loaded(tmp_path, parser.parse_model(text))
    found = find_problems(tmp_path / "model.onnx", proto, find_implementations(proto, (), onnx.defs.has), ())
    (node,) = [one.node for one in found if one.rule == "M21"]
    assert node.startswith("If/else_branch/(Squeeze that makes a")


def test_fix_rewrites_the_loop_and_gives_the_same(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    path, made = tmp_path / "model.onnx", tmp_path / "fixed.onnx"
    # By name alone the loop's part would have the branch's length.
    onnx.save(two("next = Identity (k)\n stop = Unsqueeze (next, at)\n b = Neg (x)\n a = Relu (b)"), path)
    shapes = {"x": ((1, 8, 3),) * 3, "first": ((),) * 3, "go": ((),) * 3}
    done = fixing.fix(path, made, (), NetworkProfile("default", shapes), seed=0, timeout=60)
    assert [change.split(":")[0] for change in done.changes] == ["Loop/body/(Slice that makes part)"]
    onnx.checker.check_model(str(made), full_check=True)
