"""ONNX's Scan for the walker: onnx's own reference has no reversed directions and no axes but 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx.reference.op_run import OpRun

from pluginkit.dtypes import QUANTIZED
from pluginkit.errors import CheckFailed
from pluginkit.manifest import MAX_DIMS
from pluginkit.network.networks import Array, Dims


@dataclass(frozen=True)
class Slicing:
    """How a Scan's inputs are taken apart and its outputs put together: axes and directions (1 is backwards)."""

    axes: tuple[int, ...]
    backwards: tuple[int, ...]
    output_axes: tuple[int, ...]
    output_backwards: tuple[int, ...]

    @classmethod
    def of(cls, node: onnx.NodeProto) -> Slicing:
        """What a Scan's attributes say; 0 is the default of all."""
        given = {one.name: tuple(one.ints) for one in node.attribute if one.type == onnx.AttributeProto.INTS}
        (inputs,) = [one.i for one in node.attribute if one.name == "num_scan_inputs"]
        outputs = len(node.output) - (len(node.input) - inputs)
        return cls(
            given.get("scan_input_axes", (0,) * inputs),
            given.get("scan_input_directions", (0,) * inputs),
            given.get("scan_output_axes", (0,) * outputs),
            given.get("scan_output_directions", (0,) * outputs),
        )

    def trips(self, name: str, scanned: Sequence[Array]) -> int:
        """How many slices there are.

        Raises:
            CheckFailed: not of all inputs as many.
        """
        counts = [value.shape[axis] for value, axis in zip(scanned, self.axes, strict=True)]
        if len(set(counts)) > 1:
            lengths = ", ".join(
                f"{list(value.shape)} along axis {axis}" for value, axis in zip(scanned, self.axes, strict=True)
            )
            raise CheckFailed(
                f"Scan {name!r}: its inputs have different numbers of slices: {lengths}",
                hint="All scan inputs of a Scan have one length along their axes.",
            )
        return int(counts[0])

    def slices(self, scanned: Sequence[Array], trip: int, trips: int) -> list[Array]:
        """The inputs of a trip."""
        return [
            value.take(trips - 1 - trip if backwards else trip, axis)
            for value, axis, backwards in zip(scanned, self.axes, self.backwards, strict=True)
        ]

    def together(self, index: int, values: Sequence[Array], output: onnx.ValueInfoProto) -> Array:
        """An output of all trips; `output` is the body's."""
        if not values:
            return _no_trips(output, self.output_axes[index])
        ordered = values[::-1] if self.output_backwards[index] else values
        return np.stack(ordered, axis=self.output_axes[index])


class Scan(OpRun):  # type: ignore[misc]
    """Scan as ONNX defines it: https://onnx.ai/onnx/operators/onnx__Scan.html."""

    op_domain = ""

    def need_context(self) -> bool:
        """Bodies may use values from outside."""
        return True

    def _run(
        self,
        *given: Array,
        context: Mapping[str, Array] | None = None,
        body: Any = None,
        attributes: Any = None,
        **_more: Any,
    ) -> tuple[Array, ...]:
        body, slicing = body or self.body, Slicing.of(self.onnx_node)
        count = len(given) - len(slicing.axes)
        states, scanned = list(given[:count]), given[count:]
        trips = slicing.trips(self.onnx_node.name, scanned)
        found: list[list[Array]] = [[] for _ in slicing.output_axes]
        for trip in range(trips):
            own = [*states, *slicing.slices(scanned, trip, trips)]
            left = body.run(
                None, {**(context or {}), **dict(zip(body.input_names, own, strict=True))}, attributes=attributes
            )
            states = list(left[:count])
            for values, value in zip(found, left[count:], strict=True):
                values.append(value)
        ends = zip(found, body.proto_.output[count:], strict=True)
        together = [slicing.together(index, values, output) for index, (values, output) in enumerate(ends)]
        return (*states, *together)


def _no_trips(output: onnx.ValueInfoProto, axis: int) -> Array:
    """An output of no trips: dimensions that the body's graph leaves open are 0, as for a Loop."""
    tensor = output.type.tensor_type
    dims: list[int] = [dim.dim_value if dim.HasField("dim_value") else 0 for dim in tensor.shape.dim]
    dims.insert(axis, 0)
    return np.zeros(dims, onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))


