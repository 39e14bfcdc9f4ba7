"""BarPlugin (samples/bar_plugin), an IPluginV2DynamicExt: two inputs with dynamic dimensions, two outputs.

python bar.py LIBRARY
"""

from __future__ import annotations

import sys

import common
import numpy as np
import tensorrt as trt
from polygraphy.backend.trt import Profile

SIZES = ((1, 1, 2, 8, 8), (2, 3, 3, 16, 24), (4, 5, 4, 32, 40))
"""n, m, c, h and w: minimum, optimum, maximum."""


def example() -> None:
    """One engine, run at the three shapes of its profile."""
    creator = common.load_plugin(sys.argv, "bar_plugin", "BarPlugin", "acme")
    builder, network = common.new_network()
    inputs = [network.add_input(name, trt.float32, (-1, -1, -1, -1)) for name in "ab"]
    layer = network.add_plugin_v2(inputs, common.make_plugin(creator, {}))
    for number, name in enumerate(("copy", "joined")):
        common.mark_output(network, name, layer.get_output(number))
    shapes = {"a": [(n, *chw) for n, _, *chw in SIZES], "b": [(m, *chw) for _, m, *chw in SIZES]}
    profile = Profile().add("a", *shapes["a"]).add("b", *shapes["b"])
    engine = common.build(builder, network, profile)

    random = np.random.default_rng(8)
    for of_a, of_b in zip(shapes["a"], shapes["b"], strict=True):
        a, b = (random.standard_normal(shape).astype(np.float32) for shape in (of_a, of_b))
        got = common.run(engine, {"a": a, "b": b})
        common.compare(f"{of_a} and {of_b}, copy", got["copy"], b, 0.0)
        common.compare(f"{of_a} and {of_b}, joined", got["joined"], np.concatenate([a, b]), 0.0)


if __name__ == "__main__":
    common.main(example)
