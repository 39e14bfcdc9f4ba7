"""Patterns in models: what is found and replaced, and that it computes the same.

The plugin's nodes are run by onnxruntime itself: the grafted model gets a local function of the plugin's name, written
with another operator of ONNX's than those that were replaced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import parser

from pluginkit.creators.facts import CreatorFacts, FieldFacts
from pluginkit.errors import NothingSelected, UsageError
from pluginkit.grafting.expressions import evaluate
from pluginkit.grafting.grafter import PluginSignature, rewrite
from pluginkit.grafting.pattern import read
from pluginkit.patterns import Pattern

onnxruntime = pytest.importorskip("onnxruntime")

HEAD = '<ir_version: 8, opset_import: ["" : 20]>'


def creator(name: str, **fields: str) -> CreatorFacts:
    listed = tuple(FieldFacts(field, kind, 1) for field, kind in fields.items())
    return CreatorFacts(name, "1", "acme", "V3", "", "IPluginV3", listed)


def signature(inputs: Sequence[str], outputs: Sequence[str] = ("y",)) -> PluginSignature:
    return PluginSignature(tuple(inputs), len(outputs))


def toml(tmp_path: Path, text: str) -> Pattern:
    file = tmp_path / "pattern.toml"
    file.write_text(text)
    found = read(str(file), None)
    assert isinstance(found, Pattern)
    return found


def same(original: onnx.ModelProto, grafted: onnx.ModelProto, function: str, feeds: Mapping[str, Any]) -> None:
    """Both models give the same, the plugin's nodes by a local function."""
    whole = onnx.ModelProto()
    whole.CopyFrom(grafted)
    whole.functions.append(parser.parse_function(function))
    for graph in _graphs(whole.graph):
        for node in graph.node:
            if node.domain == "acme":
                kept = [one for one in node.attribute if not one.name.startswith("plugin_")]
                del node.attribute[:]
                node.attribute.extend(kept)
    a, b = (onnxruntime.InferenceSession(one.SerializeToString()).run(None, dict(feeds)) for one in (original, whole))
    for got, wanted in zip(b, a, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


def _graphs(graph: onnx.GraphProto) -> list[onnx.GraphProto]:
    inner = [one.g for node in graph.node for one in node.attribute if one.type == onnx.AttributeProto.GRAPH]
    return [graph, *(each for one in inner for each in _graphs(one))]


def operators(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for graph in _graphs(model.graph) for node in graph.node if node.op_type != "Constant"]


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


GELU = """
inputs = ["x", "bias"]
node = [
  { op = "Add", inputs = ["x", "bias"], outputs = ["h"] },
  { op = "Div", inputs = ["h", "root"], outputs = ["d"] },
  { op = "Erf", inputs = ["d"], outputs = ["e"] },
  { op = "Add", inputs = ["e", "one"], outputs = ["p"] },
  { op = "Mul", inputs = ["h", "p"], outputs = ["q"] },
  { op = "Mul", inputs = ["q", "half"], outputs = ["y"] },
]
constants = { bias = {}, root = 1.41421356, one = 1.0, half = 0.5 }
"""
# The second one has its commutative operators' inputs the other way around, and is in a branch, with Constant nodes.
GELU_MODEL = parser.parse_model(
    HEAD
    + """ g (float[n, 4] x, bool[1] go) => (float[n, 4] y)
<float root = {1.4142135}, float one = {1.0}, float half = {0.5}, float[4] b = {0.1, 0.2, 0.3, -0.1}> {
  h = Add(x, b)  d = Div(h, root)  e = Erf(d)  p = Add(e, one)  q = Mul(h, p)  m = Mul(q, half)
  y = If (go) <
    then_branch = t () => (float[n, 4] o) {
      root2 = Constant<value = float {1.4142135}>()  one2 = Constant<value = float {1.0}>()
      half2 = Constant<value = float {0.5}>()
      h2 = Add(b, m)  d2 = Div(h2, root2)  e2 = Erf(d2)  p2 = Add(one2, e2)  q2 = Mul(p2, h2)  o = Mul(half2, q2) },
    else_branch = f () => (float[n, 4] o2) { o2 = Neg(m) } >
}"""
)
BIAS_GELU = """<domain: "acme", opset_import: ["" : 20]> BiasGelu (x, bias) => (y) { h = Add(x, bias)  y = Gelu(h) }"""


def test_bias_and_gelu_in_the_graph_and_in_a_branch(tmp_path: Path) -> None:
    wanted = toml(tmp_path, GELU)
    grafted, places, found = rewrite(GELU_MODEL, wanted, creator("BiasGelu"), None)
    assert found == 2
    assert sorted(operators(grafted)) == ["BiasGelu", "BiasGelu", "If", "Neg"]
    assert [one.inputs for one in places] == [("x", "b"), ("m", "b")]
    for go in (True, False):
        same(GELU_MODEL, grafted, BIAS_GELU, {"x": numbers(3, 4), "go": np.array([go])})
    # What only the replaced nodes used is gone, what was declared stays.
    assert [one.name for one in grafted.graph.initializer] == ["b"]
    assert [one.name for one in grafted.graph.output] == ["y"]
    assert ("acme", 1) in {(one.domain, one.version) for one in grafted.opset_import}


def test_the_nth_place_alone(tmp_path: Path) -> None:
    grafted, places, found = rewrite(GELU_MODEL, toml(tmp_path, GELU), creator("BiasGelu"), None, [2])
    assert (found, [one.number for one in places]) == (2, [2])
    assert operators(grafted).count("Erf") == 1
    same(GELU_MODEL, grafted, BIAS_GELU, {"x": numbers(3, 4), "go": np.array([True])})
    with pytest.raises(UsageError, match=r"no place 3: the pattern fits 2"):
        rewrite(GELU_MODEL, toml(tmp_path, GELU), creator("BiasGelu"), None, [3])


GROUP_NORM_MODEL = parser.parse_model(
    HEAD
    + """ g (float[n, 6, 4, 4] x) => (float[n, 6, 4, 4] y)
<int64[3] split = {0, 3, -1}, float[3] ones = {1.0, 1.0, 1.0}, float[3] zeros = {0.0, 0.0, 0.0},
 float[6, 1, 1] gamma = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, float[6, 1, 1] beta = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6}> {
  flat = Reshape(x, split)
  normed = InstanceNormalization<epsilon = 0.001>(flat, ones, zeros)
  shape = Shape(x)
  back = Reshape(normed, shape)
  scaled = Mul(back, gamma)
  y = Add(scaled, beta)
}"""
)
GROUP_NORM = """
inputs = ["x", "gamma", "beta"]
node = [
  { op = "Reshape", inputs = ["x", "split"], outputs = ["flat"] },
  { op = "InstanceNormalization", inputs = ["flat", "one", "nil"], outputs = ["norm"], attributes = { epsilon = "e" } },
  { op = "Reshape", inputs = ["norm", "shape"], outputs = ["back"] },
  { op = "Mul", inputs = ["back", "gamma"], outputs = ["scaled"] },
  { op = "Add", inputs = ["scaled", "beta"], outputs = ["y"] },
]
[constants]
one = 1.0
nil = 0.0
split = {}
[attributes]
num_groups = "split[1]"
epsilon = "e"
"""


def test_group_norm_from_instance_normalization(tmp_path: Path) -> None:
    """The number of groups from the constant of a Reshape, epsilon from an attribute."""
    made = creator("GroupNorm", num_groups="kINT32", epsilon="kFLOAT32")
    grafted, (place,), _ = rewrite(GROUP_NORM_MODEL, toml(tmp_path, GROUP_NORM), made, None)
    assert place.attributes == {"num_groups": 3, "epsilon": pytest.approx(0.001)}
    assert operators(grafted) == ["GroupNorm"]  # the Shape, too, is gone
    function = """<domain: "acme", opset_import: ["" : 21]> GroupNorm <num_groups, epsilon> (x, gamma, beta) => (y) {
      c = Constant<value_ints = [6]>()  g = Reshape(gamma, c)  b = Reshape(beta, c)
      y = GroupNormalization<num_groups: int = @num_groups, epsilon: float = @epsilon>(x, g, b) }"""
    newer = onnx.ModelProto()
    newer.CopyFrom(grafted)
    newer.opset_import[0].version = 21
    same(GROUP_NORM_MODEL, newer, function, {"x": numbers(2, 6, 4, 4)})


def test_a_constant_that_is_another_is_no_place_and_said(tmp_path: Path) -> None:
    other = onnx.ModelProto()
    other.CopyFrom(GROUP_NORM_MODEL)
    ones = next(one for one in other.graph.initializer if one.name == "ones")
    ones.CopyFrom(onnx.numpy_helper.from_array(np.array([1, 1, 2], np.float32), "ones"))
    with pytest.raises(NothingSelected, match=r"one is \[1.0, 1.0, 2.0\], not 1.0"):
        rewrite(other, toml(tmp_path, GROUP_NORM), creator("GroupNorm", num_groups="kINT32", epsilon="kFLOAT32"), None)


def test_layer_norm_by_a_python_function(tmp_path: Path) -> None:
    """The pattern is a function of onnxscript's rewriter; a second one makes the attributes."""
    (tmp_path / "mine.py").write_text(
        "def norm(op, x, gamma, beta, eps, two):\n"
        "    centered = op.Sub(x, op.ReduceMean(x, [-1]))\n"
        "    variance = op.ReduceMean(op.Pow(centered, two), [-1])\n"
        "    return op.Add(op.Mul(op.Div(centered, op.Sqrt(op.Add(variance, eps))), gamma), beta)\n\n\n"
        "def norm_attributes(eps):\n"
        "    return {'epsilon': float(eps)}\n"
    )
    model = parser.parse_model(
        HEAD
        + """ g (float[n, 4] x) => (float[n, 4] y)
    <int64[1] axis = {-1}, float eps = {0.01}, float two = {2.0}, float[4] gamma = {1.0, 2.0, 3.0, 4.0},
     float[4] beta = {0.1, 0.2, 0.3, 0.4}> {
      mean = ReduceMean(x, axis)  centered = Sub(x, mean)  squared = Pow(centered, two)
      variance = ReduceMean(squared, axis)  more = Add(variance, eps)  root = Sqrt(more)
      normed = Div(centered, root)  scaled = Mul(normed, gamma)  y = Add(scaled, beta)
    }"""
    )
    wanted = read(f"{tmp_path / 'mine.py'}:norm", None)
    of_norm = signature(["x", "gamma", "beta"])
    grafted, (place,), _ = rewrite(model, wanted, creator("LayerNorm", epsilon="kFLOAT32"), of_norm)
    assert (place.inputs, place.attributes) == (("x", "gamma", "beta"), {"epsilon": pytest.approx(0.01)})
    function = """<domain: "acme", opset_import: ["" : 20]> LayerNorm <epsilon> (x, gamma, beta) => (y) {
      y = LayerNormalization<epsilon: float = @epsilon>(x, gamma, beta) }"""
    same(model, grafted, function, {"x": numbers(3, 4)})


SWIGLU_MODEL = parser.parse_model(
    HEAD
    + """ g (float[n, 8] x) => (float[n, 4] y)
<int64[2] halves = {4, 4}> {
  gate, up = Split<axis = 1>(x, halves)  s = Sigmoid(gate)  silu = Mul(gate, s)  y = Mul(silu, up)
}"""
)
SWIGLU = """<domain: "acme", opset_import: ["" : 20]> SwiGlu (gate, up) => (y) {
  s = Sigmoid(gate)  g = Mul(s, gate)  y = Mul(up, g) }"""


@pytest.mark.parametrize("pattern", ["values:gate,up->y", "chain:Sigmoid,Mul,Mul", "nodes:s,silu,product"])
def test_swiglu_by_values_by_a_chain_and_by_nodes(pattern: str) -> None:
    named = onnx.ModelProto()
    named.CopyFrom(SWIGLU_MODEL)
    for node, name in zip(named.graph.node, ("split", "s", "silu", "product"), strict=True):
        node.name = name
    grafted, (place,), _ = rewrite(named, read(pattern, None), creator("SwiGlu"), signature(["gate", "up"]))
    assert operators(grafted) == ["Split", "SwiGlu"]
    assert place.inputs == ("gate", "up")
    same(named, grafted, SWIGLU, {"x": numbers(3, 8)})


def test_an_embedding_and_a_pad_by_the_kind_of_operator(tmp_path: Path) -> None:
    """A table and ids; pads from a constant as a list, the mode as a text."""
    model = parser.parse_model(
        HEAD
        + """ g (int64[n] ids) => (float[n, k] y)
    <float[3, 2] table = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, int64[4] pads = {0, 1, 0, 1}> {
      rows = Gather(table, ids)  y = Pad<mode = "reflect">(rows, pads) }"""
    )
    gather = toml(
        tmp_path, 'inputs = ["table", "ids"]\nnode = [{ op = "Gather", inputs = ["table", "ids"], outputs = ["rows"] }]'
    )
    grafted, _, _ = rewrite(model, gather, creator("Embedding"), None)
    function = (
        '<domain: "acme", opset_import: ["" : 20]> Embedding (table, ids) => (y) { y = Gather<axis = 0>(table, ids) }'
    )
    same(model, grafted, function, {"ids": np.array([2, 0, 1])})
    node = '{ op = "Pad", inputs = ["x", "pads"], outputs = ["y"], attributes = { mode = "mode" } }'
    text = f'inputs = ["x"]\nnode = [{node}]\n'
    made = creator("MyPad", pads="kINT64", mode="kCHAR")
    _, (place,), _ = rewrite(model, toml(tmp_path, text + "constants = { pads = {} }"), made, None)
    assert place.attributes == {"pads": [0, 1, 0, 1], "mode": "reflect"}
    only = text.replace('mode = "mode"', 'mode = { equals = "edge" }')
    with pytest.raises(NothingSelected):
        rewrite(model, toml(tmp_path, only), made, None)


def test_an_attribute_that_a_node_leaves_out_has_onnx_default(tmp_path: Path) -> None:
    model = parser.parse_model(HEAD + " g (float[n] x) => (float[n] y) <int64[2] p = {1, 1}> { y = Pad(x, p) }")
    node = '{ op = "Pad", inputs = ["x", "pads"], outputs = ["y"], attributes = { mode = MODE } }'
    text = f'inputs = ["x"]\nnode = [{node}]\nconstants = {{ pads = {{}} }}\n'
    made = creator("MyPad", pads="kINT64", mode="kCHAR")
    _, (place,), _ = rewrite(model, toml(tmp_path, text.replace("MODE", '"mode"')), made, None)
    assert place.attributes["mode"] == "constant"
    rewrite(model, toml(tmp_path, text.replace("MODE", '{ equals = "constant" }')), made, None)
    with pytest.raises(NothingSelected, match="mode of its Pad is constant, not reflect"):
        rewrite(model, toml(tmp_path, text.replace("MODE", '{ equals = "reflect" }')), made, None)


def test_folding_makes_a_constant_of_pads_that_are_computed(tmp_path: Path) -> None:
    """As PyTorch exports them: a Concat, a Reshape and slices of constants."""
    model = parser.parse_model(
        HEAD
        + """ g (float[n, 2] x) => (float[n, k] y)
    <int64[2] first = {0, 1}, int64[2] last = {0, 2}> { pads = Concat<axis = 0>(first, last)  y = Pad(x, pads) }"""
    )
    wanted = toml(
        tmp_path,
        'inputs = ["x"]\nnode = [{ op = "Pad", inputs = ["x", "pads"], outputs = ["y"] }]\nconstants = { pads = {} }',
    )
    made = creator("MyPad", pads="kINT64")
    with pytest.raises(NothingSelected, match="pads is not a constant"):
        rewrite(model, wanted, made, None)
    _, (place,), _ = rewrite(model, wanted, made, None, fold=True)
    assert place.attributes == {"pads": [0, 1, 0, 2]}


def blocks(second: str = "0.5", **metadata: str) -> onnx.ModelProto:
    model = parser.parse_model(
        HEAD
        + """ g (float[n, 4] x) => (float[n, 4] y)
    <float a = {0.5}, float b = {SECOND}> {
      t = Mul(x, a)  u = Tanh(t)  v = Relu(u)  w = Mul(v, b)  y = Tanh(w)
    }""".replace("SECOND", second)
    )
    scopes = ["layer.0/act", "layer.0/act", "mid", "layer.1/act", "layer.1/act"]
    for node, scope in zip(model.graph.node, scopes, strict=True):
        if metadata:
            listed = str(["", scope.split("/")[0], scope.replace("/", "."), "mul"])
            node.metadata_props.append(onnx.StringStringEntryProto(key=metadata["key"], value=listed))
        else:
            node.name = f"/encoder/{scope}/{node.op_type}"
    return model


HALF_TANH = """<domain: "acme", opset_import: ["" : 20]> HalfTanh <factor> (x) => (y) {
  f = Constant<value_float: float = @factor>()  m = Mul(x, f)  y = Tanh(m) }"""


@pytest.mark.parametrize(
    ("scope", "key"), [("/encoder/layer.*/act", ""), ("layer.*.act", "pkg.torch.onnx.name_scopes")]
)
def test_a_modules_scope(tmp_path: Path, scope: str, key: str) -> None:
    """By the names of TorchScript's exporter and by the metadata of the dynamo exporter: a node for each module."""
    model = blocks("0.25", **({"key": key} if key else {}))
    wanted = toml(tmp_path, f'scope = "{scope}"\nbind = {{ factor = "[ab]" }}\n')
    grafted, places, found = rewrite(model, wanted, creator("HalfTanh", factor="kFLOAT32"), signature(["x"]))
    assert (found, [one.attributes for one in places]) == (2, [{"factor": 0.5}, {"factor": 0.25}])
    assert operators(grafted) == ["HalfTanh", "Relu", "HalfTanh"]
    same(model, grafted, HALF_TANH, {"x": numbers(3, 4)})


def test_constants_that_differ_between_places() -> None:
    with pytest.raises(UsageError, match=r"a is 0.5 in .*layer.0.*, b is 0.25 in .*layer.1"):
        rewrite(blocks("0.25"), read("scope:/encoder/layer.*/act", None), creator("Fixed"), signature(["x"]))
    _, places, _ = rewrite(blocks(), read("scope:/encoder/layer.*/act", None), creator("Fixed"), signature(["x"]))
    assert len(places) == 2


@pytest.mark.parametrize(
    ("metadata", "modules"),
    [({}, "/encoder/layer.0/act, /encoder/mid, "), ({"key": "pkg.torch.onnx.name_scopes"}, "/layer.0.act, /mid, ")],
)
def test_a_scope_that_no_module_has_is_told_the_modules(metadata: dict[str, str], modules: str) -> None:
    with pytest.raises(NothingSelected, match=f"pattern. Its nodes are in {modules}"):
        rewrite(blocks(**metadata), read("scope:/decoder/*", None), creator("Fixed"), signature(["x"]))


CHAIN = parser.parse_model(
    HEAD
    + """ g (float[n] x) => (float[n] y, float[n] c) {
  a = Relu(x)  b = Relu(a)  c = Relu(b)  d = Neg(b)  y = Add(c, d) }"""
)


@pytest.mark.parametrize(
    ("pattern", "error", "message"),
    [
        ("chain:Relu,Relu", UsageError, "makes 2 values that are used outside, b, c, and the plugin has 1 output"),
        ("chain:Relu,Tanh", NothingSelected, r"matches the pattern\. The model has no Tanh\.\n"),
        ("nodes:nothing", UsageError, "no node 'nothing'"),
        ("values:x->c", UsageError, "its value b is used by"),
        ("values:b->y", UsageError, "its value c is used by the graph"),
        ("values:a->y", UsageError, "its value c is used by the graph"),
        ("values:x", UsageError, "has no '->'"),
        ("values:x->nothing", NothingSelected, r"matches the pattern\. No node of the model makes 'nothing'\."),
        ("scope:/nothing/*", NothingSelected, r"matches the pattern\. Its nodes name no modules\."),
        ("something", UsageError, "is not a pattern"),
        ("missing.toml", UsageError, "cannot be read"),
        ("missing.py:function", UsageError, "no file"),
    ],
)
def test_patterns_that_do_not_fit(pattern: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        rewrite(CHAIN, read(pattern, None), creator("Twice"), signature(["x"]))


def test_places_that_overlap() -> None:
    model = parser.parse_model(HEAD + " g (float[n] x) => (float[n] y) { a = Relu(x)  b = Relu(a)  y = Relu(b) }")
    twice = read("chain:Relu,Relu", None)
    with pytest.raises(UsageError, match=r"Places 1 and 2 overlap: both have node \(Relu that makes b\)"):
        rewrite(model, twice, creator("Twice"), signature(["x"]))
    grafted, _, _ = rewrite(model, twice, creator("Twice"), signature(["x"]), [2])
    assert operators(grafted) == ["Relu", "Twice"]


def test_a_region_around_another_node_is_refused() -> None:
    """Neg stands between two of its nodes: what goes in follows from what comes out."""
    model = parser.parse_model(HEAD + " g (float[n] x) => (float[n] y) { a = Relu(x)  b = Neg(a)  y = Add(a, b) }")
    for node, name in zip(model.graph.node, "abc", strict=True):
        node.name = name
    two = signature(["x", "z"], ["y", "w"])
    with pytest.raises(UsageError, match="depends on one of its outputs"):
        rewrite(model, read("nodes:a,c", None), creator("Two"), two)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("chain = ['Relu']\nscope = 'a'", "this has chain and scope"),
        ("", "this has none of them"),
        ("chain = ['Relu']\nnothing = 1", "nothing"),
        ("chain = [", "is not TOML"),
        (f"chain = {'[' * 9999}", "is not TOML"),
        ("values = { from = ['a'] }", "values has from and to"),
    ],
)
def test_pattern_files_that_are_wrong(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        toml(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("shape[1]", 32),
        ("1 / scale", 4.0),
        ("-scale + 1", 0.75),
        ("[shape[0], len(shape)]", [1, 3]),
        ("sqrt(shape[1] * 2)", 8.0),
        ("mode", "reflect"),
        ("shape", [1, 32, -1]),
    ],
)
def test_expressions(text: str, value: object) -> None:
    names = {"shape": np.array([1, 32, -1]), "scale": np.array(0.25, np.float32), "mode": b"reflect"}
    assert evaluate(text, names) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("width", "binds no 'width'"),
        ("shape[7]", "can't be computed"),
        ("1 / 0", "can't be computed"),
        ("__import__('os')", "is not taken"),
        ("shape.sum()", "is not taken"),
        ("1 +", "is not an expression"),
        ("'a' * 999999999999999999", "can't be computed: MemoryError"),
        (f"{'(' * 99}1{')' * 99}{' + 1' * 5000}", "can't be computed"),
    ],
)
def test_expressions_that_are_none(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        evaluate(text, {"shape": np.array([1, 2])})


SLICE_MODEL = parser.parse_model(
    HEAD
    + """ g (float[n] x) => (float[k] y)
<int64[1] start = {1}, int64[1] end = {9223372036854775807}, int64[1] axis = {0}> { y = Slice(x, start, end, axis) }"""
)
SLICE = """
inputs = ["x"]
node = [{ op = "Slice", inputs = ["x", "start", "end", "axis"], outputs = ["y"] }]
constants = { start = {}, end = {}, axis = {} }
"""


def test_the_greatest_int64_stays_what_it_is(tmp_path: Path) -> None:
    """Exporters write it for `to the end`; float64 makes one more of it."""
    grafted, (place,), _ = rewrite(SLICE_MODEL, toml(tmp_path, SLICE), creator("Tail", end="kINT64"), None)
    assert place.attributes == {"end": 9223372036854775807}
    (node,) = grafted.graph.node
    assert next(one.i for one in node.attribute if one.name == "end") == 9223372036854775807


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("end", "kINT32", "is kINT32, and 9223372036854775807 is computed"),
        ("start[0] - 130", "kINT8", "is kINT8, and -129 is computed"),
        ("float('inf')", "kINT32", "is an integer, and inf"),
        ("start[0] / 2", "kINT32", "is an integer, and 0.5"),
        ("['a', 'b']", "kFLOAT32", r"is a number, and \['a', 'b'\]"),
        ("'a'", "kINT32", "is a number, and 'a'"),
        ("[]", "kFLOAT32", "is one number"),
        ("[[1], [1, 2]]", "kFLOAT32", "is a number, and"),
    ],
)
def test_attributes_that_a_field_cannot_hold(tmp_path: Path, text: str, kind: str, message: str) -> None:
    wanted = toml(tmp_path, f'{SLICE}\n[attributes]\nf = "{text}"')
    with pytest.raises(UsageError, match=message):
        rewrite(SLICE_MODEL, wanted, creator("Tail", f=kind), None)


