"""`pluginkit new`, `add`, `convert` and `update`: plugins right for their signature from the start."""

from __future__ import annotations

from pluginkit.scaffold.add import Addition, add
from pluginkit.scaffold.convert import Conversion, convert
from pluginkit.scaffold.project import new
from pluginkit.scaffold.update import Change, Update, update

__all__ = ["Addition", "Change", "Conversion", "Update", "add", "convert", "new", "update"]
