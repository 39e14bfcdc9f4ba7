"""Writes two models with the plugin as the activation of an LSTM in a Loop, their inputs, and what NumPy's LSTM gives.

`char_lstm.onnx` reads sequences and scores the next letter at each step. `recite.onnx` feeds the likeliest letter back.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import lstm
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = Path(__file__).resolve().parent
DOMAIN = "acme"
BATCH = 2


class Body:
    """The nodes of a loop's body, each with a name of its own."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []

    def add(self, operator: str, inputs: list[str], *outputs: str, **attributes: Any) -> str:
        """One node; the name of its first output."""
        name = f"n{len(self.nodes):02d}_{outputs[0]}"
        self.nodes.append(helper.make_node(operator, inputs, outputs, name, **attributes))
        return outputs[0]

    def activation(self, x: str, out: str, kind: str) -> str:
        """The plugin: the operator is the creator's name, the attributes are its fields."""
        return self.add(
            "GateActivation", [x], out, domain=DOMAIN, plugin_version="1", plugin_namespace="", kind=kind
        )  # fmt: skip

    def cell(self, sums: str) -> None:
        """From the gates' sums and the states `h` and `c` to `h_next` and `c_next`."""
        self.add("Split", [sums], *(f"{gate}_sum" for gate in lstm.GATES), axis=1, num_outputs=len(lstm.GATES))
        gates = {gate: self.activation(f"{gate}_sum", gate, "sigmoid") for gate in lstm.GATES[:3]}
        new = self.activation("cell_sum", "cell", "tanh")
        kept = self.add("Mul", [gates["forget"], "c"], "kept")
        self.add("Add", [kept, self.add("Mul", [gates["input"], new], "taken")], "c_next")
        self.add("Mul", [gates["output"], self.activation("c_next", "c_bent", "tanh")], "h_next")


def constants(w: dict[str, np.ndarray], batch: int) -> dict[str, np.ndarray]:
    """What the models hold: the weights as the MatMuls want them, and states of zeros."""
    zeros = np.zeros((batch, w["R"].shape[1]), np.float32)
    transposed = {f"{name}_t": w[name].T for name in ("W", "R", "out")}
    kept = {name: w[name] for name in ("embedding", "bias", "out_bias")}
    return {**kept, **transposed, "h_first": zeros, "c_first": zeros, "going": np.array(True)}


def body(nodes: Body, states: dict[str, tuple[int, list[int]]], scanned: dict[str, tuple[int, list[int]]]) -> Any:
    """A Loop's body: of each state, `name` comes in and `name_next` goes out; `scanned` is put together."""
    nodes.add("Identity", ["on"], "on_next")
    info = helper.make_tensor_value_info
    inputs = [info("step", TensorProto.INT64, []), info("on", TensorProto.BOOL, [])]
    inputs += [info(name, kind, dims) for name, (kind, dims) in states.items()]
    outputs = [info("on_next", TensorProto.BOOL, [])]
    outputs += [info(f"{name}_next", kind, dims) for name, (kind, dims) in states.items()]
    outputs += [info(name, kind, dims) for name, (kind, dims) in scanned.items()]
    return helper.make_graph(nodes.nodes, "body", inputs, outputs)


def model(nodes: list[onnx.NodeProto], inputs: Any, outputs: Any, held: dict[str, np.ndarray]) -> onnx.ModelProto:
    """A model of nodes, checked."""
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "char_lstm",
        [info(name, kind, dims) for name, (kind, dims) in inputs.items()],
        [info(name, kind, dims) for name, (kind, dims) in outputs.items()],
        [numpy_helper.from_array(np.ascontiguousarray(array), name) for name, array in held.items()],
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(DOMAIN, 1)]
    made = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    onnx.checker.check_model(made)
    return made


