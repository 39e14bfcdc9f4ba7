"""The profiles that `pluginkit new` writes: sizes that differ in each dimension, at which each output has elements."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from pluginkit import shapes
from pluginkit.errors import UsageError

Range = tuple[int, int, int]
"""A symbol's min, opt and max."""

_OPT = (2, 5, 9, 7, 11, 13)
"""No size is another's multiple: exchanged dimensions, and a stride of the wrong one, show. Odd ones leave tails."""
_DEEP_OPT = (2, 3, 5, 7, 11, 13)
"""The same for tensors of more than `_USUAL_RANK` dimensions: the product of such numbers grows fast."""
_MAX, _MAX_FIRST = 16, 4
"""At most, where opt is less: of whole vectors. The batch, and sizes of deep tensors, have the second."""
_STATIC = {"default": (3, 8, 10, 14, 11, 13), "odd": (2, 5, 9, 7, 11, 13)}
_DEEP_STATIC = {"default": (2, 3, 5, 7, 11, 13), "odd": (3, 2, 7, 5, 13, 11)}
"""Of a plugin whose shapes are static: two profiles, the first one of whole vectors."""
_USUAL_RANK = 4
_LARGEST = 1024
"""To which a size is raised for a window; the manifest's own rules name what is left."""


def usual(count: int, rank: int) -> list[Range]:
    """The ranges of so many symbols, in their order, for tensors of at most `rank` dimensions."""
    if rank > _USUAL_RANK:
        return [(1, opt, max(opt, _MAX_FIRST)) for opt in _sizes(_DEEP_OPT, count)]
    sizes = _sizes(_OPT, count)
    return [(1, opt, max(opt, _MAX if index else _MAX_FIRST)) for index, opt in enumerate(sizes)]


def static(count: int, rank: int) -> dict[str, list[Range]]:
    """The profiles of so many symbols, by name, where each has one shape."""
    known = _DEEP_STATIC if rank > _USUAL_RANK else _STATIC
    return {name: [(size, size, size) for size in _sizes(sizes, count)] for name, sizes in known.items()}


def _sizes(first: Sequence[int], count: int) -> list[int]:
    """`count` numbers of which none is a multiple of another."""
    found = list(first[:count])
    while len(found) < count:
        found.append(apart(found[-1], found))
    return found


def beside(ranges: Mapping[str, Range], fixed: Mapping[str, int]) -> dict[str, Range]:
    """The ranges with some symbols of one size each, and the others' opt no multiple of these."""
    found = {name: (size, size, size) for name, size in fixed.items()}
    for name, (low, opt, high) in ranges.items():
        if name not in fixed:
            size = apart(opt, [one for _, one, _ in found.values()])
            found[name] = (size, size, size) if low == high else (low, size, max(high, size))
    return {name: found[name] for name in ranges}


def apart(least: int, others: Sequence[int]) -> int:
    """The first number from `least` on that is not a multiple of another, nor a divisor."""
    return next(size for size in itertools.count(least) if all(size % one and one % size for one in others))


def with_elements(
    ranges: Mapping[str, Range], dims: Sequence[shapes.Expr], fields: Sequence[shapes.Values]
) -> dict[str, Range]:
    """The ranges, with the least sizes raised for which a dimension of an output would be below 1.

    A window of 3 has no place in a row of 1. TensorRT takes tensors without elements, but NVIDIA's builder ends on an
    assertion of its own where such a one comes out of an If (TensorRT-RTX 1.7.1). Where a window is larger than opt,
    that and max are raised too.

    Args:
        ranges: by the symbol.
        dims: the outputs' dimensions.
        fields: the values that fields have together, each of which is to have elements: by default, and others that
            they are declared to take.
    """
    found = dict(ranges)
    for dim in dims:
        names = [name for name in shapes.symbols(dim) if name in found]
        for least in range(1, _LARGEST if names else 1):
            low = {name: ends[0] for name, ends in found.items()}
            raised = {name: max(low[name], least) for name in names}
            if all(_has_elements(dim, {**values, **low, **raised}) for values in fields):
                found |= {name: _from(size, found[name], found) for name, size in raised.items()}
                break
    return found


def _from(least: int, ends: Range, every: Mapping[str, Range]) -> Range:
    low, opt, high = ends
    if least <= opt:
        return max(low, least), opt, high
    opt = apart(least, [other for _, other, _ in every.values() if other not in (1, opt)])
    return (opt, opt, opt) if low == high else (least, opt, max(high, opt + high - ends[1]))


def alternatives(
    usual_values: Mapping[str, int | tuple[int, ...]], declared: Mapping[str, Sequence[int]]
) -> Iterator[shapes.Values]:
    """What fields have together: all by default, then each of them, or each of its elements, as it is declared."""
    yield dict(usual_values)
    for name, values in declared.items():
        for value in values:
            default = usual_values.get(name)
            yield {**usual_values, name: (value,) * len(default) if isinstance(default, tuple) else value}


def _has_elements(dim: shapes.Expr, values: shapes.Values) -> bool:
    try:
        return not shapes.exists(dim, values) or shapes.evaluate(dim, values) > 0
    except UsageError:  # of a size tensor, or of a field without a default: not known here
        return True
