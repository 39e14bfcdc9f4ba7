"""Which signatures a kernel pattern is for: why one can't have it, for the user; empty where it can."""

from __future__ import annotations

from pluginkit.bases import BASES
from pluginkit.field_types import FieldType
from pluginkit.formats import Format
from pluginkit.manifest import REST, Attribute, Manifest, Tensor


def always(_manifest: Manifest) -> str:
    return ""


def elementwise(manifest: Manifest) -> str:
    given, outputs = manifest.execution_inputs(), manifest.outputs
    shapes = {tuple(manifest.written(output)) for output in outputs}
    reasons = [
        *(["it has no input"] if not given else []),
        *(["its outputs differ in shape"] if len(shapes) > 1 else []),
    ]
    return reasons[0] if reasons else plain(manifest)


def plain(manifest: Manifest) -> str:
    """Linear tensors with one scale each, and nothing beside them."""
    given, outputs = manifest.execution_inputs(), manifest.outputs
    reasons = [
        *(["it has a workspace"] if manifest.plugin.workspace else []),
        *(f"'{output.name}' is a size tensor" for output in outputs if output.upper is not None),
        *(f"'{t.name}' has other formats than linear" for t in (*given, *outputs) if not_linear(t)),
        *(f"'{t.name}' has a scale for each channel" for t in (*given, *outputs) if t.scale_axis is not None),
    ]
    return reasons[0] if reasons else ""


def not_linear(tensor: Tensor) -> bool:
    return set(tensor.formats) != {Format.LINEAR}


def dimensions(manifest: Manifest) -> str:
    """Its kernel gets the tensors' dimensions."""
    base = manifest.plugin.base
    return "" if BASES[base].dynamic_shapes else f"base {base} is of fixed shapes"


def one_to_one(manifest: Manifest) -> str:
    """One tensor to one of the same types."""
    if len(manifest.inputs) != 1 or len(manifest.execution_inputs()) != 1 or len(manifest.outputs) != 1:
        return "it takes one input and one output"
    (x,), (y,) = manifest.inputs, manifest.outputs
    if x.types != y.types:
        return "its output has other types than its input"
    return dimensions(manifest) or plain(manifest)


def along_rows(manifest: Manifest) -> str:
    """One tensor to one of the same shape, each row of it by itself."""
    if problem := one_to_one(manifest):
        return problem
    (x,), (y,) = manifest.inputs, manifest.outputs
    reasons = [
        *(["its output has another shape than its input"] if manifest.written(x) != manifest.written(y) else []),
        *(["there is no row in a scalar"] if not x.shape else []),
        *([f"the last dimension of '{x.name}' may be none"] if REST in manifest.written(x)[-1:] else []),
        *(["integers have no scale to round by"] if any(kind.is_integer for kind in x.types) else []),
    ]
    return reasons[0] if reasons else ""


def field(manifest: Manifest, name: str) -> Attribute | None:
    return next((field for field in manifest.plain_fields() if field.name == name), None)


def is_whole(field: Attribute) -> bool:
    """Whether it is one integer."""
    return field.type in (FieldType.INT32, FieldType.INT64) and not field.is_list


def ends(field: Attribute) -> tuple[float | None, float | None]:
    """The least and the greatest number that it may be."""
    if field.choices:
        numbers = [float(choice) for choice in field.choices]
        return min(numbers), max(numbers)
    return (
        None if field.min is None else float(field.min),
        None if field.max is None else float(field.max),
    )


def local(manifest: Manifest, name: str) -> str:
    """A name for a variable of reference.py that no input and no field has."""
    taken = {tensor.name for tensor in manifest.inputs} | {field.name for field in manifest.fields}
    while name in taken:
        name += "_"
    return name
