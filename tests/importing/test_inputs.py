"""What a model is run on: integers are valid indices where the model says of what."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from pluginkit.importing import inputs
from pluginkit.network.networks import NetworkProfile

from .models import DOMAIN, model, value

ROWS = helper.make_tensor("table", TensorProto.FLOAT, [2, 3], [0.0] * 6)
WIDE = helper.make_tensor("table", TensorProto.FLOAT, [50, 3], [0.0] * 150)
NODE = helper.make_node
FLAT = helper.make_tensor("flat", TensorProto.INT64, [1], [-1])


def drawn(
    nodes: Sequence[onnx.NodeProto], tensors: Sequence[onnx.TensorProto] = (), kind: int = TensorProto.INT64
) -> tuple[np.ndarray, str]:
    proto = model(
        nodes, [value("ids", ["n", "c"], kind), value("x", ["n", "c", "d"])], [value("y", None)], initializers=tensors
    )
    shapes = {name: (shape,) * 3 for name, shape in (("ids", (4, 500)), ("x", (4, 500, 7)))}
    feeds, (output, other) = inputs.draw(proto, NetworkProfile("p", shapes, {}), DOMAIN, np.random.default_rng(0))
    assert other == "x: normally distributed numbers, float32 4x500x7"
    return feeds["ids"], output


@pytest.mark.parametrize(
    ("nodes", "tensors", "most", "why"),
    [
        ([NODE("Gather", ["table", "ids"], ["y"])], [ROWS], 1, "indices into table"),
        ([NODE("Gather", ["table", "ids"], ["y"])], [WIDE], 49, "indices into table"),
        ([NODE("Gather", ["table", "ids"], ["y"], axis=1)], [WIDE], 2, "indices into table"),
        ([NODE("Gather", ["table", "ids"], ["y"], axis=-1)], [WIDE], 2, "indices into table"),
        (
            [NODE("Reshape", ["ids", "flat"], ["i"]), NODE("Gather", ["table", "i"], ["y"])],
            [FLAT, WIDE],
            49,
            "indices into table",
        ),
        # What is not a constant has the shape that the profile gives it.
        ([NODE("Exp", ["x"], ["e"]), NODE("Gather", ["e", "ids"], ["y"], axis=2)], [], 6, "indices into e"),
        # The least of two.
        (
            [NODE("Gather", ["table", "ids"], ["a"]), NODE("Gather", ["x", "ids"], ["y"])],
            [WIDE],
            3,
            "indices into x",
        ),
        (
            [NODE("Embed", ["x", "ids"], ["y"], "embed", domain=DOMAIN)],
            [],
            3,
            "below each dimension of what node embed is given",
        ),
        ([NODE("RoiAlign", ["x", "rois", "ids"], ["y"])], [], 3, "indices into x"),
        ([NODE("Neg", ["ids"], ["y"])], [], 2, "nothing in the model says a range"),
    ],
)
def test_integers(nodes: Sequence[onnx.NodeProto], tensors: Sequence[onnx.TensorProto], most: int, why: str) -> None:
    ids, output = drawn(nodes, tensors)
    assert (ids.min(), ids.max()) == (0, most)
    assert output == f"ids: integers from 0 to {most} ({why}), int64 4x500"


def test_a_type_that_holds_less_than_the_range() -> None:
    many = helper.make_tensor("table", TensorProto.FLOAT, [300, 1], [0.0] * 300)
    cast = NODE("Cast", ["ids"], ["i"], to=TensorProto.INT32)
    ids, output = drawn([cast, NODE("Gather", ["table", "i"], ["y"])], [many], TensorProto.INT8)
    assert ids.dtype == np.int8
    assert ids.min() >= 0
    assert "from 0 to 126" in output


def test_other_types_and_values_that_are_given() -> None:
    ends = [
        value("b", [4], TensorProto.BOOL),
        value("h", [4], TensorProto.BFLOAT16),
        value("k", [2], TensorProto.INT64),
    ]
    proto = model([NODE("Identity", ["b"], ["y"])], ends, [value("y", None, TensorProto.BOOL)])
    shapes = {"b": ((4,),) * 3, "h": ((4,),) * 3, "k": ((2,),) * 3}
    profile = NetworkProfile("p", shapes, {"k": ((1, 1), (5, 6), (9, 9))})
    feeds, output = inputs.draw(proto, profile, DOMAIN, np.random.default_rng(0))
    assert (feeds["b"].dtype, feeds["h"].dtype.name, feeds["k"].tolist()) == (bool, "bfloat16", [5, 6])
    assert output == ("b: true and false, bool 4", "h: normally distributed numbers, bfloat16 4")
