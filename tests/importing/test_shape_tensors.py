"""Which tensors are shape tensors: NVIDIA's rules as pluginkit has them, against ITensor::isShapeTensor."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from pluginkit.importing import onnx_graph, profiles
from pluginkit.importing.rules import dynamic
from pluginkit.importing.shape_tensors import classify
from pluginkit.runtimes.rtx import session as tensorrt_rtx

from .models import CONDITION, branch, conditional, model, value

INT64 = TensorProto.INT64
NVIDIA = """
import json, sys
import tensorrt_rtx as trt
logger = trt.Logger(trt.Logger.INTERNAL_ERROR)
builder = trt.Builder(logger)
found = []
for path in sys.argv[1:]:
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, logger)
    assert parser.parse_from_file(path), parser.get_error(0).desc()
    tensors = [network.get_input(index) for index in range(network.num_inputs)]
    for layer in (network.get_layer(index) for index in range(network.num_layers)):
        tensors += [layer.get_output(index) for index in range(layer.num_outputs)]
    found.append({one.name: one.is_shape_tensor for one in tensors if one is not None})
print(json.dumps(found))
"""
"""In a process of its own, as every runtime."""


def node(kind: str, inputs: list[str], output: str, **attributes: object) -> onnx.NodeProto:
    return helper.make_node(kind, inputs, [output], output, **attributes)


def ints(name: str, *numbers: int) -> onnx.TensorProto:
    return onnx.numpy_helper.from_array(np.array(numbers, np.int64), name)


def number(name: str, one: int) -> onnx.TensorProto:
    return onnx.numpy_helper.from_array(np.array(one, np.int64), name)


def reshaped() -> onnx.ModelProto:
    """Shapes by every kind of layer that gives some, and two that the GPU computes."""
    nodes = [
        node("Shape", ["x"], "size"),
        node("Gather", ["size", "zero"], "rows"),
        node("Mul", ["rows", "two"], "twice"),
        node("Unsqueeze", ["twice", "first"], "wide"),
        node("Concat", ["wide", "minus"], "target", axis=0),
        node("Cast", ["target"], "narrow", to=TensorProto.INT32),
        node("Cast", ["narrow"], "again", to=INT64),
        node("Reshape", ["x", "again"], "y"),
        node("Slice", ["x", "first", "wide", "first"], "cut"),
        node("ConstantOfShape", ["size"], "filled"),
        node("Range", ["zero", "rows", "one"], "counted"),
        node("Where", ["known", "target", "size"], "chosen"),
        node("Expand", ["row", "chosen"], "expanded"),
        node("Neg", ["x"], "turned"),
        node("Shape", ["turned"], "unneeded"),
        node("NonZero", ["turned"], "places"),
    ]
    outputs = [value(name, None) for name in ("y", "cut", "filled", "expanded", "turned")]
    outputs += [value("counted", [None], INT64), value("unneeded", [2], INT64)]
    initializers = [ints("first", 0), ints("minus", -1), number("zero", 0), number("one", 1), number("two", 2)]
    initializers += [onnx.numpy_helper.from_array(np.array([True, False]), "known"),
                     onnx.numpy_helper.from_array(np.ones((1, 1), np.float32), "row")]  # fmt: skip
    return model(nodes[:-1], [value("x", ["n", 4])], outputs, initializers=initializers)


def by_branches() -> onnx.ModelProto:
    """Dimensions out of an If, and a number that both the GPU and a shape need."""
    then = branch(
        [
            node("Shape", ["x"], "s"),
        ],
        value("s", [2], INT64),
    )
    other = branch([node("Shape", ["x"], "t"), node("Abs", ["t"], "u")], value("u", [2], INT64))
    nodes = [
        conditional(then, other, "dims"),
        node("Reshape", ["x", "dims"], "y"),
        node("Cast", ["dims"], "z", to=TensorProto.FLOAT),
    ]
    return model(nodes, [value("x", ["n", 4]), CONDITION], [value("y", None), value("z", None)])


def given() -> onnx.ModelProto:
    """An input that is a shape, of a type that one can't be."""
    nodes = [node("Where", ["flags", "some", "others"], "dims"), node("Reshape", ["x", "dims"], "y")]
    inputs = [value("x", ["n", 4]), value("flags", [2], TensorProto.BOOL)]
    return model(nodes, inputs, [value("y", [None, None])], initializers=[ints("some", -1, 1), ints("others", 1, -1)])


def computed() -> onnx.ModelProto:
    """Dimensions that the GPU finds."""
    nodes = [node("ArgMax", ["x"], "dims", axis=1, keepdims=0), node("Reshape", ["x", "dims"], "y")]
    return model(nodes, [value("x", [2, 4])], [value("y", [None, None])])


