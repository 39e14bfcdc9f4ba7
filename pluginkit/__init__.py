"""pluginkit: write, build, prove and ship NVIDIA TensorRT plugins."""

from __future__ import annotations

from importlib.metadata import version as _version
from pathlib import Path as _Path

__version__ = _version("pluginkit")

_ROOT = _Path(__file__).resolve().parent


def include_dir() -> _Path:
    """The folder of the headers for plugin authors (`NvInfer.h`, `pluginkit/entry.h`, ...)."""
    return _ROOT / "include"


def cmake_dir() -> _Path:
    """The folder of `pluginkit-config.cmake`, for CMake's `pluginkit_DIR`."""
    return _ROOT / "cmake"


__all__ = ["__version__", "cmake_dir", "include_dir"]
