"""TensorRT's rules on types and formats, checked on a manifest."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pluginkit import bases
from pluginkit.dtypes import DType
from pluginkit.formats import Format
from pluginkit.layouts import Layout
from pluginkit.manifest.signature import ManifestModel, Tensor

CALIBRATION = "rule int8-calibration: TensorRT Developer Guide, 'INT8 I/O' of custom layers"
"""Calibration runs the network in FP32; without it every INT8 tensor's scale must be set."""

BOTH_QUANTIZED = (
    "NVIDIA's builder makes no layer of a plugin that has INT8 and FP8 at once (TensorRT-RTX 1.7.1 ends on "
    "!(int8SupportRequired && fp8SupportRequired))"
)


def problems(manifest: ManifestModel) -> Iterator[str]:
    """What can't be, a sentence each."""
    for tensor in (*manifest.inputs, *manifest.outputs):
        yield from _formats(tensor)
    yield from _calibration(manifest)
    yield from _both_quantized(manifest)
    yield from _one_answer(manifest)


def lacking(manifest: ManifestModel, layout: Layout) -> Iterator[str]:
    """What a plugin needs that TensorRT of a layout lacks, a sentence each: its interface, or a type in each row.

    A type that only some rows have is not an obstacle: a TensorRT without it never offers it.
    """
    where = f"{manifest.plugin.name}: TensorRT {layout.number} has no"
    if manifest.plugin.base_in(layout) is None:
        both = bases.written(bases.BOTH)
        yield f'{where} IPluginV3 (base = "{manifest.plugin.base}"); a layer can be both: base = {both}'
    tensors = (*manifest.inputs, *manifest.outputs)
    rows = {row: [(one, manifest.type_of(one, row)) for one in tensors] for row in manifest.precisions()}
    missing = {row: [pair for pair in pairs if pair[1] in layout.lacks] for row, pairs in rows.items()}
    if all(missing.values()):
        for row, ((tensor, kind), *_) in missing.items():
            yield f"{where} {kind.short} ({tensor.name} in the row {row.value})"


def _one_answer(manifest: ManifestModel) -> Iterator[str]:
    """Two precisions in which the inputs have the same types, and an output has others."""
    seen: dict[tuple[DType, ...], DType] = {}
    for precision in manifest.precisions():
        key = tuple(manifest.type_of(tensor, precision) for tensor in manifest.execution_inputs())
        first = seen.setdefault(key, precision)
        for tensor in manifest.outputs:
            kinds = [manifest.type_of(tensor, one) for one in (first, precision)]
            if kinds[0] is not kinds[1]:
                inputs = ", ".join(
                    f"{one.name} {kind.value}" for one, kind in zip(manifest.execution_inputs(), key, strict=True)
                )
                yield (
                    f"{tensor.name}.types: in {first.value} and in {precision.value} the inputs are the same "
                    f"({inputs}), so {tensor.name} can't be {kinds[0].value} and {kinds[1].value}: TensorRT tells "
                    f"getOutputDataType(s) the inputs' types alone (NvInferRuntime.h); give an input that has "
                    f"{first.value} the type {precision.value} too, or leave that out of {tensor.name}"
                )


def _formats(tensor: Tensor) -> Iterator[str]:
    where = f"{tensor.name}.formats"
    if not tensor.formats:
        yield f"{where}: at least one is needed"
    for one in dict.fromkeys(tensor.formats):
        if tensor.formats.count(one) > 1:
            yield f"{where}: '{one.value}' stands there twice"
        if len(tensor.shape) < one.axis:
            yield f"{where}: {one.trt} needs at least {one.axis} dimensions; {tensor.name} has {len(tensor.shape)}"
        elif not set(one.types) & set(tensor.types):
            yield f"{where}: {one.trt} is for {_listed(one.types)}; {tensor.name} is {_listed(tensor.types)}"
        elif one.lanes > 1 and DType.INT8 in one.types and DType.INT8 in tensor.types:
            channel = tensor.shape[-one.axis]
            if not re.fullmatch(r"\d+", channel):
                yield (
                    f"{where}: {one.trt} in INT8 needs a channel count that is known when the engine is built; "
                    f"write a number instead of '{channel}'"
                )
    yield from (
        f"{where}: none of them is for {kind.value} (kLINEAR is for every type)"
        for kind in tensor.types
        if tensor.formats and not any(kind in one.types for one in tensor.formats)
    )


def undeclared(manifest: ManifestModel, kinds: Sequence[DType]) -> list[tuple[int, ...]]:
    """The format combinations that TensorRT could choose for these types of all tensors, and the manifest lacks.

    One for each format: all tensors have it for which TensorRT documents it, and the others are linear.

    Returns:
        Numbers of `nvinfer1::TensorFormat`; none where the types are of another number of tensors.
    """
    tensors = (*manifest.execution_inputs(), *manifest.outputs)
    if len(tensors) != len(kinds):
        return []
    pairs = list(zip(tensors, kinds, strict=True))
    if any(kind not in tensor.types for tensor, kind in pairs):
        return []
    declared = {tuple(manifest.format_of(tensor, kind, form) for tensor, kind in pairs) for form in Format}
    rows = [tuple(form if _fits(tensor, kind, form) else Format.LINEAR for tensor, kind in pairs) for form in Format]
    return [tuple(form.code for form in row) for row in dict.fromkeys(rows) if row not in declared]


def declared_types(manifest: ManifestModel, kinds: Sequence[DType]) -> list[tuple[DType, ...]]:
    """The rows of types, inputs first, that the manifest has; none as of `undeclared`."""
    tensors = (*manifest.execution_inputs(), *manifest.outputs)
    if len(tensors) != len(kinds):
        return []
    return [tuple(manifest.type_of(tensor, row) for tensor in tensors) for row in manifest.precisions()]


def _fits(tensor: Tensor, kind: DType, form: Format) -> bool:
    if len(tensor.shape) < form.axis or kind not in form.types:
        return False
    return form.lanes == 1 or kind is not DType.INT8 or tensor.shape[-form.axis].isdigit()


def _calibration(manifest: ManifestModel) -> Iterator[str]:
    quantized = [tensor for tensor in (*manifest.inputs, *manifest.outputs) if DType.INT8 in tensor.types]
    without = [tensor for tensor in quantized if DType.FLOAT32 not in tensor.types]
    unscaled = [tensor for tensor in quantized if tensor.scale is None]
    if without and unscaled:
        yield (
            f"{without[0].name}.types: int8 without float32, and no scale for '{unscaled[0].name}': a plugin with INT8 "
            f"must offer FP32 too, or have the scale of every INT8 tensor set by a field ({CALIBRATION})"
        )


def _both_quantized(manifest: ManifestModel) -> Iterator[str]:
    tensors = (*manifest.inputs, *manifest.outputs)
    for precision in manifest.precisions():
        by_kind = {manifest.type_of(tensor, precision): tensor for tensor in reversed(tensors)}
        if by_kind.keys() >= {DType.INT8, DType.FLOAT8}:
            yield (
                f"{by_kind[DType.FLOAT8].name}.types: where the precision is {precision.value}, this is float8 and "
                f"{by_kind[DType.INT8].name} int8. {BOTH_QUANTIZED}; list other types, or the same for both, first "
                "one that isn't quantized"
            )
            return


def _listed(kinds: tuple[DType, ...]) -> str:
    return ", ".join(kind.value for kind in kinds)
