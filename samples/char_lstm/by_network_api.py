"""The LSTM by NVIDIA's network API: a loop with a trip limit, an iterator, recurrences and outputs, the plugin inside.

    python by_network_api.py

`add_lstm` is the network. TensorRT-RTX builds an engine of it, also without a GPU, into build/by_network_api.engine.
"""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lstm
import numpy as np

HERE = Path(__file__).resolve().parent
LIBRARY = HERE / "build" / "cpu" / "libgate_activation.so"
BATCH = 2
ACTIVATIONS = (*["sigmoid"] * 3, "tanh", "tanh")
"""The kinds of the plugin's layers, in the order in which `add_lstm` asks for them."""


def add_lstm(trt: Any, network: Any, w: dict[str, np.ndarray], activation: Callable[[Any, str], Any]) -> list[Any]:
    """ids [steps, 2] int32 -> scores [steps, 2, letters], and the last h and c [2, h]; the number of steps is open.

    Args:
        trt: NVIDIA's Python module.
        network: an INetworkDefinition.
        w: `lstm.load()`.
        activation: adds the plugin's layer on a tensor [2, h], with its field `kind`; answers the layer's output.

    Returns:
        What must live until the engine is built: constants' values, which the network doesn't copy.
    """
    kept = []

    def constant(values: np.ndarray) -> Any:
        kept.append(np.array(values, order="C"))
        return network.add_constant(kept[-1].shape, kept[-1]).get_output(0)

    def elementwise(operation: str, left: Any, right: Any) -> Any:
        kind = getattr(trt.ElementWiseOperation, operation)
        return network.add_elementwise(left, right, kind).get_output(0)

    def multiplied(left: Any, right: Any) -> Any:
        plain = trt.MatrixOperation.NONE
        return network.add_matrix_multiply(left, plain, right, plain).get_output(0)

    hidden = w["R"].shape[1]
    ids = network.add_input("ids", trt.int32, (-1, BATCH))
    embedded = network.add_gather(constant(w["embedding"]), ids, 0).get_output(0)  # [steps, 2, e]
    sizes = network.add_shape(ids).get_output(0)
    first = constant(np.array(0, np.int32))
    steps = network.add_gather(sizes, first, 0).get_output(0)  # 0-D, as a trip limit must be

    loop = network.add_loop()
    loop.add_trip_limit(steps, trt.TripLimit.COUNT)
    x = loop.add_iterator(embedded, 0, False).get_output(0)  # a slice a trip: [2, e]
    zeros = constant(np.zeros((BATCH, hidden), np.float32))
    h_state, c_state = loop.add_recurrence(zeros), loop.add_recurrence(zeros)
    h, c = h_state.get_output(0), c_state.get_output(0)

    sums = []
    for gate in range(len(lstm.GATES)):
        rows = slice(gate * hidden, (gate + 1) * hidden)
        of_x = multiplied(x, constant(w["W"][rows].T))
        of_h = multiplied(h, constant(w["R"][rows].T))
        sums.append(elementwise("SUM", elementwise("SUM", of_x, of_h), constant(w["bias"][rows][None])))
    i, o, f = (activation(one, "sigmoid") for one in sums[:3])
    new = activation(sums[3], "tanh")
    c_next = elementwise("SUM", elementwise("PROD", f, c), elementwise("PROD", i, new))
    h_next = elementwise("PROD", o, activation(c_next, "tanh"))
    h_state.set_input(1, h_next)
    c_state.set_input(1, c_next)

    every_h = loop.add_loop_output(h_next, trt.LoopOutput.CONCATENATE, 0)
    every_h.set_input(1, steps)
    last = [loop.add_loop_output(state, trt.LoopOutput.LAST_VALUE, 0).get_output(0) for state in (h, c)]
    scaled = multiplied(every_h.get_output(0), constant(w["out"].T[None]))
    scores = elementwise("SUM", scaled, constant(w["out_bias"][None, None]))
    for tensor, name in zip((scores, *last), ("scores", "h_last", "c_last"), strict=True):
        tensor.name = name
        network.mark_output(tensor)
    return kept