def words_equal() -> onnx.ModelProto:
    """Two comparisons with constants that are texts."""
    strings = [onnx.helper.make_tensor(name, onnx.TensorProto.STRING, [1], [name.encode()]) for name in "uv"]
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Equal", ["x", name], [f"is_{name}"], name=f"equal_{name}") for name in "uv"],
        "g",
        [value("x", onnx.TensorProto.STRING, ["n"])],
        [value(f"is_{name}", onnx.TensorProto.BOOL, ["n"]) for name in "uv"],
        strings,
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=8)


def test_constants_that_are_texts(tmp_path: Path) -> None:
    pattern = 'inputs = ["x"]\nnode = [{ op = "Equal", inputs = ["x", "word"], outputs = ["y"] }]\n'
    wanted = toml(tmp_path, pattern + "constants = { word = {} }")
    _, places, _ = rewrite(words_equal(), wanted, creator("Word", word="kCHAR"), None)
    assert [one.attributes for one in places] == [{"word": "u"}, {"word": "v"}]
    with pytest.raises(UsageError, match=r"u is \['u'\] in equal_u, v is \['v'\] in equal_v"):
        rewrite(words_equal(), wanted, creator("Word"), None)
    for rule in ("1.0", "{ min = 0 }"):
        bound = toml(tmp_path, f'chain = ["Equal"]\nbind = {{ word = "[uv]" }}\nconstants = {{ word = {rule} }}')
        with pytest.raises(UsageError, match="word is b'u', no number"):
            rewrite(words_equal(), bound, creator("Word"), signature(["x"]))


