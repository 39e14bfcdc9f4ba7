"""`pluginkit check`: the contract of TensorRT's plugin interfaces, asked of a built library check by check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["CHECKS", "Check", "CheckReport", "CheckResult", "Ending", "check_library", "choose"]

if TYPE_CHECKING:
    from pluginkit.validation.catalog import CHECKS, Check, choose
    from pluginkit.validation.checking import CheckReport, check_library
    from pluginkit.validation.results import CheckResult, Ending
else:

    def __getattr__(name: str) -> Any:
        # Workers need modules of this package, and not what reads projects and models.
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from pluginkit.validation import catalog, checking, results

        return next(getattr(module, name) for module in (catalog, checking, results) if hasattr(module, name))
