"""Which signatures a kernel pattern is for: why one can't have it, for a person; empty where it can."""

from __future__ import annotations

from pluginkit.bases import BASES
from pluginkit.formats import Format
from pluginkit.manifest import REST, Manifest


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
        *(f"'{t.name}' has other formats than linear" for t in (*given, *outputs) if set(t.formats) != {Format.LINEAR}),
        *(f"'{t.name}' has a scale for each channel" for t in (*given, *outputs) if t.scale_axis is not None),
    ]
    return reasons[0] if reasons else ""


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
