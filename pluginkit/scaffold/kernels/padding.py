"""The pattern `pad`: an input that is padded by as many elements as fields say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pluginkit.field_types import FieldType
from pluginkit.manifest import REST, Manifest
from pluginkit.scaffold.kernels import fitting
from pluginkit.shapes import parse

MODES = ("constant", "edge", "reflect")
"""By the number that the field `mode` has."""


def misfit(manifest: Manifest) -> str:
    if problem := fitting.one_to_one(manifest):
        return problem
    (x,), (y,) = manifest.inputs, manifest.outputs
    mode, value = (fitting.field(manifest, name) for name in ("mode", "value"))
    reasons = [
        *(["its output is in its input's memory"] if y.alias else []),
        *(["a scalar can't be padded"] if not x.shape else []),
        *([f"'{x.name}' may have any number of dimensions"] if REST in manifest.written(x) else []),
        *(["the field 'mode' isn't a number from 0 to 2: write mode:int32:0..2=0 (constant, edge, reflect)"]
          if mode is not None and (not fitting.is_whole(mode) or fitting.ends(mode) != (0, 2)) else []),
        *(["the field 'value' isn't float32"]
          if value is not None and (value.type is not FieldType.FLOAT32 or value.is_list) else []),
    ]  # fmt: skip
    if reasons:
        return reasons[0]
    if widths(manifest) is None:
        shapes = " and ".join(f"[{', '.join(manifest.written(tensor))}]" for tensor in (x, y))
        return (
            f"{shapes} aren't a shape and the same padded: each dimension as it is, or with two integer fields "
            "added, as h + top + bottom"
        )
    return ""


def resembles(manifest: Manifest) -> bool:
    """Whether the output is the padded input."""
    written = [dim for tensor in (*manifest.inputs, *manifest.outputs) for dim in manifest.written(tensor)]
    alone = len(manifest.inputs) == len(manifest.outputs) == 1
    return alone and REST not in written and widths(manifest) is not None


def widths(manifest: Manifest) -> list[tuple[str, str]] | None:
    """The two fields that each dimension is wider by, before and after; two empty names where it isn't."""
    (x,), (y,) = manifest.inputs, manifest.outputs
    given, made = manifest.written(x), manifest.written(y)
    names = [field.name for field in manifest.plain_fields() if fitting.is_whole(field) and field.name != "mode"]
    if len(given) != len(made):
        return None
    found = []
    for size, wider in zip(given, made, strict=True):
        pairs = [("", "")] if parse(size) == parse(wider) else [
            (before, after) for before in names for after in names
            if parse(f"{size} + {before} + {after}") == parse(wider)
        ]  # fmt: skip
        found.extend(pairs[:1])
    return found if len(found) == len(given) and any(before for before, _ in found) else None


def variables(manifest: Manifest) -> Mapping[str, Any]:
    """For the kernel: the field before each dimension, and whether there are a mode and a value."""
    names = {field.name for field in manifest.plain_fields()}
    return {
        "padding": [before for before, _ in widths(manifest) or []],
        "pad_mode": "mode" in names,
        "pad_value": "value" in names,
    }


def reference(manifest: Manifest) -> list[str]:
    (x,) = manifest.inputs
    names = {field.name for field in manifest.plain_fields()}
    mode = "mode" if "mode" in names else "0"
    value = "value" if "value" in names else "0.0"
    padding = [f"({before}, {after})" if before else "(0, 0)" for before, after in widths(manifest) or []]
    y, axis, size = (fitting.local(manifest, one) for one in ("y", "axis", "size"))
    indices, inside = (fitting.local(manifest, one) for one in ("indices", "inside"))
    before, after = (fitting.local(manifest, one) for one in ("before", "after"))
    return [
        f"{y} = {x.name}",
        f"for {axis}, ({before}, {after}) in enumerate([{', '.join(padding)}]):",
        f"    {size} = {y}.shape[{axis}]",
        f"    {indices} = np.arange(-int({before}), {size} + int({after}))",
        f"    if {mode} == 1 and {size} > 0:",
        f"        {indices} = np.clip({indices}, 0, {size} - 1)",
        f"    if {mode} == 2 and {size} > 0:",
        f"        {indices} = abs({indices}) % max(2 * {size} - 2, 1)",
        f"        {indices} = np.minimum({indices}, 2 * {size} - 2 - {indices})",
        f"    {inside} = ({indices} >= 0) & ({indices} < {size})",
        f"    {y} = np.pad({y}, [(0, int({axis} == other)) for other in range({y}.ndim)], constant_values={value})",
        f"    {y} = np.take({y}, np.where({inside}, {indices}, {size}), axis={axis})",
        f"return {y}",
    ]


def test(manifest: Manifest, arguments: list[str]) -> list[str]:
    names = {field.name for field in manifest.plain_fields()}
    given = dict(one.split("=") for one in arguments)
    both = widths(manifest) or []
    # A field may be of several dimensions, before one and behind another.
    numbers = {
        name: place % 3 + 1 for place, name in enumerate(dict.fromkeys(one for pair in both for one in pair if one))
    }
    given |= {name: str(number) for name, number in numbers.items()}
    given |= {"mode": "mode"} if "mode" in names else {}
    given |= {"value": "5.0"} if "value" in names else {}
    padding = [f"({numbers.get(before, 0)}, {numbers.get(after, 0)})" for before, after in both]
    return [
        "(shape,) = SHAPES",
        "numbers = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)",
        f"padding = [{', '.join(padding)}]",
        *(["for mode, name in enumerate(['constant', 'edge', 'reflect']):"] if "mode" in names else
          ["for name in ['constant']:"]),
        f"    output = reference(numbers, {', '.join(f'{name}={value}' for name, value in given.items())})",
        f"    constant = {{'constant_values': {'5.0' if 'value' in names else '0.0'}}} if name == 'constant' else {{}}",
        "    np.testing.assert_array_equal(output, np.pad(numbers, padding, mode=name, **constant))",
    ]  # fmt: skip