def test_small_constants_that_differ(tmp_path: Path) -> None:
    """The epsilons of two norms: 1e-12 is not 1e-9."""
    model = parser.parse_model(
        HEAD
        + """ g (float[n] x) => (float[n] y)
    <float a = {1e-12}, float b = {1e-9}> { h = Add(x, a)  i = Sqrt(h)  y = Add(i, b) }"""
    )
    with pytest.raises(UsageError, match="different constants"):
        rewrite(model, read("chain:Add", None), creator("Plus"), signature(["x"]))


def test_the_default_domain_by_its_long_name(tmp_path: Path) -> None:
    """What a node leaves out is of the opset that the model imports, whichever way it writes the domain."""
    node = '{ op = "Softmax", inputs = ["x"], outputs = ["y"], attributes = { axis = "axis" } }'
    wanted = toml(tmp_path, f'inputs = ["x"]\nnode = [{node}]')
    model = parser.parse_model(HEAD + " g (float[n, c, d] x) => (float[n, c, d] y) { y = Softmax(x) }")
    for opset, domain, axis in ((20, "", -1), (20, "ai.onnx", -1), (11, "", 1), (11, "ai.onnx", 1)):
        model.opset_import[0].version, model.opset_import[0].domain = opset, domain
        _, (place,), _ = rewrite(model, wanted, creator("MySoftmax", axis="kINT32"), None)
        assert place.attributes == {"axis": axis}


