"""From a model's nodes to a plugin project: `pluginkit new --from-onnx`."""

from __future__ import annotations

from pluginkit.importing.extraction.project import Extracted, extract

__all__ = ["Extracted", "extract"]
