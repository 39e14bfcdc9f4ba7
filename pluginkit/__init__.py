"""pluginkit: write, build, prove and ship NVIDIA TensorRT plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

from pluginkit.installation import foreign as _foreign
from pluginkit.paths import built_dir, cmake_dir, include_dir

if _TYPE_CHECKING:
    from pluginkit.paths import __version__
    from pluginkit.registry.registration import load


def __getattr__(name: str) -> object:
    if name == "__version__":
        from pluginkit.paths import __version__

        return __version__
    if name == "load":
        # `import pluginkit` needs nothing that the registry needs.
        from pluginkit.registry.registration import load

        return load
    raise AttributeError(f"module 'pluginkit' has no attribute '{name}'")


_foreign.warn()

__all__ = ["__version__", "built_dir", "cmake_dir", "include_dir", "load"]
