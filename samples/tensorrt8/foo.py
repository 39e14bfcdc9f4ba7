"""Dynamic shapes: an input foo [3, -1, -1] with two optimization profiles, and the names of their bindings."""

from __future__ import annotations

import common
import numpy as np
import tensorrt as trt
from polygraphy.backend.trt import Profile

from pluginkit.errors import CheckFailed

SHAPES = (((3, 16, 32), (3, 64, 96), (3, 128, 160)), ((3, 128, 160), (3, 256, 320), (3, 512, 640)))
"""Of each profile: minimum, optimum, maximum."""
BEYOND = (3, 512, 641)
"""A shape that no profile has."""
NAMES = ["foo", "bar", "foo [profile 1]", "bar [profile 1]"]


def example() -> None:
    """One engine, run at the three shapes of both profiles."""
    builder, network = common.new_network()
    foo = network.add_input("foo", trt.float32, (3, -1, -1))
    common.mark_output(network, "bar", network.add_activation(foo, trt.ActivationType.RELU).get_output(0))
    engine = common.build(builder, network, *(Profile().add("foo", *shapes) for shapes in SHAPES))

    names = [engine.get_binding_name(number) for number in range(engine.num_bindings)]
    if names != NAMES:
        raise CheckFailed(f"the bindings' names are {names}, not {NAMES}")
    print(f"Bindings: {', '.join(names)}")
    for profile, shapes in enumerate(SHAPES):
        for shape in shapes:
            values = np.random.default_rng(5).standard_normal(shape).astype(np.float32)
            got = common.run(engine, {"foo": values}, profile)["bar"]
            common.compare(f"profile {profile}, {shape}", got, np.maximum(values, 0))
    # By name 8.5 takes what any profile has, whichever the context's is.
    if engine.create_execution_context().set_input_shape("foo", BEYOND):
        raise CheckFailed(f"a context takes {BEYOND}, which is beyond the largest maximum, {SHAPES[1][2]}")
    print(f"{BEYOND} is refused, as the error above says: it is beyond the largest maximum, {SHAPES[1][2]}")


if __name__ == "__main__":
    common.main(example)
