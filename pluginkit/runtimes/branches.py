"""The branches of an If, held against one another: NVIDIA's builder lets some differences pass that it shouldn't."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx.reference.ops.op_if import If as OnnxIf

from pluginkit.errors import CheckFailed, PluginkitError
from pluginkit.host import BuiltPlugin
from pluginkit.runtimes import walker
from pluginkit.testing.model import Array, Network, NetworkProfile


def check(network: Network, op_type: str, built: Mapping[str, BuiltPlugin]) -> None:
    """Runs both branches of every If at each profile's min, opt and max, on zeros, without the plugin.

    Args:
        network: the network; nothing is done if it has no If.
        op_type: the plugin's name.
        built: node -> what was built, which knows the outputs' types and shapes.

    Raises:
        CheckFailed: branches of different types or shapes, or an INT8 tensor that crosses the boundary.
    """
    model = onnx.load_from_string(network.model)
    nodes = list(walker.nodes(model.graph))
    if all(node.op_type != "If" for node in nodes):
        return

    def zeros(node: onnx.NodeProto, inputs: Sequence[Array]) -> Sequence[Array]:
        plugin = built[node.name]
        actual = [value.shape for value in inputs]
        return [
            np.zeros(shape.at(plugin.input_dims, actual), spec.dtype.numpy)
            for shape, spec in zip(plugin.shapes, plugin.outputs[0], strict=True)
        ]

    operators = {(node.domain, op_type) for node in nodes if node.op_type == op_type}
    constants = {tensor.name for tensor in model.graph.initializer}
    for profile in network.profiles:
        for index, point in enumerate(("min", "opt", "max")):
            If = _both(f"profile {profile.name!r} at {point}", constants)  # noqa: N806 (the operator's name)
            try:
                walker.run_nodes(model, operators, zeros, _feeds(model, profile, index), [If])
            except PluginkitError:
                raise
            except Exception:  # noqa: BLE001 (what doesn't fit together is for the run to say, with real values)
                return


def _feeds(model: onnx.ModelProto, profile: NetworkProfile, point: int) -> dict[str, Array]:
    feeds = {}
    for value in model.graph.input:
        kind = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        array = np.zeros(profile.shapes[value.name][point], kind)
        if value.name in profile.values:
            array = np.array(profile.values[value.name][point], kind).reshape(array.shape)
        feeds[value.name] = array
    return feeds


def _both(where: str, constants: set[str]) -> type[OnnxIf]:
    class If(OnnxIf):  # type: ignore[misc]
        """ONNX's If, which runs both branches."""

        op_domain = ""

        def _run(self, cond: Array, context: Mapping[str, Array] | None = None, **more: Any) -> tuple[Array, ...]:
            name, outer = self.onnx_node.name, context or {}
            yes = super()._run(np.array(True), context=context, **more)
            no = super()._run(np.array(False), context=context, **more)
            for attribute in self.onnx_node.attribute:
                used = {tensor for node in walker.nodes(attribute.g) for tensor in node.input}
                int8 = [one for one in sorted(used - constants) if one in outer and outer[one].dtype == np.int8]
                if int8:
                    raise CheckFailed(f"If {name!r}: the INT8 tensor {int8[0]!r} goes into {attribute.name}", hint=HINT)
            for index, (one, other) in enumerate(zip(yes, no, strict=True)):
                if np.int8 in (one.dtype, other.dtype):
                    raise CheckFailed(f"If {name!r}: output {index} of a branch is INT8", hint=HINT)
                if (one.dtype, one.shape) != (other.dtype, other.shape):
                    raise CheckFailed(
                        f"If {name!r}: output {index} is {one.dtype} {list(one.shape)} in then_branch and "
                        f"{other.dtype} {list(other.shape)} in else_branch ({where})",
                        hint="Both branches of an If must give the same types and shapes.",
                    )
            return tuple(yes if cond.item() else no)

    return If


HINT = "Quantize and dequantize within the branch: INT8 is no type that TensorRT's documents let cross an If."
