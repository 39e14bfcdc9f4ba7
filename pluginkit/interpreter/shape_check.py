"""Runs a network on zeros, at each profile's min, opt and max: whether the plugins' output types and shapes fit in it.

A builder knows the shapes of both branches of an If, and of a loop's state before and after a trip. So both branches
run here, and a body once, whatever the condition or trip count is. The plugin doesn't run: what was built of it
has its outputs' types and shapes. tests/fidelity compares this with NVIDIA's builder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_if import If as OnnxIf

from pluginkit.errors import CheckFailed, PluginkitError
from pluginkit.host import BuiltPlugin
from pluginkit.interpreter import scan, walker
from pluginkit.network.networks import Array, Dims, Network, NetworkProfile

POINTS = ("min", "opt", "max")

Outputs = dict[str, tuple[str, Dims]]
"""Graph output -> NumPy's name of its type, and its shape."""

QUANTIZED_HINT = (
    "Quantize and dequantize within the branch: TensorRT's documents let no INT8 or FP8 tensor cross an If."
)


def walk(network: Network, op_type: str, built: Mapping[str, BuiltPlugin]) -> list[list[Outputs]]:
    """The graph outputs' types and shapes: per profile at min, opt and max.

    Args:
        network: the network.
        op_type: the plugin's name.
        built: node -> what was built.

    Raises:
        CheckFailed: an If's branches differ, a quantized tensor crosses its boundary, a state changes in a loop, or an
            operator can't take what it gets.
    """
    model = onnx.load_from_string(network.model)

    def zeros(node: onnx.NodeProto, inputs: Sequence[Array]) -> Sequence[Array]:
        plugin = built[node.name]
        chosen = plugin.v3.shape_inputs if plugin.v3 is not None else ()
        actual = [value.shape for index, value in enumerate(inputs) if index not in chosen]
        actual += [tuple(int(number) for number in inputs[index].ravel()) for index in chosen]
        _check_inputs(node.name, plugin.input_dims, actual)
        return [
            np.zeros(shape.at(plugin.input_dims, actual), spec.dtype.numpy)
            for shape, spec in zip(plugin.shapes, plugin.outputs[0], strict=True)
        ]

    operators = {(node.domain, op_type) for node in walker.nodes(model.graph) if node.op_type == op_type}
    constants = {tensor.name for tensor in model.graph.initializer}
    found: list[list[Outputs]] = []
    for profile in network.profiles:
        found.append([])
        for index, point in enumerate(POINTS):
            where = f"profile {profile.name!r} at {point}"
            instead = [_if(where, constants), _loop(where), scan.once(where)]
            try:
                outputs = walker.run_nodes(model, operators, zeros, _feeds(model, profile, index), instead)
            except PluginkitError:
                raise
            except Exception as error:
                # onnx wraps NumPy's errors on shapes into a TypeError.
                message = ": ".join(str(one) for one in (error, error.__cause__) if one)
                raise CheckFailed(f"{where}: {message}") from error
            found[-1].append({name: (value.dtype.name, value.shape) for name, value in outputs.items()})
    return found


def _check_inputs(node: str, declared: Sequence[Dims], actual: Sequence[Dims]) -> None:
    """Only a plugin that feeds a plugin can bring a wrong shape about."""
    for index, (dims, shape) in enumerate(zip(declared, actual, strict=True)):
        if len(dims) != len(shape) or any(dim not in {-1, size} for dim, size in zip(dims, shape, strict=True)):
            raise CheckFailed(
                f"plugin node {node!r}: input {index} has the shape {list(shape)}, the network has {list(dims)}",
                hint="Is the shape that the plugin feeding it computes right?",
            )


def _feeds(model: onnx.ModelProto, profile: NetworkProfile, point: int) -> dict[str, Array]:
    feeds = {}
    constants = {tensor.name for tensor in model.graph.initializer}
    for value in (value for value in model.graph.input if value.name not in constants):
        kind = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        array = np.zeros(profile.shapes[value.name][point], kind)
        if value.name in profile.values:
            array = np.array(profile.values[value.name][point], kind).reshape(array.shape)
        feeds[value.name] = array
    return feeds


def _if(where: str, constants: set[str]) -> type[OpRun]:
    class If(OnnxIf):  # type: ignore[misc]
        """ONNX's If, which runs both branches."""

        op_domain = ""

        def _run(self, cond: Array, context: Mapping[str, Array] | None = None, **more: Any) -> tuple[Array, ...]:
            name, outer = self.onnx_node.name, context or {}
            yes = super()._run(np.array(True), context=context, **more)
            no = super()._run(np.array(False), context=context, **more)
            for attribute in self.onnx_node.attribute:
                used = {tensor for node in walker.nodes(attribute.g) for tensor in node.input if tensor}
                for tensor in sorted(used - constants):
                    if tensor in outer and (kind := scan.quantized_type(outer[tensor])):
                        raise CheckFailed(
                            f"If {name!r}: the {kind} tensor {tensor!r} goes into {attribute.name}",
                            hint=QUANTIZED_HINT,
                        )
            for index, (one, other) in enumerate(zip(yes, no, strict=True)):
                if kind := scan.quantized_type(one) or scan.quantized_type(other):
                    raise CheckFailed(f"If {name!r}: output {index} of a branch is {kind}", hint=QUANTIZED_HINT)
                if (one.dtype, one.shape) != (other.dtype, other.shape):
                    raise CheckFailed(
                        f"If {name!r}: output {index} is {_text(one)} in then_branch and {_text(other)} in else_branch "
                        f"({where})",
                        hint="Both branches of an If must give the same types and shapes.",
                    )
            return tuple(yes if cond.item() else no)

    return If


def _loop(where: str) -> type[OpRun]:
    class ZerosLoop(walker.Loop):
        """ONNX's Loop, whose body runs once; its scan outputs are zeros of the trip count's length."""

        op_domain = ""

        def _run(
            self,
            trip_limit: Array | None,
            going: Array | None,
            *states: Array,
            context: Mapping[str, Array] | None = None,
            body: Any = None,
            attributes: Any = None,
            **_more: Any,
        ) -> tuple[Array, ...]:
            del going
            body = body or self.body
            _, *left = self.trip(body, 0, states, context, attributes)
            name = f"Loop {self.onnx_node.name!r}"
            scan.check_states(name, states, left, where)
            scan.check_quantized(name, states, (), left[len(states) :])
            scan.check_ranks(name, left[len(states) :], where)
            trips = 1 if trip_limit is None else int(np.asarray(trip_limit).item())
            scanned = [np.zeros((trips, *value.shape), value.dtype) for value in left[len(states) :]]
            return (*left[: len(states)], *scanned)

    ZerosLoop.__name__ = "Loop"  # the operator that it is used for
    return ZerosLoop


def _text(value: Array) -> str:
    return f"{value.dtype} {list(value.shape)}"
