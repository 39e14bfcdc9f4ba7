"""LReLU_TRT of NVIDIA's plugin library: init_libnvinfer_plugins, the registry, and add_plugin_v2.

The developer guide calls the field neg_slope; the library of 8.5 calls it negSlope, and makes no plugin of the former.
"""

from __future__ import annotations

import common
import numpy as np
import tensorrt as trt
from polygraphy.backend.trt import get_trt_logger

from pluginkit.errors import CheckFailed
from pluginkit.runtimes.nvidia import creator_fields

SLOPE = 0.1


def example() -> None:
    """A network of one plugin layer."""
    trt.init_libnvinfer_plugins(get_trt_logger(), "")
    registry = trt.get_plugin_registry()
    print(f"The registry has {len(registry.plugin_creator_list)} creators")
    creator = registry.get_plugin_creator("LReLU_TRT", "1", "")
    try:
        creator_fields.check(creator, ["neg_slope"])
    except CheckFailed as error:
        print(f"neg_slope: not given to createPlugin, since {error.message}")
    builder, network = common.new_network()
    plugin = common.make_plugin(creator, {"negSlope": np.array([SLOPE], np.float32)})
    x = network.add_input("x", trt.float32, (2, 4, 8, 8))
    common.mark_output(network, "y", network.add_plugin_v2([x], plugin).get_output(0))
    engine = common.build(builder, network)
    values = np.random.default_rng(1).standard_normal((2, 4, 8, 8)).astype(np.float32)
    common.compare("LReLU_TRT", common.run(engine, {"x": values})["y"], np.where(values > 0, values, SLOPE * values))


if __name__ == "__main__":
    common.main(example)
