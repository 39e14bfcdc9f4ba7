"""LReLU_TRT of NVIDIA's plugin library: init_libnvinfer_plugins, the registry, and add_plugin_v2.

The developer guide calls the field neg_slope; the library of 8.5 calls it negSlope, and makes no plugin of the former.
LReLU_TRT is an IPluginV2, the class without dynamic shapes: TensorRT takes it only in a network with an implicit batch,
where tensors have no batch dimension and execute gets the batch size.
"""

from __future__ import annotations

import common
import numpy as np
import tensorrt as trt
from polygraphy.backend.trt import get_trt_logger
from polygraphy.cuda import DeviceArray

from pluginkit.errors import CheckFailed
from pluginkit.runtimes.nvidia import creator_fields

BATCH, SHAPE = 2, (4, 8, 8)
SLOPE = 0.1


def run(engine: trt.ICudaEngine, values: np.ndarray) -> np.ndarray:
    """y of x; both are [BATCH, 4, 8, 8]. Polygraphy's runner gives no batch size to TensorRT."""
    with DeviceArray(values.shape) as x, DeviceArray(values.shape) as y:
        places = {"x": x.copy_from(values).ptr, "y": y.ptr}
        bindings = [places[engine.get_binding_name(number)] for number in range(engine.num_bindings)]
        if not engine.create_execution_context().execute(BATCH, bindings):
            raise CheckFailed("the execution failed; TensorRT's log, above, says why")
        got: np.ndarray = y.numpy()
        return got


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
    builder, network = common.new_network(explicit_batch=False)
    plugin = common.make_plugin(creator, {"negSlope": np.array([SLOPE], np.float32)})
    x = network.add_input("x", trt.float32, SHAPE)
    common.mark_output(network, "y", network.add_plugin_v2([x], plugin).get_output(0))
    builder.max_batch_size = BATCH
    engine = common.build(builder, network)
    values = np.random.default_rng(1).standard_normal((BATCH, *SHAPE)).astype(np.float32)
    common.compare("LReLU_TRT", run(engine, values), np.where(values > 0, values, SLOPE * values))


if __name__ == "__main__":
    common.main(example)
