"""`pluginkit new`, `add` and `convert`: plugins right for their signature from the start."""

from __future__ import annotations

from pluginkit.scaffold.add import Addition, add
from pluginkit.scaffold.convert import convert
from pluginkit.scaffold.project import new

__all__ = ["Addition", "add", "convert", "new"]
