"""`pluginkit.toml`: its model, its rules, and which plugins a library holds."""

from __future__ import annotations

from pluginkit.manifest.fields import Attribute
from pluginkit.manifest.manifest import FILE_NAME, Manifest
from pluginkit.manifest.open_ranks import REST
from pluginkit.manifest.signature import (
    MAX_DIMS,
    MAX_NAME,
    PARSER_ATTRIBUTES,
    Close,
    Point,
    Profile,
    Tensor,
    Tolerances,
    slug,
)

__all__ = [
    "FILE_NAME",
    "MAX_DIMS",
    "MAX_NAME",
    "PARSER_ATTRIBUTES",
    "REST",
    "Attribute",
    "Close",
    "Manifest",
    "Point",
    "Profile",
    "Tensor",
    "Tolerances",
    "slug",
]