def reading(w: dict[str, np.ndarray]) -> onnx.ModelProto:
    """ids [steps, 2] -> scores [steps, 2, letters], and the last h and c [2, h]. The number of steps is open."""
    hidden = w["R"].shape[1]
    inner = Body()
    inner.add("Gather", ["sums_of_letters", "step"], "sum_of_letter", axis=0)
    inner.add("Add", ["sum_of_letter", inner.add("MatMul", ["h", "R_t"], "sum_of_h")], "sums")
    inner.cell("sums")
    inner.add("Identity", ["h_next"], "h_of_step")
    state = (TensorProto.FLOAT, [BATCH, hidden])
    whole = Body()
    whole.add("Gather", ["embedding", "ids"], "embedded", axis=0)
    whole.add("Add", [whole.add("MatMul", ["embedded", "W_t"], "products"), "bias"], "sums_of_letters")
    whole.add("Gather", [whole.add("Shape", ["ids"], "sizes"), "zero"], "steps", axis=0)
    whole.add(
        "Loop", ["steps", "going", "h_first", "c_first"], "h_last", "c_last", "every_h",
        body=body(inner, {"h": state, "c": state}, {"h_of_step": state}),
    )  # fmt: skip
    whole.add("Add", [whole.add("MatMul", ["every_h", "out_t"], "scaled"), "out_bias"], "scores")
    outputs = {"scores": (TensorProto.FLOAT, ["steps", BATCH, len(lstm.LETTERS)]), "h_last": state, "c_last": state}
    held = {**constants(w, BATCH), "zero": np.array(0)}
    return model(whole.nodes, {"ids": (TensorProto.INT32, ["steps", BATCH])}, outputs, held)


def reciting(w: dict[str, np.ndarray], length: int) -> onnx.ModelProto:
    """first [1] -> text [length, 1]: the likeliest letter of each step is the next step's input."""
    hidden = w["R"].shape[1]
    inner = Body()
    inner.add("Gather", ["embedding", "letter"], "embedded", axis=0)
    inner.add("Add", [inner.add("MatMul", ["embedded", "W_t"], "products"), "bias"], "sum_of_letter")
    inner.add("Add", ["sum_of_letter", inner.add("MatMul", ["h", "R_t"], "sum_of_h")], "sums")
    inner.cell("sums")
    inner.add("Add", [inner.add("MatMul", ["h_next", "out_t"], "scaled"), "out_bias"], "scores")
    inner.add("ArgMax", ["scores"], "likeliest", axis=1, keepdims=0)
    inner.add("Cast", ["likeliest"], "letter_next", to=TensorProto.INT32)
    inner.add("Identity", ["letter_next"], "letter_of_step")
    state, letter = (TensorProto.FLOAT, [1, hidden]), (TensorProto.INT32, [1])
    whole = Body()
    whole.add(
        "Loop", ["length", "going", "first", "h_first", "c_first"], "letter_last", "h_last", "c_last", "text",
        body=body(inner, {"letter": letter, "h": state, "c": state}, {"letter_of_step": letter}),
    )  # fmt: skip
    held = {**constants(w, 1), "length": np.array(length)}
    outputs = {"text": (TensorProto.INT32, [length, 1]), "h_last": state, "c_last": state}
    return model(whole.nodes, {"first": letter}, outputs, held)


def main() -> None:
    """Writes all files."""
    parser = argparse.ArgumentParser(description="The plugin GateActivation in an LSTM in a Loop, by ONNX.")
    parser.add_argument("--steps", type=int, default=40, help=f"of each sequence, 1 to {len(lstm.TEXT) // 2} (40)")
    steps: int = parser.parse_args().steps
    if not 1 <= steps <= len(lstm.TEXT) // 2:
        parser.error(f"--steps must be from 1 to {len(lstm.TEXT) // 2}")
    w = lstm.load()
    folder = HERE / "build"
    folder.mkdir(exist_ok=True)

    onnx.save(reading(w), folder / "char_lstm.onnx")
    ids = np.stack([lstm.numbers(lstm.TEXT[:steps]), lstm.numbers(lstm.TEXT[-steps:])], axis=1)
    expected = dict(zip(("scores", "h_last", "c_last"), lstm.scores(w, ids), strict=True))
    np.savez(folder / "ids.npz", ids=ids)
    np.savez(folder / "scores.npz", **{name: array.astype(np.float32) for name, array in expected.items()})
    print(f"build/char_lstm.onnx: {BATCH} sequences of any length; build/ids.npz, build/scores.npz: {steps} steps")

    length = len(lstm.TEXT) - 1
    first = lstm.numbers(lstm.TEXT[0])
    onnx.save(reciting(w, length), folder / "recite.onnx")
    text = lstm.recite(w, int(first[0]), length)
    _, h, c = lstm.scores(w, np.concatenate([first, text[:-1]])[:, None])
    np.savez(folder / "first.npz", first=first)
    np.savez(folder / "text.npz", text=text[:, None], h_last=h.astype(np.float32), c_last=c.astype(np.float32))
    print(
        f"build/recite.onnx: a letter is fed back {length} times; build/first.npz, build/text.npz. NumPy's LSTM says:\n"
    )
    print(lstm.TEXT[0] + lstm.letters(text))


if __name__ == "__main__":
    main()
