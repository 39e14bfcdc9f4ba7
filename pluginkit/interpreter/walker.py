"""Runs an ONNX model: a function computes the plugin's nodes, onnx's reference implementation the others.

onnx's reference is replaced where it is wrong (onnx 1.23.2): Loop concatenates scan outputs instead of stacking them
and fails on zero trips; Scan knows one direction and axis; QuantizeLinear and DequantizeLinear are missing before
opset 19. The tests hold every operator used here against onnxruntime.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_if import If as OnnxIf

from pluginkit.dtypes import QUANTIZED, DType
from pluginkit.errors import PluginkitError
from pluginkit.host.errors import Finding
from pluginkit.interpreter.scan import Scan
from pluginkit.network.networks import Array

Call = Callable[[str, Sequence[Array]], Sequence[Array]]
"""What a plugin node does: (the node's name, its inputs) -> its outputs."""


NodeCall = Callable[[onnx.NodeProto, Sequence[Array]], Sequence[Array]]
"""The same by the node itself."""


def run(
    model: onnx.ModelProto, op_type: str, call: Call, feeds: Mapping[str, Array], not_taken: Call | None = None
) -> dict[str, Array]:
    """Runs a model.

    Args:
        model: its plugin nodes, in whatever domain and subgraph, are those of type `op_type`.
        op_type: the plugin's name.
        call: what such a node does.
        feeds: graph input -> array.
        not_taken: what such a node does in a branch that is not taken; None: such branches do not run.

    Returns:
        Graph output -> array.
    """
    calls = PluginCalls(call, not_taken)
    domains = {node.domain for node in nodes(model.graph) if node.op_type == op_type}
    return run_nodes(
        model,
        [(domain, op_type) for domain in domains],
        lambda node, inputs: calls(node.name, inputs),
        feeds,
        [both_branches(calls)] if not_taken else [],
    )


def run_nodes(
    model: onnx.ModelProto,
    operators: Iterable[tuple[str, str]],
    call: NodeCall,
    feeds: Mapping[str, Array],
    instead: Sequence[type[OpRun]] = (),
) -> dict[str, Array]:
    """As `run`, with plugins of several types; `operators` gives the domain and type of each.

    `instead` are implementations of ONNX's own operators. (Of two implementations onnx takes the first.)
    """
    plugins = [
        type(name, (_PluginNode,), {"op_domain": domain, "call": staticmethod(call)}) for domain, name in operators
    ]
    evaluator = ReferenceEvaluator(model, new_ops=[*instead, *plugins, Loop, Scan, QuantizeLinear, DequantizeLinear])
    with np.errstate(all="ignore"), warnings.catch_warnings():
        # Infinities and NaNs are values like others here; whether they are right is the comparison's question.
        warnings.simplefilter("ignore", RuntimeWarning)
        outputs = evaluator.run(None, dict(feeds))
    names = [output.name for output in model.graph.output]
    return dict(zip(names, outputs, strict=True))


class PluginCalls:
    """What a plugin node does, in the branches that are taken and in the others."""

    def __init__(self, call: Call, not_taken: Call | None) -> None:
        self._call = call
        self.not_taken = not_taken

    def __call__(self, node: str, inputs: Sequence[Array]) -> Sequence[Array]:
        """Does what the node does, where it is."""
        return self._call(node, inputs)

    @contextmanager
    def in_branch_not_taken(self) -> Iterator[None]:
        """What is run within is in such a branch. Only what the plugin does wrong there counts: other operators'
        errors, and shapes that the plugin would not be given, end the branch silently."""
        before = self._call
        self._call = self.not_taken or before
        try:
            yield
        except Finding:
            raise
        except (PluginkitError, ValueError, TypeError, IndexError, RuntimeError):
            return
        finally:
            self._call = before


def both_branches(calls: PluginCalls) -> type[OpRun]:
    """ONNX's If, which runs the branch that is not taken as well."""

    def run(self: OpRun, cond: Array, context: Mapping[str, Array] | None = None, **more: Any) -> tuple[Array, ...]:
        found: tuple[Array, ...] = OnnxIf._run(self, cond, context=context, **more)
        with calls.in_branch_not_taken():
            OnnxIf._run(self, np.logical_not(cond), context=context, **more)
        return found

    return type("If", (OnnxIf,), {"op_domain": "", "_run": run})


def nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """All nodes of a graph and of the graphs inside it."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from nodes(attribute.g)


def as_exported(model: bytes, op_type: str) -> bytes:
    """A serialized model whose nodes of type `op_type` are written as by an exporter that knows nothing of plugins.

    They are in ONNX's default domain, and have no attributes for version and namespace where those are the parser's
    defaults.
    """
    proto = onnx.load_from_string(model)
    for node in nodes(proto.graph):
        if node.op_type == op_type:
            node.domain = ""
            kept = [one for one in node.attribute if (one.name, one.s) not in _DEFAULTS]
            del node.attribute[:]
            node.attribute.extend(kept)
    moved: bytes = proto.SerializeToString()
    return moved


_DEFAULTS = {("plugin_version", b"1"), ("plugin_namespace", b"")}


class _PluginNode(OpRun):  # type: ignore[misc]
    """An operator of the plugin's name; `run` derives one with the domain and the function."""

    call: NodeCall

    def _load_attributes(self) -> None:
        """The function gets the node; as members of this object, fields called `domain` or `input` would be taken."""
        self.has_linked_attribute = any(attribute.ref_attr_name for attribute in self.onnx_node.attribute)
        self.attributes_names_: set[str] = set()

    def _run(self, *inputs: Array, **_attributes: Any) -> tuple[Array, ...]:
        return tuple(self.call(self.onnx_node, inputs))


class Loop(OpRun):  # type: ignore[misc]
    """Loop as ONNX defines it: https://onnx.ai/onnx/operators/onnx__Loop.html."""

    def need_context(self) -> bool:
        """Bodies may use values from outside."""
        return True

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
        body = body or self.body
        count = len(states)
        limit = None if trip_limit is None else int(np.asarray(trip_limit).item())
        proceed = True if going is None else bool(np.asarray(going).item())
        carried = list(states)
        scanned: list[list[Array]] = [[] for _ in body.output_names[1 + count :]]
        trip = 0
        while proceed and (limit is None or trip < limit):
            going, *left = self.trip(body, trip, carried, context, attributes)
            proceed = bool(np.asarray(going).item())
            carried = left[:count]
            for values, value in zip(scanned, left[count:], strict=True):
                values.append(value)
            trip += 1
        kinds = body.proto_.output[1 + count :]
        stacked = [np.stack(v) if v else no_trips(kind) for v, kind in zip(scanned, kinds, strict=True)]
        return (*carried, *stacked)

    @staticmethod
    def trip(
        body: Any, number: int, states: Sequence[Array], context: Mapping[str, Array] | None, attributes: Any
    ) -> list[Array]:
        """What the body gives in one trip: whether to go on, the states, and a value of each scan output."""
        own = [np.array(number, np.int64), np.array(True), *states]
        feeds = {**(context or {}), **dict(zip(body.input_names, own, strict=True))}
        return list(body.run(None, feeds, attributes=attributes))


def no_trips(output: onnx.ValueInfoProto) -> Array:
    """A scan output of no trips: dimensions that the body's graph leaves open are 0, as onnxruntime has it."""
    tensor = output.type.tensor_type
    dims = [dim.dim_value if dim.HasField("dim_value") else 0 for dim in tensor.shape.dim]
    return np.zeros((0, *dims), onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))


