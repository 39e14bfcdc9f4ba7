"""External data of a model: whether it is all there, and how much of it is read."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import onnx
from onnx import TensorProto
from onnx.external_data_helper import ExternalDataInfo, load_external_data_for_tensor

from pluginkit.errors import UsageError

WHOLE = 2**30
"""Bytes of external data that are read with the model; of more only small tensors are: protobuf ends at 2 GiB, and
shape inference needs no weights."""
SMALL = 2**16
"""Bytes of a tensor that is read whatever the others have: shapes and axes may follow from it."""


def tensors(model: onnx.ModelProto) -> list[TensorProto]:
    """The model's tensors whose data is in other files, those of subgraphs and functions included."""
    found = list(_in_graph(model.graph))
    for function in model.functions:
        for node in function.node:
            found += _in_node(node)
    return [tensor for tensor in found if tensor.data_location == TensorProto.EXTERNAL]


def load(model: onnx.ModelProto, path: Path) -> None:
    """Read a model's external data into it: all, or small tensors only if there is more than `WHOLE`.

    Raises:
        UsageError: a file is missing, shorter than the model says, or outside of the model's folder.
    """
    waiting = tensors(model)
    sizes = [_checked(tensor, path) for tensor in waiting]
    whole = sum(sizes) <= WHOLE
    for tensor, size in zip(waiting, sizes, strict=True):
        if not whole and size > SMALL:
            continue
        try:
            load_external_data_for_tensor(tensor, str(path.parent))
        except (OSError, ValueError, onnx.checker.ValidationError) as error:
            raise UsageError(f"{path}: its external data cannot be read: {error}") from None
        tensor.data_location = TensorProto.DEFAULT
        del tensor.external_data[:]


def left_out(model: onnx.ModelProto) -> str:
    """Why a model is not run here: weights that were not read; empty if all are there."""
    sizes = [ExternalDataInfo(tensor).length or 0 for tensor in tensors(model)]
    if not sizes:
        return ""
    return f"its external data has {sum(sizes) / 2**30:.1f} GiB that are not read ({len(sizes)} tensors)"


def _checked(tensor: TensorProto, path: Path) -> int:
    """The tensor's bytes, after a look at its file."""
    try:
        info = ExternalDataInfo(tensor)
    except ValueError as error:
        raise UsageError(f"{path}: the external data of tensor {tensor.name} is described wrongly: {error}") from None
    place = PurePosixPath(posixpath.normpath(info.location))
    if place.is_absolute() or place.parts[:1] == ("..",):
        # Else onnx refuses it later, when it checks or loads the model itself.
        raise UsageError(
            f"{path}: the external data of tensor {tensor.name} stands at {info.location}, and ONNX has it in the "
            "model's folder or below (onnx, docs/ExternalData.md).",
            hint=f"Put {place.name} next to the model, and name it so in the tensor's `location`.",
        )
    file = path.parent / info.location
    if not info.location or not file.is_file():
        raise UsageError(
            f"{path}: its external data cannot be read: there is no file {info.location or '(no name)'} in "
            f"{path.parent.resolve()}, which the tensor {tensor.name} needs.",
            hint=f"Put {info.location or 'the file'} next to the model: a model with external data is two files or "
            "more.",
        )
    begin, there = info.offset or 0, file.stat().st_size
    size = info.length if info.length is not None else there - begin
    if size < 0 or begin + size > there:
        raise UsageError(
            f"{path}: its external data is cut off: {info.location} has {there} bytes, and the tensor {tensor.name} "
            f"ends at byte {begin + max(size, 0)}.",
            hint="Is the file complete?",
        )
    return int(size)


def _in_graph(graph: onnx.GraphProto) -> Iterator[TensorProto]:
    yield from graph.initializer
    for node in graph.node:
        yield from _in_node(node)


def _in_node(node: onnx.NodeProto) -> Iterator[TensorProto]:
    for attribute in node.attribute:
        if attribute.HasField("t"):
            yield attribute.t
        yield from attribute.tensors
        for graph in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
            yield from _in_graph(graph)
