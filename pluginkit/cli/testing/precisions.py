"""The options of commands that measure: in which types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from pluginkit.dtypes import DType

_Command = TypeVar("_Command", bound=Callable[..., Any])
_MEASURED = {
    "--fp32": ("float32", "float32 (kFLOAT)"),
    "--fp16": ("float16", "float16 (kHALF)"),
    "--int8": ("int8", "INT8"),
    "--fp8": ("float8", "FP8 (kFP8, E4M3)"),
    "--bf16": ("bfloat16", "bfloat16 (kBF16)"),
}


def measured_precisions(command: _Command) -> _Command:
    """`--fp32`, `--fp16` and so on, as the argument `precisions`."""
    for option, (kind, shown) in reversed(_MEASURED.items()):
        add = click.option(option, "precisions", flag_value=kind, multiple=True, help=f"Measure in {shown}.")
        command = add(command)
    return command


def chosen(precisions: Sequence[str]) -> tuple[DType, ...] | None:
    """The types of `precisions`, each once; None: all that the manifest declares."""
    return tuple(DType(name) for name in dict.fromkeys(precisions)) or None
