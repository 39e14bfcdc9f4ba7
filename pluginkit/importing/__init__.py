"""The user's ONNX model with their plugins: what implements each node, what is wrong, does it build and run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["ImportOptions", "Imported", "run"]

if TYPE_CHECKING:
    from pluginkit.importing.importer import Imported, ImportOptions, run
else:

    def __getattr__(name: str) -> Any:
        # Workers and `pluginkit test` need modules of this package, and not what runs whole models.
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from pluginkit.importing import importer

        return getattr(importer, name)