def test_a_model_with_a_plugin_in_the_default_domain() -> None:
    """onnx's checker refuses it before and after; NVIDIA's parser takes it."""
    model = onnx.ModelProto()
    model.CopyFrom(CHAIN)
    model.graph.node.add(op_type="Other_TRT", input=["x"], output=["z"])
    model.graph.output.add(name="z").type.CopyFrom(model.graph.output[0].type)
    grafted, _, _ = rewrite(model, read("chain:Neg", None), creator("Minus"), signature(["x"]))
    assert operators(grafted).count("Minus") == 1


FUNCTION_MODEL = parser.parse_model(
    """<ir_version: 8, opset_import: ["" : 20, "my" : 1]>
g (float[n] x) => (float[n] y) { y = my.Leak <slope = 0.3> (x) }
<domain: "my", opset_import: ["" : 20]> Leak <slope> (x) => (y) {
  y = LeakyRelu <alpha : float = @slope> (x) }"""
)


def test_a_constant_that_is_an_attribute(tmp_path: Path) -> None:
    node = '{ op = "LeakyRelu", inputs = ["x"], outputs = ["y"], attributes = { alpha = "alpha" } }'
    wanted = toml(tmp_path, f'inputs = ["x"]\nnode = [{node}]\nconstants = {{ alpha = 0.3 }}')
    model = parser.parse_model(HEAD + " g (float[n] x) => (float[n] y) { y = LeakyRelu<alpha = 0.3>(x) }")
    with pytest.raises(NothingSelected, match="alpha is not a constant"):
        rewrite(model, wanted, creator("MyLeak", alpha="kFLOAT32"), None)