@pytest.mark.rtx
@pytest.mark.skipif(not tensorrt_rtx.probe().found, reason="TensorRT-RTX isn't here")
def test_nvidia_says_the_same(tmp_path: Path) -> None:
    models = [reshaped(), by_branches(), computed()]
    paths = [tmp_path / f"{index}.onnx" for index in range(len(models))]
    for path, proto in zip(paths, models, strict=True):
        onnx.save(proto, path)
    done = subprocess.run([sys.executable, "-c", NVIDIA, *map(str, paths)], capture_output=True, text=True, check=True)
    compared = 0
    for proto, nvidia in zip(models, json.loads(done.stdout.splitlines()[-1]), strict=True):
        ours = {one.name: one.shape for one in classify(proto)}
        both = ours.keys() & nvidia.keys()
        assert {name: ours[name] for name in both} == {name: nvidia[name] for name in both}
        compared += len(both)
    assert compared >= 25


@pytest.mark.rtx
@pytest.mark.skipif(not tensorrt_rtx.probe().found, reason="TensorRT-RTX isn't here")
@pytest.mark.parametrize(("proto", "status"), [(given(), "refused"), (computed(), "built")], ids=["given", "computed"])
def test_nvidia_refuses_what_is_an_error(proto: onnx.ModelProto, status: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    from .corpus import foreseen

    path = tmp_path / "model.onnx"
    onnx.save(proto, path)
    found = foreseen(path)
    assert found.verdict is not None
    assert (found.foreseen, found.verdict.status) == (status, status)
    assert found.to_json()["tensors"][0] == {
        "name": "x", "node": "", "operator": "", "shape": False, "execution": True, "rule": "", "computed": False,
        "kind": "execution"}  # fmt: skip


def test_each_has_the_rule_that_made_it_so() -> None:
    found = {one.name: one for one in classify(reshaped())}
    assert found["again"].rule == "y takes it as its output's dimensions (IShuffleLayer (two inputs): t x S -> t)"
    assert (
        found["target"].rule.endswith("gives a shape tensor (IIdentityLayer: t -> t)")
        or "Select" in found["target"].rule
    )
    assert {name: one.kind for name, one in found.items() if name in {"x", "turned", "unneeded", "twice"}} == {
        "x": "execution", "turned": "execution", "unneeded": "execution", "twice": "shape"}  # fmt: skip
    both = {one.name: one.kind for one in classify(by_branches())}
    assert both["dims"] == "both"
    assert (both["s"], both["u"]) == ("both", "both")


def test_what_is_wrong_with_shape_tensors() -> None:
    for proto, level, words in ((given(), "error", "int32 or int64"), (computed(), "warning", "copies it to the CPU")):
        (problem,) = dynamic.check(proto, onnx_graph.shapes(proto), classify(proto))
        assert (problem.rule, problem.level) == ("M25", level)
        assert words in problem.text
    for proto in (reshaped(), by_branches()):
        assert not list(dynamic.check(proto, onnx_graph.shapes(proto), classify(proto)))


def test_channels_and_loops() -> None:
    weights = onnx.numpy_helper.from_array(np.ones((2, 3, 1), np.float32), "w")
    proto = model(
        [node("Conv", ["x", "w"], "y")], [value("x", ["n", "c", 8])], [value("y", None)], initializers=[weights]
    )
    (problem,) = dynamic.check(proto, onnx_graph.shapes(proto), classify(proto))
    assert (problem.rule, problem.level) == ("M26", "warning")
    body = helper.make_graph(
        [node("Identity", ["go"], "on"), node("Neg", ["s"], "t"), node("Identity", ["t"], "each")],
        "body",
        [value("i", [], INT64), value("go", [], TensorProto.BOOL), value("s", ["n", 4], TensorProto.INT8)],
        [
            value("on", [], TensorProto.BOOL),
            value("t", ["n", 4], TensorProto.INT8),
            value("each", ["n", 4], TensorProto.INT8),
        ],
    )
    loop = helper.make_node("Loop", ["trips", "", "q"], ["last", "all"], "loop", body=body)
    inputs = [value("q", ["n", 4], TensorProto.INT8), value("trips", [], INT64)]
    outputs = [value("last", ["n", 4], TensorProto.INT8), value("all", ["m", "n", 4], TensorProto.INT8)]
    proto = model([loop], inputs, outputs)
    carried = list(dynamic.check(proto, onnx_graph.shapes(proto), classify(proto)))
    assert {one.text.split()[2] for one in carried} >= {"q,", "last,", "all,"}
    profile = profiles.profile(profiles.declared_inputs(proto), [profiles.parse("q:min=1x4,opt=2x4,max=8x4")])
    (memory,) = dynamic.loops(proto, profile)
    assert (memory.rule, memory.node) == ("M27", "loop")
    assert "its output all has 2 dynamic dimensions" in memory.text
