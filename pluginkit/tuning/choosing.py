"""Which set of values is the best, and whether it is more than noise: plain arithmetic on times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import geometric_mean, median

LEAST = 0.005
"""A smaller gain is not worth a line in pluginkit.toml, however small the noise is."""
MOST_ALSO = 3

Times = Mapping[int, Sequence[float]]
"""Seconds of each set, in rounds that took turns; 0 is the usual set."""


def speed(times: Times, number: int) -> float:
    """How many times faster than the usual set, the median over rounds: each is compared with its neighbour in time."""
    return median(usual / one for usual, one in zip(times[0], times[number], strict=True))


def noise(times: Times) -> float:
    """How far the usual set's own rounds are from their median at most, in parts of it."""
    middle = median(times[0])
    return max(abs(one / middle - 1) for one in times[0])


def fastest(cases: Mapping[str, Times]) -> int:
    """The set that is fastest over all cases, by the geometric mean; only one that has times in each."""
    return max(_everywhere(cases), key=lambda number: geometric_mean(speed(times, number) for times in cases.values()))


def _everywhere(cases: Mapping[str, Times]) -> list[int]:
    return sorted(set.intersection(*(set(times) for times in cases.values())))


def confirmed(cases: Mapping[str, Times], best: int) -> tuple[float, float]:
    """The gain of a set over all cases, and the usual set's own noise, of rounds that were measured for that alone.

    The fastest of many is so by luck, too: the rounds in which it was found don't count.
    """
    rounds = range(min(len(times[0]) for times in cases.values()))
    gains = [geometric_mean(times[0][i] / times[best][i] for times in cases.values()) for i in rounds]
    own = [geometric_mean(times[0][i] / median(times[0]) for times in cases.values()) for i in rounds]
    return median(gains), max(abs(one - 1) for one in own)


def is_gain(gain: float, spread: float) -> bool:
    """Whether a gain is above the noise."""
    return gain - 1 > max(spread, LEAST)


def better_somewhere(cases: Mapping[str, Times], best: int) -> list[int]:
    """Sets that are faster in some case than `best` by more than twice the noise there: what is worth a tactic."""
    found: dict[int, float] = {}
    for times in cases.values():
        number = max(times, key=lambda one: speed(times, one))
        lead = speed(times, number) / speed(times, best) - 1 if best in times else 0.0
        if number != best and lead > max(2 * noise(times), 2 * LEAST):
            found[number] = max(lead, found.get(number, 0.0))
    return sorted(sorted(found, key=lambda one: -found[one])[:MOST_ALSO])
