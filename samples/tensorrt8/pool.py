"""PoolInt8 (samples/pool_int8), an IPluginV2IOExt: max pooling in FP32, and in INT8 by dynamic ranges.

python pool.py LIBRARY
"""

from __future__ import annotations

import sys

import common
import numpy as np
import tensorrt as trt

SHAPE = (2, 4, 8, 8)
RANGE = 3.0
"""Of each INT8 tensor; a step is RANGE / 127."""
WINDOW = {"kernel_h": 2, "kernel_w": 2, "stride_h": 2, "stride_w": 2, "pad_h": 0, "pad_w": 0}
FIELDS = {"mode": 0, **WINDOW, "ceil_mode": 0, "count_include_pad": 0}


def engine_with(creator: trt.IPluginCreator, *, int8: bool) -> trt.ICudaEngine:
    """x [2, 4, 8, 8] -> y [2, 4, 4, 4], both in FP32."""

    def configure(builder: trt.Builder, network: trt.INetworkDefinition, config: trt.IBuilderConfig) -> None:
        if int8:
            config.set_flag(trt.BuilderFlag.INT8)
            config.set_flag(trt.BuilderFlag.OBEY_PRECISION_CONSTRAINTS)

    builder, network = common.new_network()
    x = network.add_input("x", trt.float32, SHAPE)
    fields = {name: np.array([value], np.int32) for name, value in FIELDS.items()}
    layer = network.add_plugin_v2([x], common.make_plugin(creator, fields))
    y = layer.get_output(0)
    if int8:
        layer.precision = trt.int8
        layer.set_output_type(0, trt.int8)
        # 8.5 refuses a plugin in INT8 at the network's end; this layer changes no value within the range.
        behind = network.add_activation(y, trt.ActivationType.CLIP)
        behind.alpha, behind.beta, behind.precision = -2 * RANGE, 2 * RANGE, trt.float32
        behind.set_output_type(0, trt.float32)
        for tensor in (x, y, behind.get_output(0)):
            tensor.dynamic_range = (-RANGE, RANGE)
        y = behind.get_output(0)
    common.mark_output(network, "y", y)
    return common.build(builder, network, configure=configure)


def example() -> None:
    """Both precisions on the same values, which are within the range."""
    creator = common.load_plugin(sys.argv, "pool_int8", "PoolInt8", "acme")
    x = np.random.default_rng(9).uniform(-2.5, 2.5, SHAPE).astype(np.float32)
    wanted = x.reshape(2, 4, 4, 2, 4, 2).max(axis=(3, 5))
    common.compare("FP32", common.run(engine_with(creator, int8=False), {"x": x})["y"], wanted)
    step = RANGE / 127
    rounded = np.clip(np.round(wanted / step), -128, 127) * step
    common.compare("INT8", common.run(engine_with(creator, int8=True), {"x": x})["y"], rounded, 1.01 * step)


if __name__ == "__main__":
    common.main(example)
