"""Sessions of onnxruntime, which is the extra `model`."""

from __future__ import annotations

from typing import Any

from pluginkit import installation
from pluginkit.errors import ToolMissing

_SILENT = 4
"""onnxruntime's log level: what it refuses comes as an exception too."""


def runtime(what: str = "onnxruntime") -> Any:
    """The module onnxruntime, imported when it is first asked for; `what` names it in the error.

    Raises:
        ToolMissing: it isn't installed.
    """
    try:
        import onnxruntime
    except ModuleNotFoundError as error:
        if error.name != "onnxruntime":
            raise
        raise ToolMissing(f"{what} is not installed", hint=f"type {installation.extra('model')}") from None
    return onnxruntime


def session(model: bytes, *, optimized: bool = True) -> Any:
    """A session on the CPU.

    Args:
        model: the model.
        optimized: False: as it is, for a graph that is fused for one size may be checked less.

    Raises:
        ToolMissing: onnxruntime isn't installed.
        Exception: it refuses the model; it has a class for each of its codes, and no common one.
    """
    found = runtime()
    options = found.SessionOptions()
    options.log_severity_level = _SILENT
    if not optimized:
        options.graph_optimization_level = found.GraphOptimizationLevel.ORT_DISABLE_ALL
    return found.InferenceSession(model, options, providers=["CPUExecutionProvider"])
