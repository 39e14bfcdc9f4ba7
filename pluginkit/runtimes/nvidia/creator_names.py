"""What a creator answers through NVIDIA's Python modules, which raise where it is not UTF-8."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def text(ask: Callable[[], str]) -> str:
    """What is asked for; a byte that is not UTF-8 is shown as `\\xff`."""
    try:
        return ask()
    except UnicodeDecodeError as error:
        return error.object.decode("utf-8", "backslashreplace")


def identity(creator: Any) -> tuple[str, str, str]:
    """A creator's name, version and namespace."""
    return (
        text(lambda: creator.name),
        text(lambda: creator.plugin_version),
        text(lambda: creator.plugin_namespace),
    )