def test_an_attribute_that_is_an_argument_of_a_local_function(tmp_path: Path) -> None:
    """It has no one value; left out, the plugin's field would have its default."""
    node = '{ op = "LeakyRelu", inputs = ["x"], outputs = ["y"], attributes = { alpha = "alpha" } }'
    wanted = toml(tmp_path, f'inputs = ["x"]\nnode = [{node}]')
    with pytest.raises(NothingSelected, match="alpha is slope of the local function"):
        rewrite(FUNCTION_MODEL, wanted, creator("MyLeak", alpha="kFLOAT32"), None)
    bound = toml(tmp_path, 'chain = ["LeakyRelu"]\nbind = { alpha = "LeakyRelu.alpha" }')
    with pytest.raises(UsageError, match="alpha is a number, and None is computed"):
        rewrite(FUNCTION_MODEL, bound, creator("MyLeak", alpha="kFLOAT32"), signature(["x"]))


@pytest.mark.parametrize(
    ("inputs", "outputs", "message"),
    [
        (["/Mul_output_0"], ["y"], "'/Mul_output_0' is not a valid name"),
        (["op"], ["y"], "'op' is not a valid name"),
        (["class"], ["y"], "'class' is not a valid name"),
        (["x"], ["y", "y"], "Two nodes of the pattern make 'y'"),
        (["y"], ["y"], "^The pattern's nodes have a circle"),
    ],
)
def test_patterns_whose_values_are_wrong(tmp_path: Path, inputs: list[str], outputs: list[str], message: str) -> None:
    nodes = ", ".join(f'{{ op = "Relu", inputs = {inputs}, outputs = ["{one}"] }}' for one in outputs)
    with pytest.raises(UsageError, match=message):
        rewrite(CHAIN, toml(tmp_path, f"inputs = {inputs}\nnode = [{nodes}]"), creator("Twice"), None)


