"""The options that describe a plugin's signature: those of `pluginkit new` and `pluginkit add`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from pluginkit.bases import BOTH, FOR_NEW
from pluginkit.dtypes import DType
from pluginkit.errors import UsageError
from pluginkit.scaffold.kernels.patterns import PATTERNS

F = TypeVar("F", bound=Callable[..., Any])
_BASES = ", ".join(f"{name} ({base.interface})" for name, base in FOR_NEW.items())
_OPTIONS = (
    click.option(
        "--input",
        "inputs",
        multiple=True,
        metavar="NAME:TYPES:SHAPE",
        help="Input tensor, for example x:float32,float16,int8:n,c,h,w (the default). x:float32:n,... has any rank; "
        "k:int64: is a scalar. size:int64:2:values=oh,ow (base v3) is a shape input: its elements are symbols for "
        "the output shapes. A suffix :scale=s names the field with the INT8 scale; a field s:float32[c] has one "
        "scale per channel c. May be repeated.",
    ),
    click.option(
        "--output",
        "outputs",
        multiple=True,
        metavar="NAME:TYPES:SHAPE",
        help="Output tensor; its shape may be an expression, for example y:float32:n + m,c. Suffixes: :valid=k (only "
        "the first k rows are valid; k is another output), :alias=x (base v3; shares the memory of input x), "
        ":upper=n * c and :opt=n (base v3; upper bound and typical value of a size tensor). Default: one y like "
        "the first input. May be repeated.",
    ),
    click.option(
        "--field",
        "fields",
        multiple=True,
        metavar="NAME:TYPE[:VALUES][=DEFAULT]",
        help="Plugin field, for example alpha:float32=0.5 (the default), axes:int64[]=0,1, w:float32[c], "
        "mode:string=nearest. Without =DEFAULT the field is required. VALUES restricts it: k:int32:1..8=3, "
        "s:float32:0..=1, mode:string:nearest,linear=nearest. May be repeated.",
    ),
    click.option("--no-fields", is_flag=True, help="No fields other than the INT8 scales."),
    click.option(
        "--format",
        "formats",
        multiple=True,
        metavar="FORMAT",
        help="Tensor format besides linear, for example chw32 or hwc8, for the tensors that can have it. May be "
        "repeated.",
    ),
    click.option(
        "--workspace",
        default="",
        metavar="BYTES",
        help="Workspace size in bytes, as an expression like a shape's: '4 * n * h * w'. Default: none.",
    ),
    click.option(
        "--kernel",
        default="",
        metavar="PATTERN",
        help=f"Kernel pattern to start from: {'; '.join(f'{name}, {one.about}' for name, one in PATTERNS.items())}. "
        "Default: the pattern that the signature looks like (rows, gather, transpose, pad, pool), else elementwise.",
    ),
    click.option("--namespace", default="", help="Plugin namespace."),
    click.option("--version", "--plugin-version", "version", default="1", show_default=True, help="Plugin version."),
    click.option(
        "--base",
        default="dynamic",
        show_default=True,
        help=f"Plugin interface: {_BASES}; {','.join(BOTH)}: v3, and dynamic with TensorRT 8, which has no IPluginV3.",
    ),
)


def options(command: F) -> F:
    """Decorate a command's function with them."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def fields(given: Sequence[str], *, no_fields: bool) -> Sequence[str] | None:
    """The values of --field and --no-fields; None without either.

    Raises:
        UsageError: both are given.
    """
    if given and no_fields:
        raise UsageError("--field and --no-fields contradict each other.", hint="Leave one of them out.")
    return given or ([] if no_fields else None)


def types(text: str) -> tuple[DType, ...]:
    """The value of --types.

    Raises:
        UsageError: there is no such type, or integers are among them.
    """
    known = {kind.value: kind for kind in DType if not kind.is_integer}
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise UsageError(
                f"--types: '{name}' is not a type of a floating tensor.", hint=f"Known: {', '.join(known)}."
            )
    return tuple(kind for kind in DType if kind.value in names)
