"""What came of every case in earlier runs: kept by `pluginkit test --history DIR`, shown by `pluginkit history DIR`."""

from __future__ import annotations

from pluginkit.history.store import History
from pluginkit.history.trends import BeganToFail, Slower, began_to_fail, slower

__all__ = ["BeganToFail", "History", "Slower", "began_to_fail", "slower"]
