"""Signatures of any rank: `"..."` in a shape stands for the dimensions that each profile lists as `rest`.

A manifest is read once for each number of such dimensions: with symbols in the place of `"..."`, and the profiles that
have that number. So all that works on a signature works on one of a fixed rank.
"""

from __future__ import annotations

import copy
import re
from typing import Any

from pluginkit.bases import BASES
from pluginkit.manifest.mistakes import toml

REST = "..."
"""What stands in a shape for any number of dimensions, the same ones in every tensor that has it."""

_TABLES = ("inputs", "outputs")
_STATIC = tuple(name for name, base in BASES.items() if not base.dynamic_shapes)


class RankError(Exception):
    """A signature of any rank that can't be; a sentence for the user."""


def expand(content: dict[str, Any]) -> list[dict[str, Any]]:
    """A `pluginkit.toml`'s content for each rank, in the order of the profiles; the content alone where none is open.

    Raises:
        RankError: `"..."` or a profile's `rest` where it can't be.
    """
    tensors = [one for table in _TABLES for one in _tables(content, table)]
    profiles = _tables(content, "profiles")
    open_ = [one for one in tensors if REST in _shape(one)]
    if not open_:
        for profile in profiles:
            if "rest" in profile:
                raise RankError(f'profile {_name(profile)}: rest says what "{REST}" stands for, and no shape has it')
        return [content]
    _check(content, open_)
    for profile in profiles:
        if not isinstance(profile.get("rest"), list):
            raise RankError(
                f'profile {_name(profile)}.rest is missing: the dimensions that "{REST}" stands for, as in '
                "rest = [[1, 8, 16], [1, 8, 16]]; rest = [] for none"
            )
        for number, ends in enumerate(profile["rest"], 1):
            if not isinstance(ends, list) or len(ends) != 3 or any(type(size) is not int for size in ends):
                raise RankError(
                    f"profile {_name(profile)}.rest {number}: must be [min, opt, max], three whole numbers "
                    f"(got {toml(ends)})"
                )
    counts = dict.fromkeys(len(profile["rest"]) for profile in profiles)
    return [_at(content, count) for count in counts] or [content]


def replaced(shape: tuple[str, ...], symbols: list[str]) -> tuple[str, ...]:
    """A shape with symbols in the place of `"..."`."""
    return tuple(name for dim in shape for name in (symbols if dim == REST else [dim]))


def symbols(taken: set[str], count: int) -> list[str]:
    """Names for so many dimensions: d1, d2, ..., with underscores before them where a name is taken."""
    prefix = "d"
    while any(f"{prefix}{number}" in taken for number in range(1, count + 1)):
        prefix = f"_{prefix}"
    return [f"{prefix}{number}" for number in range(1, count + 1)]


def names(shapes: list[Any]) -> set[str]:
    """All names in shapes as they are written."""
    return {name for shape in shapes for dim in shape for name in re.findall(r"[A-Za-z_]\w*", str(dim))}


def _check(content: dict[str, Any], open_: list[dict[str, Any]]) -> None:
    for tensor in open_:
        if _shape(tensor).count(REST) > 1:
            raise RankError(f'{tensor.get("name")}.shape: "{REST}" can stand in a shape once')
        if any(form != "linear" for form in tensor.get("formats", [])):
            raise RankError(f'{tensor.get("name")}.formats: a tensor with "{REST}" in its shape is linear')
        axis = tensor.get("scale_axis")
        if isinstance(axis, int) and axis >= _shape(tensor).index(REST):
            raise RankError(
                f"{tensor.get('name')}.scale_axis: dimension {axis} is another one at each rank: write the dimension "
                f'that has a scale for each index before "{REST}"'
            )
    if not any(REST in _shape(one) for one in _tables(content, "inputs")):
        raise RankError(f'{open_[0].get("name")}.shape: "{REST}" is what it is in an input, and no input has it')
    plugin = content.get("plugin")
    if isinstance(plugin, dict) and plugin.get("base") in _STATIC:
        raise RankError(
            f'{open_[0].get("name")}.shape: base {plugin["base"]} has no "{REST}": whether the batch is among the '
            "dimensions shows in their number alone"
        )


def _at(content: dict[str, Any], count: int) -> dict[str, Any]:
    found = copy.deepcopy(content)
    tensors = [one for table in _TABLES for one in _tables(found, table)]
    taken = names([_shape(one) for one in tensors])
    taken |= {str(one.get("name")) for one in (*tensors, *_tables(found, "fields"))}
    taken |= names([one["values"] for one in tensors if isinstance(one.get("values"), list)])
    rest = symbols(taken, count)
    for tensor in tensors:
        if REST in _shape(tensor):
            tensor["shape"] = list(replaced(tuple(_shape(tensor)), rest))
    found["profiles"] = [one for one in _tables(found, "profiles") if len(one["rest"]) == count]
    for profile in found["profiles"]:
        ranges = profile.pop("rest")
        profile["symbols"] = {**profile.get("symbols", {}), **dict(zip(rest, ranges, strict=True))}
    return found


def _tables(content: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """The tables of a list; none where the content is something else, which the model says."""
    value = content.get(key)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _shape(tensor: dict[str, Any]) -> list[Any]:
    value = tensor.get("shape")
    return value if isinstance(value, list) else []


def _name(profile: dict[str, Any]) -> str:
    return f"'{profile.get('name', 'default')}'"
