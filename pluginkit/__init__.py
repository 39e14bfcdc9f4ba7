"""pluginkit: write, build, prove and ship NVIDIA TensorRT plugins."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError as _NotInstalled
from importlib.metadata import version as _version
from importlib.util import find_spec as _find_spec
from pathlib import Path as _Path
from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from pluginkit.registry.registration import load

try:
    __version__ = _version("pluginkit")
except _NotInstalled:  # a source tree that is only on the path; what needs more of pluginkit says so
    __version__ = "0+not.installed"

_ROOT = _Path(__file__).resolve().parent


def include_dir() -> _Path:
    """The folder of the headers for plugin authors (`NvInfer.h`, `pluginkit/entry.h`, ...)."""
    return _ROOT / "include"


def cmake_dir() -> _Path:
    """The folder of `pluginkit-config.cmake`, for CMake's `pluginkit_DIR`."""
    return _ROOT / "cmake"


def built_dir() -> _Path:
    """The folder of what building the wheel made, which an editable install keeps elsewhere than the sources.

    Raises:
        ToolMissing: the native module isn't there: pluginkit was not installed but only put on the path.
    """
    native = _find_spec("pluginkit._native")
    if native is None or native.origin is None:
        from pluginkit.errors import native_missing

        raise native_missing()
    return _Path(native.origin).parent


def __getattr__(name: str) -> object:
    if name == "load":
        # `import pluginkit` needs nothing that the registry needs.
        from pluginkit.registry.registration import load

        return load
    raise AttributeError(f"module 'pluginkit' has no attribute '{name}'")


__all__ = ["__version__", "built_dir", "cmake_dir", "include_dir", "load"]
