"""A shape as the network's output, by mark_output_for_shapes: its value is there before anything is executed."""

from __future__ import annotations

import common
import tensorrt as trt
from polygraphy.backend.trt import Profile

from pluginkit.errors import CheckFailed


def example() -> None:
    """The shape of two joined tensors, for three shapes of the input; no enqueue."""
    builder, network = common.new_network()
    x = network.add_input("x", trt.float32, (-1, 4))
    joined = network.add_concatenation([x, x])
    joined.axis = 0
    common.mark_output(network, "y", joined.get_output(0))
    shape = network.add_shape(joined.get_output(0)).get_output(0)
    shape.name = "shape"
    if not network.mark_output_for_shapes(shape):
        raise CheckFailed("TensorRT marks no output for shapes")
    engine = common.build(builder, network, Profile().add("x", (1, 4), (2, 4), (6, 4)))

    context = engine.create_execution_context()
    for rows in (1, 3, 6):
        if not context.set_binding_shape(engine.get_binding_index("x"), (rows, 4)):
            raise CheckFailed(f"the context takes no {rows} rows")
        value = list(context.get_shape(engine.get_binding_index("shape")))
        if value != [2 * rows, 4]:
            raise CheckFailed(f"{rows} rows: the value of shape is {value}, not {[2 * rows, 4]}")
        print(f"{rows} rows: the value of shape is {value}, and nothing was executed")


if __name__ == "__main__":
    common.main(example)
