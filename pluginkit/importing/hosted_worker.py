"""The worker's side of `running`: a model with its plugins in pluginkit's host, all else by onnx's reference."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto
from onnx.reference.op_run import OpRun

from pluginkit import host
from pluginkit.dtypes import DType
from pluginkit.errors import PluginkitError, UsageError
from pluginkit.field_types import FieldType
from pluginkit.host.memory.gpu_watch import FINDINGS
from pluginkit.importing.onnx_graph import against, declared
from pluginkit.importing.plugin_node import DOMAIN, LAST, RESERVED, SHAPE_INPUTS, Identity, attribute, identity
from pluginkit.importing.sizes import other_inputs
from pluginkit.interpreter import walker
from pluginkit.network.networks import Array
from pluginkit.process import backtrace
from pluginkit.process.worker_main import CallFile

TENSORS = {
    "float32": FieldType.FLOAT32,
    "float64": FieldType.FLOAT32,
    "float16": FieldType.FLOAT16,
    "bfloat16": FieldType.BFLOAT16,
    "int32": FieldType.INT32,
    "int8": FieldType.INT8,
}
"""What NVIDIA's parser makes of a tensor's type, whatever type the creator advertises."""
SEVERITIES = ("internal error", "error", "warning")


Creators = Mapping[Identity, tuple[Path, int, Mapping[str, str]]]
"""Each creator's library, the TensorRT that the host plays with it, and its fields' types."""


def open(  # noqa: A001
    call_file: CallFile,
    *,
    creators: Creators,
    names: Sequence[str],
    findings: Path,
    initialize_clones: bool = False,
) -> HostedPlugins:
    """Load the libraries.

    Args:
        call_file: where native calls are noted.
        creators: those that the model's nodes name.
        names: the plugins' nodes.
        findings: a folder for what the device finds: for each node a file, called by its number in `names`.
        initialize_clones: that of `host.Context`.
    """
    host.set_call_file(call_file.path)
    host.set_backtrace_file(backtrace.beside(call_file.path))
    return HostedPlugins(creators, names, findings, initialize_clones)


class HostedPlugins:
    """Plugin libraries in this process."""

    def __init__(
        self, creators: Creators, names: Sequence[str], findings: Path, initialize_clones: bool = False
    ) -> None:
        self._initialize_clones = initialize_clones
        versions = {path: version for path, version, _ in creators.values()}
        libraries = {path: host.Library(path, version) for path, version in versions.items()}
        self._devices = {path: host.Device(path) for path in versions}
        self._creators = {key: libraries[path].creator(*key) for key, (path, _, _) in creators.items()}
        self._facts = creators
        self._contexts: dict[object, tuple[str, host.Context]] = {}
        self._names, self._findings = names, findings
        self._name = ""
        self._warnings = dict.fromkeys(("", one) for one in host.take_warnings())
        self._declared: dict[str, onnx.TypeProto.Tensor] = {}
        self._others: dict[tuple[str, str], tuple[str, str]] = {}

    def run(
        self, model: bytes, feeds: Mapping[str, Array], free: Mapping[str, Sequence[Sequence[Array]]]
    ) -> dict[str, Array]:
        """Run a model once; the nodes of the domain `plugin_node.DOMAIN` are the plugins'.

        Args:
            model: the model.
            feeds: its inputs.
            free: of each node, for each of its runs and each output, which elements need not be written.

        Raises:
            Finding: a plugin does something wrong.
            UsageError: a plugin is given what the host can't pass, or another node can't be computed.

        An error's attribute `log` is what the plugins gave their logger.
        """
        host.take_log()
        proto = onnx.load_from_string(model)
        self._declared = declared(proto.graph)
        operators = sorted({node.op_type for node in walker.nodes(proto.graph) if node.domain == DOMAIN})
        masks = {name: iter(calls) for name, calls in free.items()}

        def call(node: onnx.NodeProto, inputs: Sequence[Array]) -> Sequence[Array]:
            return self.call(node, inputs, next(masks.get(node.name, iter(())), ()))

        try:
            outputs = walker.run_nodes(proto, [(DOMAIN, name) for name in operators], call, feeds)
            self.close()
        except PluginkitError as error:
            error.__dict__["log"] = logged()
            raise
        except Exception as error:
            node = _node_of(error)
            if node is None:
                raise
            message = str(error).strip() or type(error).__name__
            raise UsageError(
                f"{node.op_type} node {node.name or node.output[0]!r} can't be computed: {message}"
            ) from None
        finally:
            self._note()
        return outputs

    def close(self) -> None:
        """Terminate and destroy the layers that were built.

        Raises:
            Finding: a plugin does something wrong meanwhile.
        """
        for name, context in self._contexts.values():
            self._begin(name)
            context.close()
        self._note()
        self._contexts.clear()

    def warnings(self) -> list[tuple[str, host.DemandWarning]]:
        """The plugins' warnings, once for each node; those of loading have no node."""
        return list(self._warnings)

    def others(self) -> list[tuple[str, str, str, str]]:
        """Outputs that the model declares otherwise: node, output, rule, what it is and what is declared."""
        return [(*where, *what) for where, what in self._others.items()]

    def _begin(self, name: str) -> None:
        """From now on findings are of this node."""
        self._note()
        number = str(self._names.index(name))
        (self._findings / LAST).write_text(number)
        # The library's runtime asks for it at each finding.
        os.environ[FINDINGS] = str(self._findings / number)
        self._name = name

    def _note(self) -> None:
        self._warnings.update(dict.fromkeys((self._name, one) for one in host.take_warnings()))

    def call(self, node: onnx.NodeProto, inputs: Sequence[Array], free: Sequence[Array] = ()) -> Sequence[Array]:
        """A node's outputs. Of each output `free` says which elements need not be written.

        Raises:
            Finding: the plugin does something wrong.
            UsageError: it is given what the host can't pass.
        """
        self._begin(node.name)
        # NVIDIA's parser makes float32 of float64; around the plugin it keeps onnx's type.
        wide = any(value.dtype == np.float64 for value in inputs)
        arrays = [np.asarray(value, np.float32 if value.dtype == np.float64 else None, order="C") for value in inputs]
        numbers = (tuple(arrays[index].ravel().tolist()) for index in _shape_inputs(node))
        key = (node.name, *((value.dtype.str, value.shape) for value in arrays), *numbers)
        if key not in self._contexts:
            # A layer is built for the shapes that come, and run from what it serialized.
            self._contexts[key] = node.name, self._context(node, arrays)
        found = self._contexts[key][1].run(arrays, free)
        outputs = [value.astype(np.float64) if wide and value.dtype == np.float32 else value for value in found]
        for name, value in zip(node.output, outputs, strict=False):
            said, kind = self._declared.get(name), onnx.helper.np_dtype_to_tensor_dtype(value.dtype)
            if said is not None and (other := against(said, kind, value.shape)):
                self._others.setdefault((node.name, name), other)
        return outputs

    def _context(self, node: onnx.NodeProto, arrays: Sequence[Array]) -> host.Context:
        chosen = identity(node)
        path, _, kinds = self._facts[chosen]
        creator = self._creators[chosen]
        numbers = _shape_inputs(node)
        specs = [_spec(node, value, as_values=index in numbers) for index, value in enumerate(arrays)]
        name = node.name or node.op_type

        def build(fields: other_inputs.Fields, specs: Sequence[host.TensorSpec]) -> host.BuiltPlugin:
            return host.build(creator, name, fields, [specs], shape_inputs=numbers)

        fields = _fields(node, kinds)
        try:
            built = build(fields, specs)
        except host.Finding as error:
            error.hint = other_inputs.advice(error, node.input, fields, specs, build) or error.hint
            raise
        return host.Context(creator, built, specs, self._devices[path], initialize_clones=self._initialize_clones)


