"""The two ways in which a call into a plugin goes wrong."""

from __future__ import annotations

from pluginkit.errors import CheckFailed, PluginkitError


class Finding(CheckFailed):
    """The plugin gave a wrong answer. `method` is the C++ method that gave it."""

    def __init__(self, method: str, message: str, *, hint: str = "") -> None:
        super().__init__(f"{method}: {message}", hint=hint)
        self.method = method


class HostBug(PluginkitError):
    """pluginkit called a plugin as TensorRT never would: a bug in pluginkit, never a finding."""
