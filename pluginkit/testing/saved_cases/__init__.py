"""Test cases that lie in a project, as `pluginkit new --from-onnx` cuts them out of a model."""

from __future__ import annotations

from pluginkit.testing.saved_cases.files import FOLDER, SavedCase, read
from pluginkit.testing.saved_cases.recorded import check

__all__ = ["FOLDER", "SavedCase", "check", "read"]
