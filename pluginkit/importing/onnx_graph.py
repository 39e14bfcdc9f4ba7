"""An ONNX model from a file, and all its nodes: those of subgraphs and of local functions too."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx

from pluginkit.errors import UsageError
from pluginkit.importing.files import external, foreign
from pluginkit.process.escapes import shown

FLOW = ("If", "Loop", "Scan")


@dataclass(frozen=True)
class Place:
    """A node and where it stands.

    Attributes:
        node: the node.
        path: the nodes, attributes and the function around it, outermost first, as `("loop1", "body")`.
        flow: the control flow around it, outermost first: of `If`, `Loop`, `Scan`.
    """

    node: onnx.NodeProto
    path: tuple[str, ...] = ()
    flow: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """What the user finds it by: its path and name, or what it is and makes where it has no name."""
        return shown("/".join((*self.path, self.node.name or f"({self.node.op_type} that makes {self._makes()})")))

    @property
    def operator(self) -> str:
        """`domain::type`, or the type alone in ONNX's default domain."""
        domain = self.node.domain
        return self.node.op_type if domain in {"", "ai.onnx"} else f"{domain}::{self.node.op_type}"

    def _makes(self) -> str:
        return next((name for name in self.node.output if name), "nothing")


def load(path: Path) -> onnx.ModelProto:
    """Read a model, with its external data.

    Of more than 1 GiB of external data only small tensors are read (`files.external`).

    Raises:
        UsageError: no such file, it is not an ONNX model, or a file of external data is missing.
    """
    if path.is_dir():
        if found := foreign.of_folder(path):
            raise foreign.refuse(path, found)
        inside = sorted(path.glob("*.onnx"))
        hint = "Name the model's file" + (f": {', '.join(map(str, inside[:3]))}." if inside else ".")
        raise UsageError(f"{path} is a folder.", hint=hint)
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is not a file: a pipe or a device.", hint="Write the model to a file first.")
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise UsageError(f"There is no file {path}.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None
    if not data:
        raise UsageError(f"{path} is empty.", hint="Is the file complete?")
    try:
        # By bytes: the file's form doesn't follow from its name.
        model = onnx.load_model_from_string(data)
    except Exception:  # noqa: BLE001 - protobuf's DecodeError, whose package has no types
        raise _no_model(path, data) from None
    if not model.ir_version or not model.HasField("graph"):
        # Protobuf reads almost any bytes as something.
        if found := foreign.of_file(path, data):
            raise foreign.refuse(path, found)
        raise UsageError(f"{path} is not an ONNX model: it has no {'graph' if model.ir_version else 'IR version'}.")
    external.load(model, path)
    separate(model)
    return model


def separate(model: onnx.ModelProto) -> None:
    """Give tensors that bodies side by side have in common names of their own, in place: the second `k` is `k_2`.

    ONNX lets the two branches of an If, or two loops, use one name. All that reads a model here goes by names, so what
    one body's tensor is would be taken for what the other's is. Names of the main graph and of functions stay, and so
    do names that a graph makes twice or that a body has in common with a graph around it: those are faults.
    """
    own = set(_own(model.graph))
    every = places(model.graph)
    taken = own | {name for place in every for name in (*place.node.input, *place.node.output)}
    taken |= {name for place in every for _, inner in subgraphs(place.node) for name in _own(inner)}
    _separate(model.graph, own, set(own), taken, {})


def _separate(graph: onnx.GraphProto, around: set[str], used: set[str], taken: set[str], names: dict[str, str]) -> None:
    """One graph and those in it.

    Args:
        graph: the graph.
        around: its own names and those of the graphs around it.
        used: the names of all graphs before.
        taken: names that no tensor can be given.
        names: the new names that hold in it.
    """
    for node in graph.node:
        if names:
            node.input[:] = [names.get(name, name) for name in node.input]
            node.output[:] = [names.get(name, name) for name in node.output]
        for _, inner in subgraphs(node):
            own = set(_own(inner))
            here = {name: new for name, new in names.items() if name not in own}
            here |= {name: _unused(name, taken) for name in sorted(own & used - around)}
            used |= own
            values = (*inner.input, *inner.output, *inner.value_info, *inner.initializer)
            for value in (*values, *(tensor.values for tensor in inner.sparse_initializer)) if here else ():
                value.name = here.get(value.name, value.name)
            _separate(inner, around | own, used, taken, here)


def _own(graph: onnx.GraphProto) -> Iterator[str]:
    """What a graph itself gives a name: its inputs, its constants and what its nodes make."""
    yield from (value.name for value in (*graph.input, *graph.initializer) if value.name)
    yield from (tensor.values.name for tensor in graph.sparse_initializer if tensor.values.name)
    yield from (name for node in graph.node for name in node.output if name)


def _unused(name: str, taken: set[str]) -> str:
    new = next(made for number in itertools.count(2) if (made := f"{name}_{number}") not in taken)
    taken.add(new)
    return new


def _no_model(path: Path, data: bytes) -> UsageError:
    """The message for bytes that protobuf doesn't read: text, a model that is cut off, or something else."""
    if data.startswith(b"version https://git-lfs"):
        return UsageError(f"{path} is a pointer of Git LFS, not the model itself.", hint="git lfs pull")
    if found := foreign.of_file(path, data):
        return foreign.refuse(path, found)
    if known := foreign.no_model(data):
        return UsageError(f"{path} is {known[0]}.", hint=known[1])
    start = data[:4096].decode(errors="replace")
    if all(char.isprintable() or char.isspace() for char in start):
        return UsageError(
            f"{path} is text; an ONNX model is read in its binary form.",
            hint="If it is a model in a text form of ONNX's, onnx.load reads it (format='textproto', 'json' or "
            "'onnxtxt'), and onnx.save writes the binary form.",
        )
    # A model begins with the field ir_version: number 1, a varint.
    if data[0] == 0x08 and len(data) > 2 and data[1] <= onnx.IR_VERSION:
        return UsageError(
            f"{path} begins as an ONNX model and ends too early, at byte {len(data)}: it is cut off or damaged.",
            hint="Is the file complete? Compare its size, or export it again.",
        )
    return UsageError(f"{path} is not an ONNX model.", hint="Export the model to ONNX.")


def type_name(kind: int) -> str:
    """A tensor's type as it is written in messages: `float16`, or `type 77` where onnx has none of that number."""
    names = onnx.TensorProto.DataType
    return names.Name(kind).lower() if kind in names.values() else f"type {kind}"


def places(graph: onnx.GraphProto | onnx.FunctionProto) -> list[Place]:
    """All nodes of a graph or of a local function, each followed by those in its subgraphs."""
    path = (function_name(graph),) if isinstance(graph, onnx.FunctionProto) else ()
    return list(_walk(graph.node, path, ()))


def function_name(function: onnx.FunctionProto) -> str:
    """`domain::name`."""
    return f"{function.domain}::{function.name}"


def subgraphs(node: onnx.NodeProto) -> Iterator[tuple[str, onnx.GraphProto]]:
    """A node's subgraphs with the attributes that hold them."""
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield attribute.name, attribute.g
        elif attribute.type == onnx.AttributeProto.GRAPHS:
            for index, graph in enumerate(attribute.graphs):
                yield f"{attribute.name}{index}", graph


def _walk(nodes: Iterable[onnx.NodeProto], path: tuple[str, ...], flow: tuple[str, ...]) -> Iterator[Place]:
    for node in nodes:
        here = Place(node, path, flow)
        yield here
        inside = (*flow, node.op_type) if node.op_type in FLOW else flow
        for name, graph in subgraphs(node):
            yield from _walk(graph.node, (*path, node.name or node.op_type, name), inside)


def shapes(model: onnx.ModelProto) -> dict[str, onnx.TypeProto.Tensor]:
    """What is known of the tensors by name, in all graphs: declared, or inferred by onnx where it can."""
    inferred = model
    # Inference is a help: a model that it can't follow is checked without.
    with contextlib.suppress(Exception):
        inferred = onnx.shape_inference.infer_shapes(model)
    return declared(inferred.graph)


def own_types(graph: onnx.GraphProto) -> dict[str, onnx.TypeProto.Tensor]:
    """The types and shapes of a graph's own tensors, by name; not of those in its subgraphs."""
    known: dict[str, onnx.TypeProto.Tensor] = {}
    for value in (*graph.input, *graph.value_info, *graph.output):
        if value.type.HasField("tensor_type") and value.type.tensor_type.elem_type:
            known.setdefault(value.name, value.type.tensor_type)
    for tensor in graph.initializer:
        kind = onnx.helper.make_tensor_type_proto(tensor.data_type, list(tensor.dims))
        known.setdefault(tensor.name, kind.tensor_type)
    return known


def declared(graph: onnx.GraphProto) -> dict[str, onnx.TypeProto.Tensor]:
    """What the model itself says of its tensors, by name, in a graph and those in it."""
    known: dict[str, onnx.TypeProto.Tensor] = {}
    _known(graph, known)
    return known


def _known(graph: onnx.GraphProto, known: dict[str, onnx.TypeProto.Tensor]) -> None:
    for name, kind in own_types(graph).items():
        known.setdefault(name, kind)
    for node in graph.node:
        for _, inner in subgraphs(node):
            _known(inner, known)


def against(
    declared: onnx.TypeProto.Tensor, kind: int, shape: Sequence[int | str | None] | None
) -> tuple[str, str] | None:
    """A declared type or shape that a tensor has not: the rule, what it is and what is declared; None if it fits."""
    if declared.elem_type and declared.elem_type != kind:
        return "M17", f"{type_name(kind)}, and the model declares {type_name(declared.elem_type)}"
    said = dims(declared)
    if said is None or shape is None:
        return None
    if len(said) != len(shape):
        return "M18", f"of rank {len(shape)}, and the model declares rank {len(said)}"
    # Some exporters write -1 or 0 for a dimension that is open.
    for axis, (one, other) in enumerate(zip(shape, said, strict=True)):
        if isinstance(one, int) and isinstance(other, int) and other > 0 and one != other:
            return "M18", f"{one} long in dimension {axis}, and the model declares {other}"
    return None


def dims(tensor: onnx.TypeProto.Tensor) -> tuple[int | str | None, ...] | None:
    """A shape: numbers, names, None for what is open; None if even the rank is."""
    if not tensor.HasField("shape"):
        return None
    return tuple(dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None for dim in tensor.shape.dim)
