"""The pattern `pool`: a function of each window of the last two dimensions."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any

from pluginkit.field_types import FieldType
from pluginkit.manifest import REST, Manifest
from pluginkit.scaffold.kernels import fitting
from pluginkit.shapes import Expr, parse

_LEAST = (1, 1, 0)
"""Of a window's size, of its stride, and of the padding around the image."""
_FORMS = (
    "({size} + 2 * {pad} - {kernel}) // {stride} + 1",
    "({size} - {kernel}) // {stride} + 1",
    "{size} + 2 * {pad} - {kernel} + 1",
    "{size} - {kernel} + 1",
)
"""How many windows there are along a dimension; a form without stride or pad is of stride 1 or pad 0."""
_EXPECTED = (
    ": of the last two dimensions, both alike, as (h + 2 * pad - kernel) // stride + 1; kernel, stride and pad are "
    "integer fields of any name, or numbers"
)


def misfit(manifest: Manifest) -> str:
    if problem := fitting.one_to_one(manifest):
        return problem
    (x,), (y,) = manifest.inputs, manifest.outputs
    found = window(manifest)
    given, made = manifest.written(x), manifest.written(y)
    reasons = [
        *([f"an image has two dimensions, and '{x.name}' may have less"]
          if REST in given[-2:] or len(given) < 2 else []),
        *([f"[{', '.join(given)}] and [{', '.join(made)}] aren't an image and its windows{_EXPECTED}"]
          if found is None else []),
    ]  # fmt: skip
    for name, least in zip(found or (), _LEAST, strict=False):
        field = fitting.field(manifest, name)
        if field is None:
            continue
        if field.type is not FieldType.INT32:  # as kernels::Window has it
            reasons.append(f"the field '{name}' isn't int32")
        elif (start := fitting.ends(field)[0]) is None or start < least:
            usual = "" if field.default is None else f"={field.default}"
            reasons.append(f"the field '{name}' may be less than {least}: write {name}:int32:{least}..{usual}")
    reasons += [
        *(["its output is in its input's memory"] if y.alias else []),
        *(["integers have no scale to round by"] if any(kind.is_integer for kind in x.types) else []),
    ]
    return reasons[0] if reasons else ""


def resembles(manifest: Manifest) -> bool:
    """Whether the output has an element for each window."""
    return window(manifest) is not None


def window(manifest: Manifest) -> tuple[str, str, str] | None:
    """A window's size, stride and padding: names of integer fields, or numbers. None if there is no window."""
    if len(manifest.inputs) != 1 or len(manifest.outputs) != 1:
        return None
    given, made = manifest.written(manifest.inputs[0]), manifest.written(manifest.outputs[0])
    if len(given) != len(made) or len(given) < 2 or given[:-2] != made[:-2] or REST in (*given[-2:], *made[-2:]):
        return None
    names = [field.name for field in manifest.plain_fields() if fitting.is_whole(field)]
    names += list(dict.fromkeys(re.findall(r"\b\d+\b", made[-1])))
    wanted = [parse(size) for size in made[-2:]]
    for form in _FORMS:
        strides, pads = names if "{stride}" in form else ["1"], names if "{pad}" in form else ["0"]
        for kernel, stride, pad in itertools.product(names, strides, pads):
            if wanted == [_windows(form, size, kernel, stride, pad) for size in given[-2:]]:
                return kernel, stride, pad
    return None


def _windows(form: str, size: str, kernel: str, stride: str, pad: str) -> Expr:
    return parse(form.format(size=size, kernel=kernel, stride=stride, pad=pad))


def variables(manifest: Manifest) -> Mapping[str, Any]:
    """For the kernel: what `window` says, as C++ has it."""
    names = {field.name for field in manifest.plain_fields()}
    return {"window": [f"run.fields.{one}" if one in names else one for one in window(manifest) or ()]}


def reference(manifest: Manifest) -> list[str]:
    (x,) = manifest.inputs
    kernel, stride, pad = window(manifest) or ("1", "1", "0")
    padded, sizes, windows = (fitting.local(manifest, one) for one in ("padded", "sizes", "windows"))
    return [
        f"{padded} = [(0, 0)] * ({x.name}.ndim - 2) + [({pad}, {pad})] * 2",
        f"{padded} = np.pad({x.name}, {padded}, constant_values=-np.inf)",
        f"{sizes} = [({padded}.shape[axis] - {kernel}) // {stride} + 1 for axis in (-2, -1)]",
        f"if min({sizes}) <= 0:",
        f"    return np.zeros((*{x.name}.shape[:-2], *{sizes}))",
        f"{windows} = np.lib.stride_tricks.sliding_window_view({padded}, ({kernel}, {kernel}), (-2, -1))",
        f"return {windows}[..., ::{stride}, ::{stride}, :, :].max(axis=(-2, -1))",
    ]


def test(manifest: Manifest, arguments: list[str]) -> list[str]:
    names = window(manifest) or ("1", "1", "0")
    given = dict(one.split("=") for one in arguments)
    given |= {name: number for name, number in zip(names, "321", strict=True) if name in given}
    kernel, stride, pad = (given.get(name, name) for name in names)
    return [
        "(shape,) = SHAPES",
        "numbers = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)",
        f"output = reference({', '.join(['numbers', *(f'{name}={value}' for name, value in given.items())])})",
        "for place in np.ndindex(*output.shape):",
        f"    top, left = {stride} * place[-2] - {pad}, {stride} * place[-1] - {pad}",
        "    image = numbers[place[:-2]]",
        f"    window = image[max(top, 0) : top + {kernel}, max(left, 0) : left + {kernel}]",
        "    assert output[place] == window.max()",
    ]
