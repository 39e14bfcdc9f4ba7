"""Which tensors of a model are constants or follow from shapes alone, and what is in those that are small."""

from __future__ import annotations

import contextlib

import numpy as np
import onnx

from pluginkit.importing.onnx_graph import subgraphs
from pluginkit.network.networks import Array

LARGEST = 4096
"""Elements of a tensor whose values anything asks for."""

_SHAPES = ("Shape", "Size")


class Constants:
    """The constants of a model, in all of its graphs: initializers, outputs of Constant, what follows from these.

    Attributes:
        names: of all constants.
        of_shapes: of these, and of all that follows from them and from shapes alone: constants once the inputs'
            shapes are numbers.
    """

    def __init__(self, model: onnx.ModelProto) -> None:
        self.names: set[str] = set()
        self.of_shapes: set[str] = set()
        self._tensors: dict[str, onnx.TensorProto] = {}
        self._walk(model.graph)

    def value(self, name: str) -> Array | None:
        """The values of an initializer or a Constant; None if it is none, or large, or in a file that isn't read."""
        tensor = self._tensors.get(name)
        if tensor is None or np.prod(tensor.dims or (1,)) > LARGEST:
            return None
        found: Array | None = None
        # Data in a file that is not read, or a type that NumPy lacks.
        with contextlib.suppress(Exception):
            found = onnx.numpy_helper.to_array(tensor)
        return found

    def _walk(self, graph: onnx.GraphProto) -> None:
        for tensor in graph.initializer:
            self.names.add(tensor.name)
            self._tensors[tensor.name] = tensor
        self.names.update(tensor.values.name for tensor in graph.sparse_initializer)
        self.of_shapes |= self.names
        for node in graph.node:
            inner = [one for _, one in subgraphs(node)]
            for one in inner:
                self._walk(one)
            needed = [*node.input, *(value.name for one in inner for value in one.output)]
            if node.op_type in _SHAPES or (
                node.op_type not in {"Loop", "Scan"} and all(not name or name in self.of_shapes for name in needed)
            ):
                self.of_shapes.update(node.output)
            if not inner and all(not name or name in self.names for name in node.input):
                self.names.update(node.output)
                if node.op_type == "Constant":
                    self._tensors.update((node.output[0], one.t) for one in node.attribute if one.name == "value")


def depends_on(node: onnx.NodeProto, constants: Constants) -> set[str]:
    """The inputs that the values of a node's outputs depend on; not those that its arithmetic makes no matter.

    That is the arithmetic that NVIDIA's builder is seen to do (TensorRT-RTX 1.7.1.116): in a loop it takes sizes of
    `k * 0`, of a Where on a constant, and for integers of `k % 1` and a Clip to one value. It refuses `0 / k`, `k ** 0`
    and `min(k, 0)`. What it makes of `k - k`, `rules.sums` knows.
    """
    inputs = {name for name in node.input if name}
    if node.domain not in {"", "ai.onnx"}:
        return inputs
    given = [*node.input, "", "", ""][:3]
    values = [constants.value(name) for name in given]
    first, second, third = (set() if one is None else set(one.reshape(-1).tolist()) for one in values)
    whole = values[1] is not None and values[1].dtype.kind in "iu"
    nothing = {
        "Mul": {0} in (first, second),
        "Mod": whole and second == {1},
        "Clip": whole and len(second) == 1 and second == third,
    }
    if node.op_type == "Where" and len(first) == 1:
        return {given[1 if first.pop() else 2]}
    return set() if nothing.get(node.op_type, False) else inputs
