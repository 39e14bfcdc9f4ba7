"""The sum of the rows whose own sum is even: an If in a Loop, as PyTorch exported it, through the ONNX parser.

The model is ../sum_even/sum_even.onnx; ../sum_even/export.py wrote it, of a scripted function. 8.5's parser makes the
number of an iteration, 0-D in ONNX, a tensor [1]. So the row that is gathered by it has the shape [1, 2], and the If's
branches give [1, 2] and [2], which TensorRT refuses: a Reshape to one dimension behind the Gather fixes it.
"""

from __future__ import annotations

from pathlib import Path

import common
import numpy as np
import onnx
import tensorrt as trt
from onnx import helper
from polygraphy.backend.trt import Profile, get_trt_logger

from pluginkit.errors import CheckFailed

MODEL = Path(__file__).resolve().parent.parent / "sum_even" / "sum_even.onnx"


def model() -> onnx.ModelProto:
    """The exported model, with the Reshape."""
    made = onnx.load(MODEL)
    (loop,) = (node for node in made.graph.node if node.op_type == "Loop")
    body = next(attribute.g for attribute in loop.attribute if attribute.name == "body")
    ((place, gather),) = ((place, node) for place, node in enumerate(body.node) if node.op_type == "Gather")
    row, gathered = gather.output[0], f"{gather.output[0]}_as_gathered"
    gather.output[0] = gathered
    body.node.insert(place + 1, helper.make_node("Reshape", [gathered, "one_dimension"], [row], f"{gather.name}_row"))
    made.graph.initializer.append(helper.make_tensor("one_dimension", onnx.TensorProto.INT64, [1], [-1]))
    return made


def example() -> None:
    """One engine for 1 to 64 rows."""
    builder, network = common.new_network()
    parser = trt.OnnxParser(network, get_trt_logger())
    if not parser.parse(model().SerializeToString()):
        reasons = "; ".join(parser.get_error(number).desc() for number in range(parser.num_errors))
        raise CheckFailed(f"{MODEL.name}: the parser refuses it: {reasons}")
    engine = common.build(builder, network, Profile().add("items", (1, 2), (7, 2), (64, 2)))
    random = np.random.default_rng(3)
    for rows in (1, 7, 64):
        items = random.integers(-5, 6, (rows, 2)).astype(np.float32)
        even = items.sum(axis=1) % 2 == 0
        got = common.run(engine, {"items": items})["total"]
        common.compare(f"{rows} rows, {even.sum()} of them even", got, items[even].sum(axis=0))


if __name__ == "__main__":
    common.main(example)
