"""A person's ONNX model with their plugins: who serves each node, what is wrong, does it build and run."""

from __future__ import annotations

from pluginkit.importing.importer import Imported, ImportOptions, run

__all__ = ["ImportOptions", "Imported", "run"]
