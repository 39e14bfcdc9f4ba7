"""`pluginkit new`: write a plugin project that is right for its signature before its author has written a line."""

from __future__ import annotations

from pluginkit.scaffold.convert import Conversion, convert
from pluginkit.scaffold.project import new

__all__ = ["Conversion", "convert", "new"]
