"""Shapes and values at the edges of what a plugin may be given: every tail of a vector, empty tensors, NaN."""

from __future__ import annotations

COUNT, EMPTY, SPECIAL = "count-", "empty-", "special"
"""What the names of the points begin with."""


def is_edge(point: str) -> bool:
    """Whether a point of that name is one of these."""
    return point.startswith((COUNT, EMPTY, SPECIAL))
