"""What getFieldNames lists, held against the manifest's fields."""

from __future__ import annotations

from collections.abc import Sequence

from pluginkit import field_types
from pluginkit.demands import warn
from pluginkit.host import Field, Finding
from pluginkit.manifest import Manifest

_METHOD = "IPluginCreator::getFieldNames"


def check(manifest: Manifest, listed: Sequence[Field]) -> None:
    """Looks for each field of the manifest.

    Raises:
        Finding: one is not listed, so that NVIDIA's parser passes no attribute of that name on (F8).
    """
    by_name = {field.name: field for field in listed}
    for field in manifest.fields:
        found = by_name.get(field.name)
        if found is None:
            names = ", ".join(by_name) or "none"
            message = f"does not list the field '{field.name}' of pluginkit.toml (it lists {names})"
            raise Finding(_METHOD, message, rule="F8", hint="NVIDIA's parser passes on those alone that are listed.")
        expected = field.type.code
        if found.type != expected:
            known = found.type in range(len(field_types.NAMES))
            its = field_types.NAMES[found.type] if known else f"PluginFieldType {found.type}"
            message = f"lists the field '{field.name}' as {its}, expected {field_types.NAMES[expected]}"
            warn("F9", _METHOD, f"{message}: pluginkit.toml says {field.type.value}")