def test_a_python_file_with_a_dataclass_and_files_that_are_wrong(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    function = "def f(op, x):\n    return op.Neg(x)\n"
    of_class = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\n"
    )
    file.write_text(of_class + function)
    grafted, _, _ = rewrite(CHAIN, read(f"{file}:f", None), creator("Minus"), signature(["x"]))
    assert operators(grafted).count("Minus") == 1
    for text, message in (
        ("import sys\nsys.exit(0)\n", "SystemExit: 0"),
        ("def f(op, x)\n", "SyntaxError"),
        (function + "f_attributes = 3\n", "f_attributes is not a function"),
        ("g = 1\n", "has no function f"),
    ):
        file.write_text(text)
        with pytest.raises(UsageError, match=message):
            read(f"{file}:f", None)


def test_operators_in_a_choice_stand_either_way_around(tmp_path: Path) -> None:
    """Of onnxscript's OrValue, of both of its kinds: values of different operators, and of the same one."""
    file = tmp_path / "mine.py"
    file.write_text(
        "from onnxscript.rewriter.pattern import OrValue\n"
        "def f(op, x, gamma):\n"
        "    return op.Relu(OrValue([op.Mul(op.Add(x, 1.0), gamma), op.Div(x, gamma)]))\n"
        "def g(op, x, gamma):\n"
        "    return op.Relu(OrValue([op.Mul(op.Neg(x), gamma), op.Mul(op.Abs(x), gamma)]))\n"
    )
    for name, text in (
        ("f", "a = Add(x, one)  m = Mul(a, gamma)"),
        ("f", "a = Add(one, x)  m = Mul(gamma, a)"),
        ("f", "m = Div(x, gamma)"),
        ("g", "a = Abs(x)  m = Mul(gamma, a)"),
        ("g", "a = Neg(x)  m = Mul(a, gamma)"),
    ):
        model = parser.parse_model(
            f"{HEAD} g (float[n] x, float[n] gamma) => (float[n] y) <float one = {{1.0}}> {{ {text}  y = Relu(m) }}"
        )
        grafted, (place,), _ = rewrite(model, read(f"{file}:{name}", None), creator("Scale"), signature(["x", "gamma"]))
        assert (operators(grafted), place.inputs) == (["Scale"], ("x", "gamma"))


