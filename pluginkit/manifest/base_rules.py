"""What some interfaces can't say of their tensors, checked on a manifest."""

from __future__ import annotations

from collections.abc import Iterator

from pluginkit import bases
from pluginkit.formats import NEVER_IN_V2EXT
from pluginkit.manifest.signature import ManifestModel

_FORMATS = (
    'NvInferRuntimePlugin.h, IPluginV2::supportsFormat: "the values PluginFormat::kCHW4, PluginFormat::kCHW16, and '
    'PluginFormat::kCHW32 will not be passed in"'
)
_BATCH = (
    'NvInferRuntimePlugin.h, IPluginV2::getOutputDimensions: "batch size must not be included in the returned '
    'dimensions"'
)


def problems(manifest: ManifestModel) -> Iterator[str]:
    """What can't be with the manifest's base, a sentence each."""
    base = bases.BASES[manifest.plugin.base]
    tensors = (*manifest.inputs, *manifest.outputs)
    if base.batch_apart and manifest.batch() is None:
        yield (
            f"plugin.base: an {base.interface} gets shapes without the batch ({_BATCH}): let the first dimension of "
            "every tensor be one symbol that stands nowhere else"
        )
    if base.one_type and (other := next((t for t in tensors if set(t.types) != set(tensors[0].types)), None)):
        yield (
            f"{other.name}.types: an {base.interface} has one type for all tensors (configureWithFormat), and "
            f"{tensors[0].name} has {', '.join(kind.value for kind in tensors[0].types)}"
        )
    if not base.one_format:
        return
    for tensor in tensors:
        for form in tensor.formats:
            if form in NEVER_IN_V2EXT:
                yield f"{tensor.name}.formats: an {base.interface} never gets {form.trt} ({_FORMATS})"
    floating = [t for t in tensors if not all(kind.is_integer for kind in t.types)]
    if other := next((t for t in floating if set(t.formats) != set(floating[0].formats)), None):
        yield (
            f"{other.name}.formats: an {base.interface} has one format for all floating tensors, and "
            f"{floating[0].name} has {', '.join(form.value for form in floating[0].formats)}"
        )