def once(where: str) -> type[OpRun]:
    """A Scan whose body runs on one slice, whatever there is; its outputs are zeros of the right shapes.

    Args:
        where: profile and point, for errors.
    """

    class Once(Scan):
        """As for `once`."""

        def _run(
            self,
            *given: Array,
            context: Mapping[str, Array] | None = None,
            body: Any = None,
            attributes: Any = None,
            **_more: Any,
        ) -> tuple[Array, ...]:
            body, slicing = body or self.body, Slicing.of(self.onnx_node)
            count = len(given) - len(slicing.axes)
            states, scanned = given[:count], given[count:]
            trips = slicing.trips(self.onnx_node.name, scanned)
            pieces = [
                np.zeros(_without(value.shape, axis), value.dtype)
                for value, axis in zip(scanned, slicing.axes, strict=True)
            ]
            own = dict(zip(body.input_names, [*states, *pieces], strict=True))
            left = body.run(None, {**(context or {}), **own}, attributes=attributes)
            check_states(f"Scan {self.onnx_node.name!r}", states, left, where)
            check_quantized(f"Scan {self.onnx_node.name!r}", states, scanned, left[count:])
            check_ranks(f"Scan {self.onnx_node.name!r}", left[count:], where)
            together = [
                np.zeros((*value.shape[:axis], trips, *value.shape[axis:]), value.dtype)
                for value, axis in zip(left[count:], slicing.output_axes, strict=True)
            ]
            return (*left[:count], *together)

    Once.__name__ = "Scan"
    return Once


def _without(dims: Dims, axis: int) -> Dims:
    axis %= len(dims)
    return (*dims[:axis], *dims[axis + 1 :])


def check_states(loop: str, before: Sequence[Array], after: Sequence[Array], where: str) -> None:
    """Look whether a loop's states keep their types and shapes.

    Args:
        loop: its name with the operator.
        before: the states before a trip.
        after: what the body gives, states first.
        where: profile and point.

    Raises:
        CheckFailed: one doesn't.
    """
    for index, (one, other) in enumerate(zip(before, after, strict=False)):
        if (one.dtype, one.shape) != (other.dtype, other.shape):
            raise CheckFailed(
                f"{loop}: state {index} is {one.dtype} {list(one.shape)} before a trip and "
                f"{other.dtype} {list(other.shape)} after it ({where})",
                hint="What a loop carries from trip to trip must keep its type and shape.",
            )


def check_ranks(loop: str, outputs: Sequence[Array], where: str) -> None:
    """Look whether each output of a trip has a dimension to spare for the trips.

    Args:
        loop: its name with the operator.
        outputs: what the body gives besides the states.
        where: profile and point.

    Raises:
        CheckFailed: one hasn't. NVIDIA's builder refuses it: "output would have 9 dimensions which is more than
            Dims::MAX_DIMS" (TensorRT-RTX 1.7.1).
    """
    for index, value in enumerate(outputs):
        if value.ndim >= MAX_DIMS:
            raise CheckFailed(
                f"{loop}: scan output {index} would have {value.ndim + 1} dimensions ({where})",
                hint=f"A tensor of TensorRT has {MAX_DIMS} dimensions at most: keep it as a state, or flatten it in "
                "the body.",
            )


def quantized_type(value: Array) -> str:
    """INT8 or FP8 if a tensor is quantized; else nothing."""
    return next((kind.short for kind in QUANTIZED if value.dtype == kind.numpy), "")


def check_quantized(loop: str, states: Sequence[Array], iterated: Sequence[Array], outputs: Sequence[Array]) -> None:
    """Look whether INT8 or FP8 tensors cross a loop's boundary.

    Raises:
        CheckFailed: one does.
    """
    for what, values in (("state", states), ("iterated input", iterated), ("concatenated output", outputs)):
        for index, value in enumerate(values):
            if kind := quantized_type(value):
                raise CheckFailed(
                    f"{loop}: {what} {index} is {kind}",
                    hint="TensorRT's loops compute in FP32 and FP16. Quantize and dequantize within the body.",
                )
