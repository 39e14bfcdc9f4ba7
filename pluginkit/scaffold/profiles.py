"""The profile that `pluginkit new` writes: sizes at which each output has elements, where there are such."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pluginkit import shapes
from pluginkit.errors import UsageError

Range = tuple[int, int, int]
"""A symbol's min, opt and max."""


def with_elements(
    ranges: Mapping[str, Range], dims: Sequence[shapes.Expr], fields: Mapping[str, int | tuple[int, ...]]
) -> dict[str, Range]:
    """The ranges, with the least sizes raised for which a dimension of an output would be below 1.

    A window of 3 has no place in a row of 1. TensorRT takes tensors without elements, but NVIDIA's builder ends on an
    assertion of its own where such a one comes out of an If (TensorRT-RTX 1.7.1).

    Args:
        ranges: by the symbol.
        dims: the outputs' dimensions.
        fields: what fields are by default, where they have a default.
    """
    found = dict(ranges)
    for dim in dims:
        names = [name for name in shapes.symbols(dim) if name in found]
        for least in range(1, min((found[name][1] for name in names), default=0) + 1):
            raised = {name: max(found[name][0], least) for name in names}
            if _has_elements(dim, {**fields, **{name: ends[0] for name, ends in found.items()}, **raised}):
                found |= {name: (size, *found[name][1:]) for name, size in raised.items()}
                break
    return found


def _has_elements(dim: shapes.Expr, values: shapes.Values) -> bool:
    try:
        return not shapes.exists(dim, values) or shapes.evaluate(dim, values) > 0
    except UsageError:  # of a size tensor, or of a field without a default: not known here
        return True
