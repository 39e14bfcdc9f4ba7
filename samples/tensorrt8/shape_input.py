"""A shape tensor as the network's input: a reshape to a size that is given when the engine runs.

The profile has, beside the shapes of x, the values of size. The engine can't be asked for them: of each the bindings'
get_profile_shape_input of 8.5.3 gives the first number alone, (2,) for (2, 2).
"""

from __future__ import annotations

import common
import numpy as np
import tensorrt as trt
from polygraphy.backend.trt import Profile

from pluginkit.errors import CheckFailed

SHAPES = ((1, 4), (6, 4), (12, 8))
SIZES = ((2, 2), (4, 6), (8, 12))
"""Minimum, optimum and maximum, of as many elements as x has there."""


def example() -> None:
    """One engine, run with sizes in the profile's range."""
    builder, network = common.new_network()
    x = network.add_input("x", trt.float32, (-1, -1))
    size = network.add_input("size", trt.int32, (2,))
    shuffle = network.add_shuffle(x)
    shuffle.set_input(1, size)
    common.mark_output(network, "y", shuffle.get_output(0))
    if not size.is_shape_tensor:
        raise CheckFailed("size is not a shape tensor")
    engine = common.build(builder, network, Profile().add("x", *SHAPES).add("size", *SIZES))

    for shape, wanted in ((SHAPES[0], SIZES[0]), (SHAPES[1], SIZES[1]), (SHAPES[1], (8, 3)), (SHAPES[2], SIZES[2])):
        given = np.random.default_rng(6).standard_normal(shape).astype(np.float32)
        got = common.run(engine, {"x": given, "size": np.array(wanted, np.int32)})["y"]
        common.compare(f"{shape} to {wanted}", got, given.reshape(wanted), 0.0)


if __name__ == "__main__":
    common.main(example)