def logged() -> list[str]:
    """What plugins gave their logger (`nvinfer1::ILogger::Severity`), warnings and worse."""
    return [f"{SEVERITIES[severity]}: {text}" for severity, text in host.take_log() if severity < len(SEVERITIES)]


def _node_of(error: BaseException) -> onnx.NodeProto | None:
    """The node whose operator raised it in onnx's reference, whose error doesn't name it; None if it was raised
    elsewhere."""
    found, trace = None, error.__traceback__
    while trace is not None:
        operator = trace.tb_frame.f_locals.get("self")
        found = operator.onnx_node if isinstance(operator, OpRun) else found
        trace = trace.tb_next
    return found


def _shape_inputs(node: onnx.NodeProto) -> tuple[int, ...]:
    """Which inputs are shape inputs; a negative number counts from the last."""
    found = attribute(node, SHAPE_INPUTS)
    return tuple(index % len(node.input) for index in found.ints) if found is not None else ()


def _spec(node: onnx.NodeProto, value: Array, *, as_values: bool) -> host.TensorSpec:
    """An input; of a shape input the values stand where the shape of another does."""
    actual = tuple(int(number) for number in value.ravel()) if as_values else value.shape
    dims = (-1,) * len(actual) if as_values else actual
    try:
        return host.TensorSpec(DType.from_numpy(value.dtype), dims, actual, actual, actual)
    except ValueError:
        known = ", ".join(kind.value for kind in DType)
        raise UsageError(f"{node.name} has an input of {value.dtype}; pluginkit's host passes {known}") from None


def _fields(node: onnx.NodeProto, kinds: Mapping[str, str]) -> dict[str, tuple[FieldType, Any]]:
    """The fields as the parser makes them of a node's attributes: those that the creator has, in the creator's order,
    by which some creators read them."""
    fields: dict[str, tuple[FieldType, Any]] = {}
    by_name = {one.name: one for one in node.attribute if one.name not in RESERVED}
    for one in [by_name[name] for name in kinds if name in by_name]:
        value = onnx.helper.get_attribute_value(one)
        if one.type == AttributeProto.TENSOR:
            value = onnx.numpy_helper.to_array(value)
            kind = TENSORS.get(value.dtype.name)
        elif one.type in {AttributeProto.STRING, AttributeProto.STRINGS}:
            texts = [value] if one.type == AttributeProto.STRING else value
            kind, value = FieldType.STRING, "".join(f"{text.decode('utf-8', 'surrogateescape')}\0" for text in texts)
        else:
            floats = one.type in {AttributeProto.FLOAT, AttributeProto.FLOATS}
            ints = one.type in {AttributeProto.INT, AttributeProto.INTS}
            kind = FieldType.FLOAT32 if floats else FieldType.INT32 if ints else None
        if kind is None:
            what = "a tensor of " + value.dtype.name if one.type == AttributeProto.TENSOR else type(value).__name__
            raise UsageError(
                f"{node.name}: its attribute {one.name} is {what}; pluginkit's host passes numbers, strings, lists of "
                f"them, and tensors of {', '.join(TENSORS)}"
            )
        fields[one.name] = kind, value
    return fields
