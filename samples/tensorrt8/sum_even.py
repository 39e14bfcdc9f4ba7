"""The sum of the rows whose own sum is even: an If in a Loop, as PyTorch exported it, through the ONNX parser.

The model is ../sum_even/sum_even.onnx; ../sum_even/export.py wrote it, of a scripted function.
"""

from __future__ import annotations

from pathlib import Path

import common
import numpy as np
import tensorrt as trt
from polygraphy.backend.trt import Profile, get_trt_logger

from pluginkit.errors import CheckFailed

MODEL = Path(__file__).resolve().parent.parent / "sum_even" / "sum_even.onnx"


def example() -> None:
    """One engine for 1 to 64 rows."""
    builder, network = common.new_network()
    parser = trt.OnnxParser(network, get_trt_logger())
    if not parser.parse(MODEL.read_bytes()):
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
