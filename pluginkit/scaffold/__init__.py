"""`pluginkit new`, `add` and `convert`: plugins that are right for their signature before their authors come."""

from __future__ import annotations

from pluginkit.scaffold.add import Addition, add
from pluginkit.scaffold.convert import Conversion, convert
from pluginkit.scaffold.project import new

__all__ = ["Addition", "Conversion", "add", "convert", "new"]