def test_names_of_nodes_that_were_grafted_before() -> None:
    model, pattern, minus = CHAIN, read("chain:Relu", None), creator("Twice")
    for _ in range(3):
        model, _, _ = rewrite(model, pattern, minus, signature(["x"]), [1])
    assert [one.name for one in model.graph.node if one.domain == "acme"] == ["Twice_1", "Twice_2", "Twice_3"]


def sums(count: int, first: str, other: str = "b{0}") -> tuple[str, str]:
    """A chain of Adds as a pattern and as a model's text, each of whose Adds stands the other way around than the next;
    it begins with an operator."""
    nodes = [f'{{ op = "{first}", inputs = ["x"], outputs = ["v0"] }}']
    lines = [f"v0 = {first}(x)"]
    for i in range(count):
        name = other.format(i)
        nodes.append(f'{{ op = "Add", inputs = ["v{i}", "{name}"], outputs = ["v{i + 1}"] }}')
        lines.append(f"v{i + 1} = Add({f'v{i}, {name}' if i % 2 else f'{name}, v{i}'})")
    return f'inputs = ["x"]\nnode = [{", ".join(nodes)}]', "  ".join(lines)


def test_a_chain_of_thirty_adds(tmp_path: Path) -> None:
    """A rule for each order of all of them would be 2^30."""
    text, lines = sums(30, "Relu")
    constants = ", ".join(f"float b{i} = {{{i}.0}}" for i in range(30))
    model = parser.parse_model(f"{HEAD} g (float[n] x) => (float[n] v30) <{constants}> {{ {lines} }}")
    every = f"{text}\nconstants = {{ {', '.join(f'b{i} = {i}' for i in range(30))} }}"
    grafted, places, _ = rewrite(model, toml(tmp_path, every), creator("Sum"), None)
    assert (operators(grafted), len(places)) == (["Sum"], 1)
    with pytest.raises(NothingSelected, match=r"b0 is 0.0, not 7"):
        rewrite(model, toml(tmp_path, every.replace("b0 = 0,", "b0 = 7,")), creator("Sum"), None)
    other, _ = sums(30, "Tanh")
    with pytest.raises(NothingSelected, match=r"No place in the model matches the pattern\. The model has no Tanh\.\n"):
        rewrite(model, toml(tmp_path, other), creator("Sum"), None)