def preload_rtx_parser() -> None:
    """Lets TensorRT-RTX's parser find `libtensorrt_rtx.so`: it opens that name, and the wheel only has `.so.1`.

    The parser looks beside itself. So it is loaded through a folder of links in which both names are.
    """
    wheel = importlib.util.find_spec("tensorrt_rtx_libs")
    if wheel is None or wheel.origin is None:
        return  # no wheel: NVIDIA's archive has all names
    links = HERE / "build" / "rtx"
    links.mkdir(parents=True, exist_ok=True)
    for library in Path(wheel.origin).parent.glob("lib*.so.1"):
        for link in (links / library.name, links / library.stem):
            if link.resolve() != library.resolve():
                link.unlink(missing_ok=True)
                link.symlink_to(library)
    ctypes.CDLL(str(links / "libtensorrt_onnxparser_rtx.so.1"))


class ParsedActivations:
    """The plugin's layers by the parser: TensorRT-RTX's Python API has no add_plugin_v3.

    The parser makes a layer of each node of a small model, on a constant; then the layer gets another input. (With the
    full `tensorrt`, `network.add_plugin_v2([x], plugin)` is all; `samples/leaky_relu` makes the plugin for it.)
    """

    def __init__(self, trt: Any, network: Any, logger: Any, hidden: int) -> None:
        self._network = network
        self._parser = trt.OnnxParser(network, logger)
        if not self._parser.parse(self._model(hidden)):
            reasons = [self._parser.get_error(number).desc() for number in range(self._parser.num_errors)]
            sys.exit(f"Stopped: NVIDIA's parser refuses the plugin's nodes: {' '.join(reasons)}")
        for tensor in [network.get_output(number) for number in range(network.num_outputs)]:
            network.unmark_output(tensor)
        layers = [network.get_layer(number) for number in range(network.num_layers)]
        self._layers = [layer for layer in layers if layer.type == trt.LayerType.PLUGIN_V3]

    @staticmethod
    def _model(hidden: int) -> bytes:
        from onnx import TensorProto, helper, numpy_helper

        nodes, values, outputs = [], [], []
        for number, kind in enumerate(ACTIVATIONS):
            nodes.append(
                helper.make_node(
                    "GateActivation", [f"x{number}"], [f"y{number}"], f"activation_{number}_", domain="acme",
                    plugin_version="1", plugin_namespace="", kind=kind,
                )
            )  # fmt: skip
            values.append(numpy_helper.from_array(np.zeros((BATCH, hidden), np.float32), f"x{number}"))
            outputs.append(helper.make_tensor_value_info(f"y{number}", TensorProto.FLOAT, [BATCH, hidden]))
        graph = helper.make_graph(nodes, "activations", [], outputs, values)
        opsets = [helper.make_opsetid("", 18), helper.make_opsetid("acme", 1)]
        model: bytes = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
        return model

    def __call__(self, x: Any, kind: str) -> Any:
        """The next layer, on a tensor."""
        assert kind == ACTIVATIONS[-len(self._layers)], "asked for in another order than they were made"
        layer = self._layers.pop(0)
        layer.set_input(0, x)
        return layer.get_output(0)


def main() -> None:
    """Builds the network."""
    if not LIBRARY.is_file():
        sys.exit(f"Stopped: there is no {LIBRARY.relative_to(HERE)}.\nFix: pluginkit build")
    try:
        preload_rtx_parser()
        import tensorrt_rtx as trt
    except (ImportError, OSError) as error:
        sys.exit(f"Stopped: {error}\nFix: pip install tensorrt-rtx")
    logger = trt.Logger(trt.Logger.ERROR)
    trt.get_plugin_registry().load_library(str(LIBRARY))
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    w = lstm.load()
    kept = add_lstm(trt, network, w, ParsedActivations(trt, network, logger, w["R"].shape[1]))
    for number in range(network.num_outputs):
        tensor = network.get_output(number)
        print(f"output {tensor.name}: {tuple(tensor.shape)}")
    profile = builder.create_optimization_profile()
    profile.set_shape("ids", (1, BATCH), (40, BATCH), (146, BATCH))
    config = builder.create_builder_config()
    config.add_optimization_profile(profile)
    engine = builder.build_serialized_network(network, config)
    del kept
    if engine is None:
        sys.exit("Stopped: NVIDIA's builder made no engine; what it logged stands above.")
    (HERE / "build" / "by_network_api.engine").write_bytes(bytes(engine))
    print(f"engine: {network.num_layers} layers in the network; build/by_network_api.engine")


if __name__ == "__main__":
    main()
