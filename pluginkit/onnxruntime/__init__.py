"""Whole models with plugin nodes in onnxruntime, the plugins by their real kernels on the CPU."""

from __future__ import annotations

from pluginkit.onnxruntime.session import PluginSession, TensorInfo, session

__all__ = ["PluginSession", "TensorInfo", "session"]
