"""Dimensions as ONNX operators compute them: what the expressions of the manifest are worth, below 0 too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from onnx import NodeProto, TensorProto, helper

from pluginkit import shapes
from pluginkit.manifest import Manifest
from pluginkit.testing.families import dimensions

TEXT = """
[plugin]
name = "Sized"
[[inputs]]
name = "x"
types = ["float32"]
shape = ["h", "w"]
[[outputs]]
name = "y"
types = ["float32"]
shape = ["h"]
[[profiles]]
symbols = { h = [1, 2, 3], w = [1, 2, 3] }
"""
TENSORS = Manifest.parse(TEXT).inputs


class Graph:
    """Collects the nodes of one dimension."""

    label = "t"

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[Any] = []
        self._count = 0
        self.names = SimpleNamespace(tensor=self._fresh)

    def _fresh(self, name: str) -> str:
        self._count += 1
        return f"{name}_{self._count}"

    def constant(self, name: str, kind: int, dims: Sequence[int], values: Sequence[float]) -> str:
        found = self._fresh(name)
        self.constants.append(helper.make_tensor(found, kind, dims, values))
        return found

    def op(self, kind: str, inputs: Sequence[str], outputs: str | Sequence[str], **attributes: Any) -> str:
        assert isinstance(outputs, str)
        self.nodes.append(helper.make_node(kind, inputs, [outputs], **attributes))
        return outputs


def computed(text: str, env: Mapping[str, int]) -> int:
    """By onnxruntime."""
    ort = pytest.importorskip("onnxruntime")
    graph = Graph()
    name = dimensions.size(graph, TENSORS, ["x"], shapes.parse(text))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["h", "w"])
    y = helper.make_tensor_value_info(name, TensorProto.INT64, [1])
    made = helper.make_graph(graph.nodes, "dimension", [x], [y], graph.constants)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"x": np.zeros((env["h"], env["w"]), np.float32)})
    return int(found[0])


@pytest.mark.parametrize(
    ("text", "h", "wanted"),
    [
        ("(h - 2) // 2 + 1", 1, 0),  # a window that doesn't fit
        ("(h - 2) // 2 + 1", 5, 2),
        ("ceil_div(h - 4, 2) + 2", 1, 1),
        ("max(h - 3, 0) // 2", 1, 0),
        ("h // 2", 3, 1),
    ],
)
def test_a_window(text: str, h: int, wanted: int) -> None:
    assert shapes.evaluate(shapes.parse(text), {"h": h}) == wanted
    assert computed(text, {"h": h, "w": 1}) == wanted


def expressions() -> st.SearchStrategy[shapes.Expr]:
    leaves = st.one_of(st.integers(0, 5).map(shapes.Constant), st.sampled_from(("h", "w")).map(shapes.Symbol))
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(shapes.Operation, st.sampled_from(("+", "-", "*", "min", "max")), inner, inner),
            st.builds(
                shapes.Operation, st.sampled_from(("//", "ceil_div")), inner, st.integers(1, 4).map(shapes.Constant)
            ),
        ),
        max_leaves=6,
    )


@given(expressions(), st.integers(1, 6), st.integers(1, 6))
def test_any_expression(expr: shapes.Expr, h: int, w: int) -> None:
    env = {"h": h, "w": w}
    assume(shapes.symbols(expr))
    assert computed(shapes.render(expr), env) == shapes.evaluate(expr, env)
