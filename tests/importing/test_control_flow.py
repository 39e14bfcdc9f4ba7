"""What TensorRT allows in loops and conditionals: the page, rule M9, and what NVIDIA's builder does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from pluginkit.importing import onnx_graph
from pluginkit.importing.control_flow import layers
from pluginkit.importing.rules import whole_model
from pluginkit.importing.rules.constants import Constants
from pluginkit.importing.rules.folding import Folding
from pluginkit.network.networks import Array, NetworkProfile
from pluginkit.runtimes.rtx import session as tensorrt_rtx

from .models import branch, model, value

PAGE = Path(__file__).parents[2] / "docs" / "loops-and-conditionals.md"
IMAGE = [1, 4, 8, 8]
OPERATORS = [operator for layer in layers.LAYERS for operator in layer.operators]
DENIED: dict[str, tuple[dict[str, Any], list[Array]]] = {
    "ConvTranspose": ({"pads": [1, 1, 1, 1]}, [np.ones((4, 4, 3, 3), np.float32)]),
    "Pad": ({}, [np.array([0, 0, 1, 1, 0, 0, -1, -1], np.int64)]),
    "PRelu": ({}, [np.ones((4, 1, 1), np.float32)]),
    "MaxPool": ({"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}, []),
    "AveragePool": ({"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}, []),
    "Resize": ({"mode": "nearest"}, [np.zeros(0, np.float32), np.ones(4, np.float32)]),
}
"""Operators that the table denies, with attributes and inputs that keep the image's size."""


def test_the_page_has_the_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert layers.written(page) == page
    assert all(row in page.splitlines() for row in layers.table())


def test_every_operator_is_one_of_onnx_and_stands_once() -> None:
    assert len(OPERATORS) == len(set(OPERATORS))
    assert all(onnx.defs.has(operator) for operator in OPERATORS)


def inside(kind: str, operator: str) -> onnx.ModelProto:
    """A model with an operator in a branch or in a body."""
    attributes, arrays = DENIED.get(operator, ({}, []))
    constants = [onnx.numpy_helper.from_array(array, f"c{index}") for index, array in enumerate(arrays)]
    names = [constant.name for constant in constants]
    if kind == "If":
        node = helper.make_node(operator, ["x", *names], ["a"], "inner", **attributes)
        then = branch([node], value("a", IMAGE))
        other = branch([helper.make_node("Neg", ["x"], ["b"], "other")], value("b", IMAGE))
        nodes = [helper.make_node("If", ["c"], ["y"], "if", then_branch=then, else_branch=other)]
        inputs = [value("x", IMAGE), value("c", [], TensorProto.BOOL)]
        return model(nodes, inputs, [value("y", IMAGE)], initializers=constants, opset=18)
    nodes = [
        helper.make_node(operator, ["s", *names], ["s2"], "inner", **attributes),
        helper.make_node("Identity", ["c"], ["going"], "going"),
    ]
    scalars = [value("i", [], TensorProto.INT64), value("c", [], TensorProto.BOOL)]
    outputs = [value("going", [], TensorProto.BOOL), value("s2", IMAGE)]
    body = helper.make_graph(nodes, "body", [*scalars, value("s", IMAGE)], outputs)
    loop = helper.make_node("Loop", ["trips", "yes", "x"], ["y"], "loop", body=body)
    constants += [
        helper.make_tensor("trips", TensorProto.INT64, [], [3]),
        helper.make_tensor("yes", TensorProto.BOOL, [], [True]),
    ]
    return model([loop], [value("x", IMAGE)], [value("y", IMAGE)], initializers=constants, opset=18)


@pytest.mark.parametrize("kind", ["If", "Loop"])
def test_the_findings_follow_the_table(kind: str, tmp_path: Path) -> None:
    """Of every operator of the table, whatever its attributes."""
    warned = set()
    for operator in OPERATORS:
        proto = inside(kind, operator)
        places = onnx_graph.places(proto.graph)
        found = whole_model.check(proto, places, onnx_graph.shapes(proto), Constants(proto), tmp_path / "model.onnx")
        warned |= {operator for one in found if one.rule == "M9" and one.node.endswith("/inner")}
    denied = {operator for layer in layers.LAYERS if layer.inside == "no" for operator in layer.operators}
    assert warned == denied
    assert set(DENIED) <= denied


@pytest.mark.slow
@pytest.mark.rtx
@pytest.mark.skipif(not tensorrt_rtx.probe().found, reason="TensorRT-RTX isn't here")
@pytest.mark.parametrize("kind", ["If", "Loop"])
@pytest.mark.parametrize("operator", DENIED)
def test_nvidia_builds_what_the_table_denies(kind: str, operator: str, tmp_path: Path) -> None:
    """So M9 is a warning."""
    pytest.importorskip("onnxruntime")
    from .corpus import foreseen

    path = tmp_path / "model.onnx"
    onnx.save(inside(kind, operator), path)
    found = foreseen(path)
    assert found.verdict is not None
    assert (found.foreseen, found.verdict.status) == ("built", "built"), found.verdict.message
    assert "M9" in {one.rule for one in found.problems}


