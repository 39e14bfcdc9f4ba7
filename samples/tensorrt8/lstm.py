"""An LSTM cell in a loop of the network API, in the place of IRNNv2, which TensorRT 8 deprecates.

The loop has a trip limit (the number of steps), an iterator (x of a step) and two recurrences (h and c). Without
cuBLAS TensorRT 8.5 builds no matrix product in a loop: there, products are elementwise, and an IReduceLayer sums them.
"""

from __future__ import annotations

import common
import numpy as np
import tensorrt as trt
from polygraphy.backend.trt import Profile

BATCH, FEATURES, HIDDEN = 2, 5, 8
GATES = {"input": "SIGMOID", "forget": "SIGMOID", "cell": "TANH", "output": "SIGMOID"}
RANDOM = np.random.default_rng(4)
W = {gate: RANDOM.standard_normal((FEATURES, HIDDEN)).astype(np.float32) / 2 for gate in GATES}
R = {gate: RANDOM.standard_normal((HIDDEN, HIDDEN)).astype(np.float32) / 3 for gate in GATES}
BIAS = {gate: RANDOM.standard_normal((1, HIDDEN)).astype(np.float32) for gate in GATES}


def add_lstm(network: trt.INetworkDefinition) -> None:
    """x [steps, 2, 5] -> every [steps, 2, 8], the h of each step, and last [2, 8], the c of the last one."""

    def elementwise(operation: str, left: trt.ITensor, right: trt.ITensor) -> trt.ITensor:
        return network.add_elementwise(left, right, getattr(trt.ElementWiseOperation, operation)).get_output(0)

    def times(left: trt.ITensor, values: np.ndarray) -> trt.ITensor:
        if with_cublas:
            plain = trt.MatrixOperation.NONE
            return network.add_matrix_multiply(left, plain, common.constant(network, values), plain).get_output(0)
        columns = network.add_shuffle(left)
        columns.reshape_dims = (BATCH, len(values), 1)
        products = elementwise("PROD", columns.get_output(0), common.constant(network, values[None]))
        return network.add_reduce(products, trt.ReduceOperation.SUM, 1 << 1, False).get_output(0)

    def activated(tensor: trt.ITensor, kind: str) -> trt.ITensor:
        return network.add_activation(tensor, getattr(trt.ActivationType, kind)).get_output(0)

    with_cublas = trt.TacticSource.CUBLAS in common.usable_sources()
    if not with_cublas:
        print("Without cuBLAS: matrix products are elementwise products and sums")
    x = network.add_input("x", trt.float32, (-1, BATCH, FEATURES))
    first = common.constant(network, np.array(0, np.int32))
    steps = network.add_gather(network.add_shape(x).get_output(0), first, 0).get_output(0)  # 0-D, as a limit must be
    loop = network.add_loop()
    loop.add_trip_limit(steps, trt.TripLimit.COUNT)
    now = loop.add_iterator(x, 0, False).get_output(0)
    zeros = common.constant(network, np.zeros((BATCH, HIDDEN), np.float32))
    h_state, c_state = loop.add_recurrence(zeros), loop.add_recurrence(zeros)
    h, c = h_state.get_output(0), c_state.get_output(0)
    gate = {}
    for name, kind in GATES.items():
        summed = elementwise("SUM", times(now, W[name]), times(h, R[name]))
        gate[name] = activated(elementwise("SUM", summed, common.constant(network, BIAS[name])), kind)
    kept = elementwise("PROD", gate["forget"], c)
    c_next = elementwise("SUM", kept, elementwise("PROD", gate["input"], gate["cell"]))
    h_next = elementwise("PROD", gate["output"], activated(c_next, "TANH"))
    h_state.set_input(1, h_next)
    c_state.set_input(1, c_next)
    every = loop.add_loop_output(h_next, trt.LoopOutput.CONCATENATE, 0)
    every.set_input(1, steps)
    common.mark_output(network, "every", every.get_output(0))
    common.mark_output(network, "last", loop.add_loop_output(c, trt.LoopOutput.LAST_VALUE, 0).get_output(0))


def by_numpy(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What the network's outputs must be."""
    h, c, every = np.zeros((BATCH, HIDDEN)), np.zeros((BATCH, HIDDEN)), []
    for now in x:
        a = {name: now @ W[name] + h @ R[name] + BIAS[name] for name in GATES}
        a = {name: np.tanh(a[name]) if kind == "TANH" else 1 / (1 + np.exp(-a[name])) for name, kind in GATES.items()}
        c = a["forget"] * c + a["input"] * a["cell"]
        h = a["output"] * np.tanh(c)
        every.append(h)
    return np.stack(every), c


def example() -> None:
    """One engine for 1 to 32 steps."""
    builder, network = common.new_network()
    add_lstm(network)
    shapes = [(steps, BATCH, FEATURES) for steps in (1, 8, 32)]
    engine = common.build(builder, network, Profile().add("x", *shapes))
    for shape in shapes:
        x = RANDOM.standard_normal(shape).astype(np.float32)
        got, (every, last) = common.run(engine, {"x": x}), by_numpy(x)
        common.compare(f"{shape[0]} steps, every h", got["every"], every, 1e-4)
        common.compare(f"{shape[0]} steps, last c", got["last"], last, 1e-4)


if __name__ == "__main__":
    common.main(example)
