"""The two ways in which a call into a plugin goes wrong."""

from __future__ import annotations

from pluginkit.errors import CheckFailed, PluginkitError


class Finding(CheckFailed):
    """The plugin does not meet a demand.

    Attributes:
        method: the C++ method that shows it.
        rule: the demand's id in `demands`.
        contained: whether the plugin has touched only what it was given: then its process can go on with other cases.
    """

    def __init__(self, method: str, message: str, *, rule: str, hint: str = "", contained: bool = False) -> None:
        super().__init__(f"{method}: {message}", hint=hint)
        self.method = method
        self.rule = rule
        self.contained = contained

    @property
    def observed(self) -> str:
        """The message without the method, which it begins with."""
        return self.message.removeprefix(f"{self.method}: ")


class HostBug(PluginkitError):
    """pluginkit called a plugin as TensorRT never would: a bug in pluginkit, never a finding."""
