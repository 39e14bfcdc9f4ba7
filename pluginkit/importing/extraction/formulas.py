"""Output sizes as formulas of fields: a window's, a scale's, a size that a field says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

from pluginkit import shapes
from pluginkit.errors import UsageError

Values: TypeAlias = "Mapping[str, int | tuple[int, ...]]"
"""A node's integer fields."""

_KINDS = {
    "size": r"k|ks|ksize|size|(kernel|window|filter|pool|patch|block)(_?(size|shape|dim))?",
    "stride": r"s|(stride|step|hop)(s|_?size)?",
    "pad": r"p|pad(s|ding|dings)?",
    "dilation": r"d|dil|dilations?|dilation_rate|rate",
}
_AXIS = r"(?:_?(?P<axis>[hwxyd]|height|width|depth))?"
_ENDS = {"h": 2, "y": 2, "height": 2, "w": 1, "x": 1, "width": 1, "d": 3, "depth": 3}
"""Which dimension, from the end, a name such as kernel_w is for."""
LEAST = {"size": 1, "stride": 1, "dilation": 1, "pad": 0}
"""The least number that a window's field can be."""


@dataclass(frozen=True)
class Formula:
    """A size.

    Attributes:
        text: as a manifest's shape has it.
        window: the fields of a window that it names, with the least number of each.
    """

    text: str
    window: Mapping[str, int]


def roles(fields: Sequence[str]) -> dict[str, str]:
    """What fields of a window are by their names: field -> one of `LEAST`."""
    found = {
        name: next((kind for kind, form in _KINDS.items() if re.fullmatch(f"({form}){_AXIS}", name.lower())), "")
        for name in fields
    }
    return {name: kind for name, kind in found.items() if kind}


def is_window(fields: Sequence[str]) -> bool:
    """Whether fields have the names of a window: its size, and how it goes over an image."""
    kinds = set(roles(fields).values())
    return "size" in kinds and len(kinds) > 1


def windows(symbol: str, from_end: int, nodes: Sequence[Values]) -> Iterator[Formula]:
    """Sizes of a window's output along a dimension, the `from_end`-th from the end; none without a window's fields."""
    named = roles(list(nodes[0])) if nodes else {}
    if not is_window(list(named)):
        return
    terms: dict[str, list[str]] = {
        kind: [term for name, its in named.items() if its == kind for term in _terms(name, from_end, nodes)]
        for kind in LEAST
    }
    rims = _rims([name for name, its in named.items() if its == "pad"], from_end, nodes)
    for size, dilation, stride, rim in product(
        terms["size"], terms["dilation"] or [""], terms["stride"] or [""], rims or [""]
    ):
        span = f"{dilation} * ({size} - 1) - 1" if dilation else size
        inside = f"{symbol}{rim} - {span}"
        used = {one.partition("[")[0] for one in (size, dilation, stride) if one} | set(
            re.findall(r"[A-Za-z_]\w*", rim)
        )
        least = {name: LEAST[named[name]] for name in named if name in used}
        if stride:
            yield Formula(f"({inside}) // {stride} + 1", least)
            yield Formula(f"ceil_div({inside}, {stride}) + 1", least)
            inner = f"{dilation} * ({size} - 1) + 1" if dilation else size
            yield Formula(f"({symbol} - 1) * {stride}{rim.replace('+', '-')} + {inner}", least)
        else:
            yield Formula(f"{inside} + 1", least)


def others(symbol: str, from_end: int, nodes: Sequence[Values]) -> Iterator[Formula]:
    """Sizes by one field, whatever its name: what it says, and the dimension scaled, divided, made wider by it."""
    terms = [term for name in nodes[0] for term in _terms(name, from_end, nodes)] if nodes else []
    for form in ("{f}", "{s} * {f}", "{s} // {f}", "ceil_div({s}, {f})", "{s} + 2 * {f}", "{s} + {f}", "{s} - {f}"):
        yield from (Formula(form.format(s=symbol, f=term), {}) for term in terms if "{s}" not in form or symbol)
    if symbol:
        pairs = [(a, b) for a in terms for b in terms if a != b]
        yield from (Formula(f"{symbol} + {before} + {after}", {}) for before, after in pairs)


def value(text: str, symbol: str, size: int | None, fields: Values) -> int | None:
    """What a formula gives; None where a size isn't known, or it can't be computed."""
    expression = shapes.parse(text)
    known = {symbol: size} if symbol and size is not None else {}
    try:
        return shapes.evaluate(expression, {**fields, **known})
    except (UsageError, KeyError, IndexError, ZeroDivisionError):
        return None


def varies(text: str, nodes: Sequence[Values]) -> bool:
    """Whether a formula's fields are others than 0 and 1, with which it would be the dimension itself."""
    names = [name for name in nodes[0] if re.search(rf"\b{name}\b", text)]
    return all(_numbers(node[name])[0] not in (0, 1) for node in nodes for name in names if _numbers(node[name]))


def _numbers(one: int | tuple[int, ...]) -> tuple[int, ...]:
    return one if isinstance(one, tuple) else (one,)


def _terms(name: str, from_end: int, nodes: Sequence[Values]) -> list[str]:
    """How a field is written for a dimension: itself, or the element of a list with one for each of the last ones."""
    values = [node.get(name) for node in nodes]
    if _axis(name) not in (None, from_end):
        return []
    lengths = {len(one) if isinstance(one, tuple) else 0 for one in values}
    if lengths == {0}:
        return [name]
    length = next(iter(lengths)) if len(lengths) == 1 else 0
    return [f"{name}[{length - from_end}]"] if from_end <= length else []


def _axis(name: str) -> int | None:
    """Which dimension a field is for by its name, counted from the end; None where it says none."""
    forms = [rf"(?:{form}){_AXIS}" for form in _KINDS.values()] + [r".+_(?P<axis>[hwxyd]|height|width|depth)"]
    found = next(filter(None, (re.fullmatch(form, name.lower()) for form in forms)), None)
    return _ENDS.get(found["axis"] or "") if found else None


def _rims(names: Sequence[str], from_end: int, nodes: Sequence[Values]) -> list[str]:
    """What is added to a dimension on both sides, as ` + 2 * pad` or ` + pads[0] + pads[2]`."""
    found = []
    for name in names:
        lengths = {len(one) if isinstance(one := node.get(name, 0), tuple) else 0 for node in nodes}
        length = next(iter(lengths)) if len(lengths) == 1 else 1
        # As ONNX has pads: the beginnings of all dimensions, then their ends.
        if length and length % 2 == 0 and (length // 2 > 1 or from_end == 1) and from_end <= length // 2:
            found.append(f" + {name}[{length // 2 - from_end}] + {name}[{length - from_end}]")
        found += [f" + 2 * {term}" for term in _terms(name, from_end, nodes) if length in (0, 2)]
    return found
