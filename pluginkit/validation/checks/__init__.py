"""The checks themselves, a module for each group; importing this fills the catalogue."""

from __future__ import annotations

from pluginkit.validation.checks import (
    creators,
    declared,
    execution,
    fields,
    files,
    formats,
    fuzzing,
    lifecycle,
    models,
    plugins,
    serialization,
    shapes,
    v3,
)

__all__ = [
    "creators",
    "declared",
    "execution",
    "fields",
    "files",
    "formats",
    "fuzzing",
    "lifecycle",
    "models",
    "plugins",
    "serialization",
    "shapes",
    "v3",
]
