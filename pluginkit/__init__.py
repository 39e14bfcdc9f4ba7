"""pluginkit: write, build, prove and ship NVIDIA TensorRT plugins."""

from __future__ import annotations

from pluginkit.installation import foreign as _foreign

TYPE_CHECKING = False  # as in pluginkit/installation
if TYPE_CHECKING:
    from pluginkit.paths import __version__, built_dir, cmake_dir, include_dir
    from pluginkit.registry.registration import load


def __getattr__(name: str) -> object:
    if name in {"__version__", "built_dir", "cmake_dir", "include_dir"}:
        from pluginkit import paths

        return getattr(paths, name)
    if name == "load":
        # `import pluginkit` needs nothing that the registry needs.
        from pluginkit.registry.registration import load

        return load
    raise AttributeError(f"module 'pluginkit' has no attribute '{name}'")


_foreign.warn()

__all__ = ["__version__", "built_dir", "cmake_dir", "include_dir", "load"]
