"""Equal items that come in another order: of two boxes with one score either may be the first.

An item is what all outputs have at one place: of a detector's outputs a score, a class and the four numbers of a box.
No document says in which order items come that are equal in what they are sorted by, and a kernel that numbers them by
an atomic counter gives them as its blocks come.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from pluginkit.network.networks import Array


def exchanged(usual: Mapping[str, Array], other: Mapping[str, Array]) -> str:
    """Which outputs differ by nothing but the order of items that are equal in another one; empty if that isn't so.

    Args:
        usual: graph output -> what came out in the usual order.
        other: the same in another one.

    What items are equal in is a floating-point output with one number for each, as a score. A count, which many have
    in common, is none.
    """
    if usual.keys() != other.keys() or any(other[name].shape != value.shape for name, value in usual.items()):
        return ""
    usual, other = _one_zero(usual), _one_zero(other)
    moved = [name for name, value in usual.items() if value.tobytes() != other[name].tobytes()]
    if not moved:
        return ""
    for shape in _shapes(usual, moved):
        keys = [name for name, value in usual.items() if value.shape == shape and value.dtype.kind == "f"]
        keys = [name for name in keys if name not in moved]
        of_items = [name for name, value in usual.items() if value.shape[: len(shape)] == shape]
        if not keys or not set(moved) <= set(of_items):
            continue
        before, after = (_items(outputs, of_items, shape) for outputs in (usual, other))
        if any(np.array_equal(np.sort(before, axis), np.sort(after, axis)) for axis in range(len(shape))):
            has = "has" if len(moved) == 1 else "have"
            return f"{_listed(moved)} {has} items in another order that are equal in {_listed(keys)}"
    return ""


def _one_zero(outputs: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs with 0 for -0, which is equal to it."""
    return {name: value + np.zeros((), value.dtype) for name, value in outputs.items()}


def _shapes(outputs: Mapping[str, Array], moved: Sequence[str]) -> Iterator[tuple[int, ...]]:
    """The shapes that the items may be laid out in: of an output with one number for each."""
    fewest = min(outputs[name].ndim for name in moved)
    found = {value.shape for name, value in outputs.items() if name not in moved and 0 < value.ndim <= fewest}
    return iter(sorted(found, key=len, reverse=True))


def _items(outputs: Mapping[str, Array], names: Sequence[str], shape: tuple[int, ...]) -> npt.NDArray[np.void]:
    """An array of that shape, whose elements hold all bytes that an item has in these outputs."""
    rows = [np.ascontiguousarray(outputs[name]).reshape(*shape, -1).view(np.uint8) for name in names]
    whole = np.ascontiguousarray(np.concatenate(rows, axis=-1))
    return whole.view(np.dtype((np.void, whole.shape[-1])))[..., 0]


def _listed(names: Sequence[str]) -> str:
    return " and ".join(f"'{name}'" for name in names)