def test_a_value_that_is_used_twice_decides_the_orders(tmp_path: Path) -> None:
    """Both inputs of each Add may be either value, until the last operator says which is which."""
    nodes = [f'{{ op = "Add", inputs = ["{"xy"[i % 2]}", "{"yx"[i % 2]}"], outputs = ["s{i}"] }}' for i in range(12)]
    nodes += ['{ op = "Concat", inputs = ["LIST", "x"], outputs = ["z"] }'.replace(
        "LIST", '", "'.join(f"s{i}" for i in range(12)))]  # fmt: skip
    lines = "  ".join(f"s{i} = Add(p, q)" for i in range(12))
    listed = ", ".join(f"s{i}" for i in range(12))
    model = parser.parse_model(
        f"{HEAD} g (float[n] p, float[n] q) => (float[k] z) {{ {lines}  z = Concat<axis = 0>({listed}, q) }}"
    )
    wanted = toml(tmp_path, f'inputs = ["x", "y"]\nnode = [{", ".join(nodes)}]')
    _, (place,), _ = rewrite(model, wanted, creator("Sums"), None)
    assert place.inputs == ("q", "p")


def test_a_pattern_that_fits_in_too_many_ways(tmp_path: Path) -> None:
    """Nine sums of which the pattern says nothing; what it says last, an attribute, no node has."""
    count = 9
    listed = [f"s{i}" for i in range(count)]
    nodes = [f'{{ op = "Add", inputs = ["x{i}", "y{i}"], outputs = ["s{i}"] }}' for i in range(count)]
    nodes.append(f'{{ op = "Concat", inputs = {listed}, outputs = ["c"], attributes = {{ axis = AXIS }} }}')
    nodes.append('{ op = "Softmax", inputs = ["c"], outputs = ["z"], attributes = { axis = 7 } }')
    lines = "  ".join(f"s{i} = Add(p, q)" for i in range(count))
    model = parser.parse_model(
        f"{HEAD} g (float[n] p, float[n] q) => (float[k] z) {{ "
        f"{lines}  c = Concat<axis = 0>({', '.join(listed)})  z = Softmax(c) }}"
    )
    text = f'inputs = ["x0"]\nnode = [{", ".join(nodes)}]'
    with pytest.raises(UsageError, match="fit in more than 256 ways at one place"):
        rewrite(model, toml(tmp_path, text.replace("AXIS", "0")), creator("Sums"), None)
    with pytest.raises(NothingSelected, match="axis of its Concat is 0, not 3"):
        rewrite(model, toml(tmp_path, text.replace("AXIS", "3")), creator("Sums"), None)


def test_patterns_of_a_bundle_and_of_a_project(tmp_path: Path) -> None:
    """By name; those of a bundle are its own, whatever lies in a folder."""
    (tmp_path / "patterns").mkdir()
    (tmp_path / "patterns" / "relu.toml").write_text('chain = ["Relu"]')
    assert read("relu", tmp_path) == Pattern(chain=["Relu"])
    assert read("tanh", tmp_path, {"tanh": 'chain = ["Tanh"]'}) == Pattern(chain=["Tanh"])
    for name, bundled, message in (
        ("tanh", None, "project ships relu"),
        ("relu", {"tanh": ""}, "bundle brings tanh"),
        ("relu", {}, "bundle brings none"),
    ):
        with pytest.raises(UsageError) as raised:
            read(name, tmp_path, bundled)
        assert message in raised.value.hint
    with pytest.raises(UsageError, match="pattern tanh of the bundle is not TOML"):
        read("tanh", None, {"tanh": "chain = ["})
