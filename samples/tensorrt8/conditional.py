"""An if-conditional by the network API: x + y where a condition holds, x - y where it doesn't."""

from __future__ import annotations

import common
import numpy as np
import tensorrt as trt

SHAPE = (2, 3)


def example() -> None:
    """One engine, run with the condition true and false."""
    builder, network = common.new_network()
    add = network.add_input("add", trt.bool, ())
    conditional = network.add_if_conditional()
    conditional.set_condition(add)
    # What a branch reads goes through an input layer of the conditional.
    x, y = (conditional.add_input(network.add_input(name, trt.float32, SHAPE)).get_output(0) for name in "xy")
    added = network.add_elementwise(x, y, trt.ElementWiseOperation.SUM).get_output(0)
    subtracted = network.add_elementwise(x, y, trt.ElementWiseOperation.SUB).get_output(0)
    common.mark_output(network, "z", conditional.add_output(added, subtracted).get_output(0))
    engine = common.build(builder, network)

    random = np.random.default_rng(2)
    values = {name: random.standard_normal(SHAPE).astype(np.float32) for name in "xy"}
    for truth, wanted in ((True, values["x"] + values["y"]), (False, values["x"] - values["y"])):
        got = common.run(engine, {"add": np.array(truth), **values})["z"]
        common.compare(f"condition {truth}", got, wanted)


if __name__ == "__main__":
    common.main(example)
