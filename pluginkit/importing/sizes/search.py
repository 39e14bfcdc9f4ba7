"""The least sizes that a model runs with, and larger ones for opt and max: a search by trying.

Which sizes are valid is not an interval: a model may take multiples of 32 only, or lengths from 192 to 703. So every
size that is given was tried, and the least are the least of those that were.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

Sizes = dict[str, int]
"""The size of each group of dimensions that are one."""
Runs = Callable[[Sizes], bool]

TRIED: tuple[int, ...] = (
    *(1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 80, 96, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640),
    *(768, 1024),
)
"""Sizes that are tried for all dimensions at once, and then for each."""
LARGER = (4, 2, 1)
"""How many times the least is tried for opt, and how many times opt for max."""
MOST = 160
"""So many runs of the model at most."""


class _Budget:
    """Counts runs, and remembers what came of them."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self._known: dict[tuple[tuple[str, int], ...], bool] = {}

    def __call__(self, sizes: Sizes) -> bool:
        key = tuple(sorted(sizes.items()))
        if key not in self._known:
            if len(self._known) >= MOST:
                return False
            self._known[key] = self._runs(sizes)
        return self._known[key]


def find(groups: Sequence[str], runs: Runs) -> tuple[Sizes, Sizes, Sizes] | None:
    """Min, opt and max of each group, all of them tried; None if no size was found that runs.

    Args:
        groups: names of the groups, that of the batch first if there is one.
        runs: whether the model runs with these sizes.
    """
    tries = _Budget(runs)
    base = _first(groups, tries)
    if base is None:
        return None
    least = dict(base)
    for group in groups:
        least = _least(group, least, tries)
    best = _larger(groups, least, tries)
    return least, best, _larger(groups, best, tries)


def _first(groups: Sequence[str], tries: _Budget) -> Sizes | None:
    """Sizes that run: all the same, or a batch of one."""
    for size in TRIED:
        for first in dict.fromkeys((1, size)):
            sizes = {group: first if index == 0 and len(groups) > 1 else size for index, group in enumerate(groups)}
            if tries(sizes):
                return sizes
    return None


def _least(group: str, sizes: Sizes, tries: _Budget) -> Sizes:
    """With the least size of one group, the others as they are."""
    below = 0
    for size in TRIED:
        if size >= sizes[group]:
            break
        if tries({**sizes, group: size}):
            return _between(group, below, {**sizes, group: size}, tries)
        below = size
    return _between(group, below, sizes, tries)


def _between(group: str, below: int, sizes: Sizes, tries: _Budget) -> Sizes:
    """With the least size above one that does not run, as if what is valid had no gaps there."""
    found = sizes
    while found[group] - below > 1:
        middle = (found[group] + below) // 2
        if tries({**sizes, group: middle}):
            found = {**sizes, group: middle}
        else:
            below = middle
    return found


def _larger(groups: Sequence[str], sizes: Sizes, tries: _Budget) -> Sizes:
    found = dict(sizes)
    for group in groups:
        for factor in LARGER:
            larger = {**found, group: sizes[group] * factor}
            if tries(larger):
                found = larger
                break
    return found
