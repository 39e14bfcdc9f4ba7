"""`pluginkit graft`: a subgraph of a model becomes a plugin's node, and both models compute the same."""

from __future__ import annotations

import importlib.util

from pluginkit import installation
from pluginkit.errors import ToolMissing

if missing := [name for name in ("onnx_ir", "onnxscript") if importlib.util.find_spec(name) is None]:
    raise ToolMissing(f"{missing[0]} is not installed", hint=f"type {installation.extra('graft')}")

from pluginkit.grafting.grafter import BundledPlugin, Grafted, GraftOptions, PluginSignature, graft

__all__ = ["BundledPlugin", "GraftOptions", "Grafted", "PluginSignature", "graft"]
