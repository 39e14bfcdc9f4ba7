"""`pluginkit adopt`: drafts `pluginkit.toml` and `reference.py` for a plugin library that exists."""

from __future__ import annotations

from pluginkit.adoption.adopting import Adopted, adopt

__all__ = ["Adopted", "adopt"]
