"""INT8 outputs within one step, of which the nearer one is asked for."""

from __future__ import annotations

import numpy as np
import pytest

from pluginkit.network.networks import Tolerance
from pluginkit.testing import rounding

SCALE = 0.5
EXACT = np.array([1.2, -1.2, 2.45, 2.74, -3.6, 200.0, 0.0]) * SCALE
TOLERANCE = Tolerance("steps", steps=1, scales={"y": SCALE})


def problem_of(steps: np.ndarray) -> str:
    expected = {"y": np.clip(np.rint(EXACT / SCALE), -128, 127) * SCALE}
    return rounding.evaluate(
        {"y": (steps * SCALE).astype(np.float32)}, expected, {"y": rounding.clear(EXACT, SCALE)}, TOLERANCE
    )


def test_only_what_is_far_from_the_middle_and_inside_of_the_range_is_clear() -> None:
    assert rounding.clear(EXACT, SCALE).tolist() == [True, True, False, False, False, False, True]
    assert rounding.clear(np.array([np.nan, np.inf]), SCALE).tolist() == [False, False]


@pytest.mark.parametrize("steps", [[1, -1, 2, 3, -4, 127, 0], [1, -1, 3, 2, -3, 126, 0]])
def test_the_nearer_step_is_right_and_both_are_near_the_middle(steps: list[int]) -> None:
    assert problem_of(np.array(steps)) == ""


def test_what_is_cut_is_named() -> None:
    values = np.array([1.8, -1.8, 2.9, 7.0]) * SCALE
    expected = {"y": np.rint(values / SCALE) * SCALE}
    cut = {"y": np.trunc(values / SCALE).astype(np.float32) * SCALE}
    output = rounding.evaluate(cut, expected, {"y": rounding.clear(values, SCALE)}, TOLERANCE)
    assert output.startswith("output 'y' is 1 steps at [0], expected 2:")
    assert "3 of 4 values are so" in output
    assert "All are nearer to zero: a cast cuts" in output


def test_one_beside_is_wrong_whichever_way() -> None:
    output = problem_of(np.array([2, -1, 2, 3, -4, 127, 0]))
    assert "is 2 steps at [0], expected 1" in output
    assert "cuts" not in output


def test_what_is_beyond_an_end_must_be_at_it() -> None:
    values = np.array([-500.0, -128.4, 128.4, 131.0, np.nan, np.inf]) * SCALE
    beyond = rounding.saturated(values, SCALE)
    assert beyond.tolist() == [True, False, False, True, False, True]

    def problem_of(*steps: int) -> str:
        return rounding.short_of_end({"y": (np.array(steps) * SCALE).astype(np.float32)}, {"y": beyond}, TOLERANCE)

    assert problem_of(-128, -127, 126, 127, 0, 127) == ""
    assert problem_of(-127, -128, 127, 127, 0, 127).startswith(
        "output 'y' is -127 steps at [0], and the exact value is beyond -128"
    )
    assert "is 126 steps at [3], and the exact value is beyond 127" in problem_of(-128, -128, 127, 126, 0, 127)
