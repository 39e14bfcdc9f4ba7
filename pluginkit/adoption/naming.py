"""Names for the dimensions of a plugin's inputs: which of them are one symbol of a `pluginkit.toml`."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from pluginkit.adoption.expressions import symbol

BY_RANK = {
    1: ("n",),
    2: ("n", "c"),
    3: ("n", "c", "l"),
    4: ("n", "c", "h", "w"),
    5: ("n", "c", "d", "h", "w"),
}
"""The first input's dimensions."""
_SYMBOL = re.compile(r"\bd(\d+)_(\d+)\b")


def name(
    ranks: Sequence[int],
    outputs: Sequence[Sequence[str]],
    taken: Collection[str] = (),
    model: Sequence[Sequence[int | str] | None] = (),
) -> dict[str, str]:
    """A name for each dimension, as `d0_1` -> `c`.

    An input with the rank of the first one has that one's names: nothing that a plugin answers distinguishes equal
    dimensions from others, and tensors alike are what most plugins take. A dimension has its own name where one
    expression has both in it. A model shows more: dimensions that it calls alike are one, and those with other sizes
    are not.

    Args:
        ranks: of the inputs.
        outputs: the outputs' shapes, as expressions.
        taken: names of fields, which no dimension has.
        model: the inputs' dimensions in a model, numbers or names, as far as they are known there.
    """
    together = {
        dim
        for shape in outputs
        for written in shape
        for dim in _apart([(int(tensor), int(at)) for tensor, at in _SYMBOL.findall(written)])
    }
    sizes = {(tensor, dim): size for tensor, shape in enumerate(model) for dim, size in enumerate(shape or ())}
    found: dict[str, str] = {}
    by_size: dict[str, str] = {}
    for tensor, rank in enumerate(ranks):
        for dim in range(rank):
            own = BY_RANK.get(rank, tuple(f"d{at}" for at in range(rank)))[dim]
            size = sizes.get((tensor, dim))
            first = sizes.get((0, dim))
            shared = tensor == 0 or (
                rank == ranks[0] and (tensor, dim) not in together and (size is None or size == first)
            )
            chosen = own if shared else f"{own}{'_' * own[-1].isdigit()}{tensor + 1}"
            chosen = f"{chosen}_dim" if chosen in taken else chosen
            if isinstance(size, str) and (tensor, dim) not in together:
                chosen = by_size.setdefault(size, chosen)
            found[symbol(tensor, dim)] = chosen
    return found


def _apart(used: Sequence[tuple[int, int]]) -> set[tuple[int, int]]:
    """The dimensions of an expression next to the same one of the first input."""
    return {(tensor, dim) for tensor, dim in used if tensor and (0, dim) in used}


def renamed(written: str, names: dict[str, str]) -> str:
    """An expression with these names."""
    return re.sub(r"\w+", lambda one: names.get(one[0], one[0]), written)