class QuantizeLinear(OpRun):  # type: ignore[misc]
    """round_half_even(x / scale) + zero point, saturated: https://onnx.ai/onnx/operators/onnx__QuantizeLinear.html."""

    def _run(self, x: Array, scale: Array, zero: Array | None = None, axis: int = 1, **_newer: Any) -> tuple[Array]:
        return (quantized(x, scale, np.zeros_like(scale, np.uint8) if zero is None else zero, axis),)


class DequantizeLinear(OpRun):  # type: ignore[misc]
    """(q - zero point) * scale: https://onnx.ai/onnx/operators/onnx__DequantizeLinear.html."""

    def _run(self, q: Array, scale: Array, zero: Array | None = None, axis: int = 1, **_newer: Any) -> tuple[Array]:
        return (dequantized(q, scale, zero, axis),)


def quantized(x: Array, scale: Array, zero: Array, axis: int = 1) -> Array:
    """round_half_even(x / scale) + zero point, saturated to the zero point's type; FP8's is always 0."""
    if zero.dtype == DType.FLOAT8.numpy:
        most = QUANTIZED[DType.FLOAT8]
        with np.errstate(invalid="ignore"):
            return np.asarray(np.clip(x / _along(scale, x, axis), -most, most).astype(zero.dtype))
    limits = np.iinfo(zero.dtype)
    steps = np.rint(x / _along(scale, x, axis)) + _along(zero, x, axis)
    found: Array = np.clip(steps, limits.min, limits.max).astype(zero.dtype)
    return found


def dequantized(q: Array, scale: Array, zero: Array | None = None, axis: int = 1) -> Array:
    """(q - zero point) * scale, in the scale's type; FP8's zero point is always 0."""
    if q.dtype == DType.FLOAT8.numpy:
        return np.asarray((q.astype(scale.dtype) * _along(scale, q, axis)).astype(scale.dtype))
    steps = q.astype(np.int32) - (0 if zero is None else _along(zero, q, axis).astype(np.int32))
    found: Array = (steps.astype(scale.dtype) * _along(scale, q, axis)).astype(scale.dtype)
    return found


def _along(values: Array, like: Array, axis: int) -> Array:
    """A scale or zero point of one element, or one for each index of `axis`, shaped to be combined with `like`."""
    if values.size == 1:
        return values.reshape(())
    return values.reshape([values.size if i == axis % like.ndim else 1 for i in range(like.ndim)])
