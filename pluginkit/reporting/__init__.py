"""`pluginkit test --html`: a run as one file that needs no network."""

from __future__ import annotations

from pluginkit.reporting.page import write

__all__ = ["write"]
