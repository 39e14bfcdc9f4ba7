"""A node's tensors against the signature in `pluginkit.toml`: what fits together, and what comes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx
from onnx import TensorProto

from pluginkit import shapes
from pluginkit.dtypes import DType
from pluginkit.errors import UsageError
from pluginkit.importing.onnx_graph import dims
from pluginkit.manifest import REST, Manifest, Tensor

ELEMENTS = {
    **{kind.onnx: kind for kind in DType},
    # NVIDIA's parser makes float32 of it, with a warning.
    TensorProto.DOUBLE: DType.FLOAT32,
}
"""ONNX's element types as TensorRT has them, without those that no plugin here can have."""


def rows(manifest: Manifest) -> list[tuple[tuple[DType, ...], tuple[DType, ...]]]:
    """The types that go together: of all inputs, and of all outputs; one row for each precision."""
    return [
        (
            tuple(manifest.type_of(tensor, kind) for tensor in manifest.inputs),
            tuple(manifest.type_of(tensor, kind) for tensor in manifest.outputs),
        )
        for kind in manifest.precisions()
    ]


def fitting(
    manifest: Manifest, given: Sequence[onnx.TypeProto.Tensor | None]
) -> list[tuple[tuple[DType, ...], tuple[DType, ...]]]:
    """The rows that the inputs' types fit; None fits any."""
    kinds = [None if tensor is None else ELEMENTS.get(tensor.elem_type) for tensor in given]
    unknown = [tensor is None for tensor in given]
    return [
        row
        for row in rows(manifest)
        if all(free or kind is one for free, kind, one in zip(unknown, kinds, row[0], strict=True))
    ]


def symbols(inputs: Sequence[Tensor], given: Sequence[onnx.TypeProto.Tensor | None]) -> dict[str, dict[str, int]]:
    """The numbers that the inputs give each symbol: symbol -> where, as `dimension 1 of x` -> number."""
    found: dict[str, dict[str, int]] = {}
    for tensor, (index, written, size) in _each(inputs, given):
        if not written.isdecimal():
            found.setdefault(written, {})[f"dimension {index} of {tensor.name}"] = size
    return found


def wrong_numbers(inputs: Sequence[Tensor], given: Sequence[onnx.TypeProto.Tensor | None]) -> dict[str, list[str]]:
    """The inputs of which a dimension is another number than the manifest's: input -> sentences' ends."""
    found: dict[str, list[str]] = {}
    for tensor, (index, written, size) in _each(inputs, given):
        if written.isdecimal() and int(written) != size:
            found.setdefault(tensor.name, []).append(f"dimension {index} is {size}, not {written}")
    return found


def _each(
    inputs: Sequence[Tensor], given: Sequence[onnx.TypeProto.Tensor | None]
) -> list[tuple[Tensor, tuple[int, str, int]]]:
    """Each dimension of a known size, of the inputs whose rank is right: its index, the manifest's expression, the
    size.

    Some exporters write -1 or 0 for a dimension that is open.
    """
    found = []
    for tensor, one in zip(inputs, given, strict=True):
        sizes = None if one is None else dims(one)
        if sizes is not None and len(sizes) == len(tensor.shape):
            found += [
                (tensor, (index, written, size))
                for index, (written, size) in enumerate(zip(tensor.shape, sizes, strict=True))
                if isinstance(size, int) and size > 0
            ]
    return found


def outputs(
    manifest: Manifest, node: onnx.NodeProto, known: Mapping[str, onnx.TypeProto.Tensor]
) -> dict[str, onnx.TypeProto]:
    """The node's outputs as the manifest has them: what is certain of type and shape. Empty if the inputs don't fit."""
    names = [name for name in node.input if name]
    if len(names) != len(manifest.inputs):
        return {}
    given = [known.get(name) for name in names]
    if manifest.is_open and ranks(given)[_first_open(manifest)] is None:
        return {}
    manifest = manifest.like(ranks(given))
    kinds = {types for _, types in fitting(manifest, given)}
    if len(kinds) != 1:
        return {}
    try:
        manifest = manifest.with_fields(_integers(node))
    except UsageError:
        return {}  # the plugin's creator says more of such a value
    sizes = {symbol: set(numbers.values()) for symbol, numbers in symbols(manifest.inputs, given).items()}
    values = {symbol: numbers.pop() for symbol, numbers in sizes.items() if len(numbers) == 1}
    found = {}
    for name, tensor, kind in zip(node.output, manifest.outputs, kinds.pop(), strict=False):
        element = next(number for number, one in ELEMENTS.items() if one is kind)
        found[name] = onnx.helper.make_tensor_type_proto(element, [_size(dim, values) for dim in tensor.shape])
    return {name: kind for name, kind in found.items() if name}


def ranks(given: Sequence[onnx.TypeProto.Tensor | None]) -> list[int | None]:
    """How many dimensions each tensor has, as far as that is known."""
    sizes = [None if one is None else dims(one) for one in given]
    return [None if one is None else len(one) for one in sizes]


def _first_open(manifest: Manifest) -> int:
    return next(index for index, one in enumerate(manifest.inputs) if REST in manifest.written(one))


def _integers(node: onnx.NodeProto) -> dict[str, int | tuple[int, ...]]:
    found: dict[str, int | tuple[int, ...]] = {}
    for one in node.attribute:
        if one.type == onnx.AttributeProto.INT:
            found[one.name] = one.i
        elif one.type == onnx.AttributeProto.INTS:
            found[one.name] = tuple(one.ints)
        elif one.type == onnx.AttributeProto.FLOATS:
            found[one.name] = (0,) * len(one.floats)  # of other lists a shape has the length alone
    return found


def _size(dim: str, values: Mapping[str, int]) -> int | None:
    expression = shapes.parse(dim)
    if any(symbol not in values for symbol in shapes.symbols(expression)):
        return None
    try:
        return shapes.evaluate(expression, values)
    except UsageError:
        return None
