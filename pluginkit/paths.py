"""Where pluginkit lies: its headers, its CMake package, what building its wheel made; and its version."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pluginkit import installation

if TYPE_CHECKING:
    __version__: str
else:

    def __getattr__(name: str) -> str:
        # A build starts a process for each source, and none of them asks: importlib.metadata would be half its start.
        if name == "__version__":
            return installation.version()
        raise AttributeError(f"module 'pluginkit.paths' has no attribute '{name}'")


ROOT = Path(__file__).resolve().parent


def user_folder(variable: str, default: str) -> Path:
    """Pluginkit's own folder among a user's, by the XDG Base Directory Specification.

    Args:
        variable: as `XDG_CACHE_HOME`; the specification has relative paths ignored.
        default: below the home folder where the variable has none, as `.cache`.

    Raises:
        UsageError: the user has no home folder.
    """
    named = os.environ.get(variable, "")
    if named.startswith("/"):
        return Path(named) / "pluginkit"
    try:
        return Path.home() / default / "pluginkit"
    except RuntimeError:
        from pluginkit.errors import UsageError  # as in built_dir()

        raise UsageError("This user has no home folder.", hint=f"Set HOME, or {variable}.") from None


def include_dir() -> Path:
    """The folder of the headers for plugin authors (`NvInfer.h`, `pluginkit/entry.h`, ...)."""
    return ROOT / "include"


def cmake_dir() -> Path:
    """The folder of `pluginkit-config.cmake`, for CMake's `pluginkit_DIR`."""
    return ROOT / "cmake"


def built_dir() -> Path:
    """The folder of what building the wheel made, which an editable install keeps elsewhere than the sources.

    Raises:
        ToolMissing: the native module isn't there: pluginkit was not installed but only put on the path.
    """
    native = find_spec("pluginkit._native")
    if native is None or native.origin is None:
        from pluginkit.errors import native_missing  # it needs a package, which `import pluginkit` does without

        raise native_missing()
    return Path(native.origin).parent
