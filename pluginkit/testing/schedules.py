"""The orders that CUDA leaves open, in which a right plugin gives the same outputs: a case runs in several of them."""

from __future__ import annotations

from dataclasses import dataclass

_SPREAD = 1_000_003
"""Between the seeds of two runs, so that they share no order unless one has very many."""


@dataclass(frozen=True)
class Schedule:
    """How target cpu runs a case.

    Attributes:
        order: of a kernel's blocks and threads: `forward`, `reverse`, or the seed of a random one.
        deferred: whether streams do nothing before somebody waits for them.
    """

    order: str = "forward"
    deferred: bool = False

    @property
    def words(self) -> str:
        """For people; empty for the order that all cases run in first."""
        if self.order == "forward":
            return "with streams that do nothing before somebody waits" if self.deferred else ""
        if self.order == "reverse":
            return "with blocks and threads in reverse order"
        return f"with blocks and threads in the random order of seed {self.order}"


def schedules(count: int, seed: int, *, deferred: bool) -> tuple[Schedule, ...]:
    """How each case runs: in order; with deferred streams if asked; for a count also in reverse and in random orders.

    There are `count` random orders, which follow from `seed`.
    """
    found = [Schedule()]
    if deferred or count:
        found.append(Schedule(deferred=True))
    if count:
        found.append(Schedule("reverse"))
    found += [Schedule(str(seed * _SPREAD + number)) for number in range(1, count + 1)]
    return tuple(found)
