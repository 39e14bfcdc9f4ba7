"""The options that describe a plugin's signature: those of `pluginkit new` and `pluginkit add`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from pluginkit.bases import FOR_NEW
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
        help="An input, as x:float32,float16,int8:n,c,h,w (the default); x:float32:n,... is of any rank, k:int64: a "
        "scalar. size:int64:2:values=oh,ow (base v3) is a shape input: its elements are symbols for the outputs' "
        "shapes. With :scale=s behind it the field s carries its INT8 scale; of s:float32[c], one for each of its c. "
        "May be repeated.",
    ),
    click.option(
        "--output",
        "outputs",
        multiple=True,
        metavar="NAME:TYPES:SHAPE",
        help="An output; its shape may compute: y:float32:n + m,c. Default: one y like the first input. Behind it "
        ":valid=k says that only its first k rows mean something, k being another output; :alias=x (base v3) that it "
        "is written into the memory of the input x; :upper=n * c and :opt=n (base v3) what a size tensor is at most "
        "and usually. May be repeated.",
    ),
    click.option(
        "--field",
        "fields",
        multiple=True,
        metavar="NAME:TYPE[:VALUES][=DEFAULT]",
        help="A field: alpha:float32=0.5 (the default), axes:int64[]=0,1, w:float32[c], mode:string=nearest; without "
        "=DEFAULT it must be given. VALUES are those that it takes: k:int32:1..8=3, s:float32:0..=1, "
        "mode:string:nearest,linear=nearest.",
    ),
    click.option("--no-fields", is_flag=True, help="No fields but the INT8 scales."),
    click.option(
        "--format",
        "formats",
        multiple=True,
        metavar="FORMAT",
        help="A tensor format other than linear, as chw32 or hwc8, for the tensors that can have it. May be repeated.",
    ),
    click.option(
        "--workspace",
        default="",
        metavar="BYTES",
        help="Scratch memory of a run, an expression as a shape's: '4 * n * h * w'. Default: none.",
    ),
    click.option(
        "--kernel",
        default="",
        metavar="PATTERN",
        help=f"What the kernel begins as: {'; '.join(f'{name}, {one.about}' for name, one in PATTERNS.items())}. "
        "Default: what the signature looks like (rows, gather, transpose, pad, pool); else elementwise, where it fits.",
    ),
    click.option("--namespace", default="", help="TensorRT plugin namespace."),
    click.option(
        "--version", "--plugin-version", "version", default="1", show_default=True, help="The plugin's version."
    ),
    click.option("--base", default="dynamic", show_default=True, help=f"The interface: {_BASES}."),
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
            raise UsageError(f"--types: '{name}' is no type of a floating tensor.", hint=f"Known: {', '.join(known)}.")
    return tuple(kind for kind in DType if kind.value in names)