def folded(nodes: list[onnx.NodeProto], shape: list[int | str | None], **constants: object) -> object:
    """The values of the tensor `out`."""
    initializers = [onnx.numpy_helper.from_array(np.array(one), name) for name, one in constants.items()]
    proto = onnx.shape_inference.infer_shapes(
        model(nodes, [value("x", shape)], [value("y", None)], initializers=initializers)
    )
    return Folding(proto, Constants(proto)).values("out")


SHAPE = helper.make_node("Shape", ["x"], ["s"])


@pytest.mark.parametrize(
    ("nodes", "shape", "constants", "expected"),
    [
        ([SHAPE, helper.make_node("Identity", ["s"], ["out"])], ["n", 1, 8], {}, (None, 1, 8)),
        ([SHAPE, helper.make_node("Shape", ["s"], ["out"])], ["n", 1, 8], {}, (3,)),
        ([helper.make_node("Shape", ["x"], ["out"], start=-2)], ["n", 1, 8], {}, (1, 8)),
        ([helper.make_node("Size", ["x"], ["out"])], [2, 1, 8], {}, (16,)),
        ([helper.make_node("Size", ["x"], ["out"])], ["n", 1, 8], {}, (None,)),
        ([SHAPE, helper.make_node("Gather", ["s", "k"], ["g"]), helper.make_node("Equal", ["g", "one"], ["out"])],
         ["n", 1, 8], {"k": 1, "one": 1}, (1,)),
        ([SHAPE, helper.make_node("Gather", ["s", "k"], ["g"]), helper.make_node("Equal", ["g", "one"], ["out"])],
         ["n", 1, 8], {"k": 0, "one": 1}, (None,)),
        ([SHAPE, helper.make_node("Gather", ["s", "k"], ["out"])], ["n", 1, 8], {"k": 7}, None),
        ([SHAPE, helper.make_node("Concat", ["s", "k"], ["c"], axis=0), helper.make_node("ReduceProd", ["c"], ["out"])],
         [2, 3], {"k": [4]}, (24,)),
        ([SHAPE, helper.make_node("Greater", ["s", "k"], ["g"]), helper.make_node("Not", ["g"], ["out"])],
         [2, 3], {"k": [2]}, (1, 0)),
        ([helper.make_node("Relu", ["x"], ["out"])], [2, 3], {}, None),
        # Two sizes are one condition.
        ([helper.make_node("Size", ["x"], ["s"]), helper.make_node("Cast", ["s"], ["out"], to=TensorProto.BOOL)],
         [2, 3], {}, (1,)),
        # Of matrices elements have other places.
        ([helper.make_node("Gather", ["t", "k"], ["out"])], [2, 3], {"t": [[1, 2], [3, 4]], "k": 1}, None),
        ([SHAPE, helper.make_node("Unsqueeze", ["s", "k"], ["u"]), helper.make_node("Gather", ["u", "k"], ["out"])],
         [2, 3], {"k": [0]}, None),
        ([helper.make_node("Gather", ["s", ""], ["out"])], [2, 3], {"s": [1, 2]}, None),
        ([helper.make_node("Shape", [], ["out"])], [2, 3], {}, None),
    ],
)  # fmt: skip
def test_values_that_follow_from_shapes(
    nodes: list[onnx.NodeProto], shape: list[int | str | None], constants: dict[str, object], expected: object
) -> None:
    assert folded(nodes, shape, **constants) == expected


def test_a_chain_that_is_longer_than_pythons_stack() -> None:
    nodes = [helper.make_node("Add", [f"v{at}", "one"], [f"v{at + 1}"]) for at in range(2000)]
    nodes = [helper.make_node("Size", ["x"], ["v0"]), *nodes, helper.make_node("Identity", ["v2000"], ["out"])]
    assert folded(nodes, [2, 3], one=1) == (2006,)


@pytest.mark.parametrize(("kept", "level"), [(["x"], "error"), (["x", "where"], "warning")])
def test_what_is_not_known_of_a_condition_is_no_error(kept: list[str], level: str) -> None:
    """How many elements NonZero finds nobody knows before: whether NVIDIA's builder does shows when it builds."""
    then = branch([helper.make_node("Relu", ["x"], ["a"], "relu")], value("a", ["n", 3]))
    other = branch([helper.make_node("Reshape", ["x", "all"], ["b"], "flat")], value("b", [None]))
    nodes = [
        helper.make_node("NonZero", ["x"], ["where"], "where"),
        helper.make_node("Size", [kept[-1]], ["size"], "size"),
        helper.make_node("Greater", ["size", "six"], ["large"], "greater"),
        helper.make_node("If", ["large"], ["t"], "if", then_branch=then, else_branch=other),
        helper.make_node("ReduceSum", ["t"], ["y"], "sum", keepdims=0),
    ]
    constants = [
        helper.make_tensor("all", TensorProto.INT64, [1], [-1]),
        helper.make_tensor("six", TensorProto.INT64, [], [6]),
    ]
    proto = model(nodes, [value("x", ["n", 3])], [value("y", [])], initializers=constants)
    profile = NetworkProfile("default", {"x": ((1, 3), (4, 3), (16, 3))})
    assert [(one.rule, one.level) for one in whole_model.branch_shapes(proto, profile)] == [("M7", level)]
