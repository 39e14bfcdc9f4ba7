"""The workspace that a plugin asks for, held against the manifest's."""

from __future__ import annotations

from collections.abc import Sequence

from pluginkit import shapes
from pluginkit.errors import UsageError
from pluginkit.field_types import shown
from pluginkit.host import BuiltPlugin, Finding
from pluginkit.manifest import Manifest
from pluginkit.network.networks import PluginCall, Range


def check(manifest: Manifest, call: PluginCall, built: BuiltPlugin) -> None:
    """Compares what it asked for, at the most that each profile has, with the manifest's expression there.

    Raises:
        Finding: it is another number of bytes.
    """
    manifest = manifest.like(call.ranks)
    if manifest.plugin.workspace is None:
        return
    fields = [field.name for field in manifest.workspace_fields() if field.name in call.fields]
    values = {name: call.fields[name][1] for name in fields}
    points = [_at_most(manifest, ranges) for ranges in call.inputs]
    try:
        sizes = [manifest.workspace_bytes(values, point) for point in points]
    except UsageError:
        return  # no number there, or inputs that aren't the manifest's
    expected, point = max(zip(sizes, points, strict=True), key=lambda one: one[0])
    if built.workspace != expected:
        used = shapes.symbols(shapes.parse(manifest.plugin.workspace))
        owner = built.shapes[0].method.rpartition("::")[0]
        at = (
            ", ".join(f"{name} = {shown(value)}" for name, value in {**point, **values}.items() if name in used)
            or "any shape"
        )
        raise Finding(
            f"{owner}::getWorkspaceSize",
            f"answered {built.workspace} bytes for {at}; the manifest says {manifest.plugin.workspace}, which is "
            f"{expected}",
            rule="T20",
        )


def _at_most(manifest: Manifest, ranges: Sequence[Range]) -> dict[str, int]:
    """The symbols' values at the inputs' max."""
    found = {}
    for tensor, (_, _, most) in zip(manifest.inputs, ranges, strict=True):
        for dim, size in zip(tensor.shape, most, strict=False):
            expr = shapes.parse(dim)
            if isinstance(expr, shapes.Symbol):
                found[expr.name] = size
    return found
