"""The two ways in which a call into a plugin goes wrong."""

from __future__ import annotations

from pluginkit.errors import CheckFailed, PluginkitError


class Finding(CheckFailed):
    """The plugin does not meet a demand: `rule` is its id in `demands`, `method` the C++ method that shows it."""

    def __init__(self, method: str, message: str, *, rule: str, hint: str = "") -> None:
        super().__init__(f"{method}: {message}", hint=hint)
        self.method = method
        self.rule = rule


class HostBug(PluginkitError):
    """pluginkit called a plugin as TensorRT never would: a bug in pluginkit, never a finding."""
