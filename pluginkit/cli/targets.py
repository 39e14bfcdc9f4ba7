"""`--for`, of the commands that speak for a TensorRT."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

NAMES = "8.5, 10, 11, rtx"
"""`pluginkit.layouts.TARGETS`, which a test holds it to: importing that takes as long as NumPy."""


def option(default: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option, whose help says what holds without it."""
    return click.option(
        "--for",
        "asked_for",
        multiple=True,
        metavar="TENSORRT,...",
        help=f"TensorRT that the plugin is for: one or more of {NAMES}. May be repeated. Default: {default}.",
    )
