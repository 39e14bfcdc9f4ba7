"""Items that are equal in one output may change places in the others, and nothing else may."""

from __future__ import annotations

import numpy as np
import pytest

from pluginkit.evaluators.host.ties import exchanged
from pluginkit.network.networks import Array

SCORES = np.array([[9, 7, 7, 1], [5, 5, 5, 2]], np.float32)
BOXES = np.arange(32, dtype=np.float32).reshape(2, 4, 4)
CLASSES = np.array([[0, 1, 2, 3], [3, 2, 1, 0]], np.int32)
COUNTS = np.array([[4], [4]], np.int32)
DETECTED = {"counts": COUNTS, "boxes": BOXES, "scores": SCORES, "classes": CLASSES}
TIED = ((0, [0, 2, 1, 3]), (1, [2, 0, 1, 3]))
"""Of each image places whose items have equal scores."""


def moved(places: tuple[tuple[int, list[int]], ...], *names: str) -> dict[str, Array]:
    """The outputs, with items of some at other places."""
    found = {name: value.copy() for name, value in DETECTED.items()}
    for image, order in places:
        for name in names:
            found[name][image] = DETECTED[name][image][order]
    return found


def test_equal_scores_come_in_any_order() -> None:
    said = "'boxes' and 'classes' have items in another order that are equal in 'scores'"
    assert exchanged(DETECTED, moved(TIED, "boxes", "classes")) == said


def test_zeros_are_equal_whatever_their_sign() -> None:
    usual = {"score": np.array([0.0, -0.0], np.float32), "place": np.array([0, 1], np.int32)}
    other = {"score": np.array([-0.0, 0.0], np.float32), "place": np.array([1, 0], np.int32)}
    assert exchanged(usual, other) == "'place' has items in another order that are equal in 'score'"


def test_an_axis_that_is_not_the_last() -> None:
    """The best of each column, as TopK of axis 0 has them."""
    values = np.array([[3, 3], [3, 2]], np.float32)
    places = np.array([[0, 1], [1, 0]], np.int32)
    other = np.array([[1, 1], [0, 0]], np.int32)
    assert exchanged({"values": values, "places": places}, {"values": values, "places": other})
    wrong = np.array([[0, 1], [0, 1]], np.int32)
    assert not exchanged({"values": values, "places": places}, {"values": values, "places": wrong})


@pytest.mark.parametrize(
    "other",
    [
        {**DETECTED},
        # Of one item the box moves, and its class does not.
        moved(TIED, "boxes"),
        # Scores that differ.
        moved(((0, [1, 0, 2, 3]),), "boxes", "classes"),
        # The scores as well: what they are sorted by is out of order.
        moved(((0, [1, 0, 2, 3]),), "boxes", "classes", "scores"),
        # Images have one count, and that is nothing they are sorted by.
        {**DETECTED, "boxes": BOXES[::-1].copy(), "classes": CLASSES[::-1].copy(), "scores": SCORES[::-1].copy()},
        {**DETECTED, "boxes": BOXES + np.float32(1)},
        {**DETECTED, "boxes": BOXES[:, :3]},
        {"counts": COUNTS, "boxes": BOXES},
    ],
    ids=["the same", "half", "unequal", "keys", "images", "values", "shape", "names"],
)
def test_anything_else_is_no_exchange(other: dict[str, Array]) -> None:
    assert exchanged(DETECTED, other) == ""


def test_without_a_key_nothing_may_change_places() -> None:
    """Rows that an atomic counter has numbered."""
    rows = np.array([[0, 1], [2, 3]], np.float32)
    assert exchanged({"rows": rows, "count": np.array(2.0)}, {"rows": rows[::-1].copy(), "count": np.array(2.0)}) == ""
