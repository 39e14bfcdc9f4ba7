"""Puts the plugin into a branch of the exported model: Accumulate in the place of Add, where the row's sum is even.

Writes build/sum_even.onnx, and rows with what must come out for them: build/items.npz and build/total.npz.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

HERE = Path(__file__).resolve().parent
DOMAIN = "acme"


def branches(graph: onnx.GraphProto) -> list[onnx.GraphProto]:
    """The then branches of all Ifs in a graph, in loops' bodies too."""
    found = []
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                if attribute.name == "then_branch":
                    found.append(attribute.g)
                found += branches(attribute.g)
    return found


def put_plugin(model: onnx.ModelProto, weight: float) -> None:
    """Makes the one Add in a then branch a node of the plugin: the operator is its name, attributes are its fields."""
    (add,) = [node for branch in branches(model.graph) for node in branch.node if node.op_type == "Add"]
    plugin = helper.make_node(
        "Accumulate", add.input, add.output, "accumulate", domain=DOMAIN,
        plugin_version="1", plugin_namespace="", weight=weight,
    )  # fmt: skip
    add.CopyFrom(plugin)
    model.opset_import.append(helper.make_opsetid(DOMAIN, 1))


def sum_even(items: np.ndarray, weight: float) -> np.ndarray:
    """What the model computes: the sum of those rows [n, 2] whose own sum is even, times the weight."""
    even = items.sum(axis=1) % 2 == 0
    return (weight * items[even]).sum(axis=0)


def main() -> None:
    """All of it."""
    parser = argparse.ArgumentParser(description="The plugin Accumulate in a branch of the exported model.")
    parser.add_argument("--rows", type=int, default=7, help="so many rows are drawn (7)")
    parser.add_argument("--weight", type=float, default=0.5, help="the plugin's field (0.5)")
    asked = parser.parse_args()
    if asked.rows < 1:
        parser.error("--rows must be 1 or more")
    model = onnx.load(HERE / "sum_even.onnx")
    put_plugin(model, asked.weight)
    items = np.random.default_rng(asked.rows).integers(-5, 6, (asked.rows, 2)).astype(np.float32)
    total = sum_even(items, asked.weight).astype(np.float32)
    folder = HERE / "build"
    folder.mkdir(exist_ok=True)
    onnx.save(model, folder / "sum_even.onnx")
    np.savez(folder / "items.npz", items=items)
    np.savez(folder / "total.npz", total=total)
    even = int((items.sum(axis=1) % 2 == 0).sum())
    print(f"build/sum_even.onnx: Accumulate with the weight {asked.weight:g} in the then branch")
    print(f"build/items.npz, build/total.npz: {asked.rows} rows, {even} of them even: {total.tolist()}")


if __name__ == "__main__":
    main()
