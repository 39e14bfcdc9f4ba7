"""What NVIDIA's builder must have shown a plugin: each profile, and bounds of outputs that are not wider."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pluginkit.dtypes import DType
from pluginkit.evaluators.rtx import participation

FLOAT = DType.FLOAT32


def tensor(low: int, best: int, high: int) -> Any:
    return SimpleNamespace(type=FLOAT.code, min=(low,), opt=(best,), max=(high,), format=0)


def record(given: Any, left: Any) -> Any:
    return SimpleNamespace(node="one", inputs=(given,), outputs=(left,))


CALL: Any = SimpleNamespace(
    node="one", live=True, types=(FLOAT,), inputs=((((1,), (2,), (3,)),), (((4,), (5,), (6,)),)), shape_inputs=()
)
NETWORK: Any = SimpleNamespace(calls=[CALL], profiles=[SimpleNamespace(name="small"), SimpleNamespace(name="large")])
SMALL, LARGE = tensor(1, 2, 3), tensor(4, 5, 6)


def test_each_profile_must_be_seen() -> None:
    assert participation.problems(NETWORK, [record(SMALL, SMALL), record(LARGE, LARGE)]) == []
    (problem,) = participation.problems(NETWORK, [record(SMALL, SMALL)])
    assert "profile 'large'" in problem


@pytest.mark.parametrize(
    ("seen", "right"),
    [((1, 2, 3), True), ((2, 2, 2), True), ((0, 2, 3), False), ((1, 2, 4), False), ((1, 3, 3), False)],
)
def test_outputs_have_bounds_that_are_not_wider(seen: tuple[int, int, int], right: bool) -> None:
    given = [record(SMALL, tensor(*seen)), record(LARGE, LARGE)]
    found = participation.problems(NETWORK, given, [record(SMALL, SMALL), record(LARGE, LARGE)])
    assert (found == []) is right
