"""Where the errors of a failing case are: kept, and drawn, at the right index."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pluginkit.network.networks import Array, Tolerance
from pluginkit.reporting import picture
from pluginkit.testing import heat
from pluginkit.testing.comparison import compare

TOLERANCE = Tolerance("close", rtol=1e-6, atol=1e-6)


def heat_of(got: Array, want: Array, tolerance: Tolerance = TOLERANCE) -> heat.Heat | None:
    outputs, expected = {"y": got.astype(np.float32)}, {"y": want.astype(np.float64)}
    return heat.of(outputs, expected, tolerance, compare(outputs, expected, tolerance).worst)


@settings(deadline=None)
@given(st.lists(st.integers(1, 5), min_size=0, max_size=5), st.data())
def test_one_wrong_value_is_the_hottest_place(shape: list[int], data: st.DataObject) -> None:
    index = tuple(data.draw(st.integers(0, size - 1)) for size in shape)
    got = np.zeros(shape)
    got[index] = 3.0
    found = heat_of(got, np.zeros(shape))
    assert found is not None
    assert found.index == index
    hot = np.unravel_index(int(np.argmax(found.plane.values)), found.plane.values.shape)
    assert hot == (0, 0, *index)[-2:]
    assert found.plane.values.sum() == 3
    if found.others is None:
        assert np.prod(shape[:-2], dtype=int) == 1
    else:
        assert np.argmax(found.others.values) == np.ravel_multi_index(index[:-2], shape[:-2])
        assert found.others.values.sum() == 3


def test_the_marks_stand_on_the_hottest_squares() -> None:
    got = np.zeros((2, 3, 4, 5, 6))
    got[1, 2, 3, 1, 4] = -7.0
    found = heat_of(got, np.zeros(got.shape))
    assert found is not None
    assert found.where == "y[1, 2, 3, :, :]"
    shown = picture.figure(found).axes[:2]
    for axes, (row, column) in zip(shown, [(1, 4), (1 * 3 + 2, 3)], strict=True):
        (mark,) = [line for line in axes.lines if line.get_gid() == "worst"]
        assert (mark.get_ydata()[0], mark.get_xdata()[0]) == (row, column)
        values = axes.images[0].get_array()
        assert np.unravel_index(int(np.argmax(values)), values.shape) == (row, column)
        assert axes.images[0].norm.vmax == 7


def test_large_outputs_are_joined_and_keep_their_worst_value_and_their_numbers() -> None:
    got = np.zeros((1000, 3))
    got[777, 2] = 5.0
    found = heat_of(got, np.zeros(got.shape))
    assert found is not None
    assert found.plane.values.shape == (250, 3)
    assert found.plane.size == (1000, 3)
    assert found.plane.values[777 // 4, 2] == 5
    assert picture.figure(found).axes[0].images[0].get_extent() == [-0.5, 2.5, 999.5, -0.5]


def test_no_number_is_hotter_than_any_number() -> None:
    got = np.array([1.0, np.nan, np.inf, -np.inf, 9.0])
    found = heat_of(got, np.array([0.0, 0.0, np.inf, np.inf, 0.0]))
    assert found is not None
    assert found.index == (1,)
    np.testing.assert_array_equal(found.plane.values, [[1, np.inf, 0, np.inf, 9]])
    assert picture.png(found).startswith("data:image/png;base64,")


def test_steps() -> None:
    tolerance = Tolerance("steps", steps=1, scales={"y": 0.25})
    found = heat_of(np.array([[0.0, 1.0]]), np.array([[0.25, 0.0]]), tolerance)
    assert found is not None
    assert found.unit == "steps"
    np.testing.assert_array_equal(found.plane.values, [[1, 4]])


@pytest.mark.parametrize("got", [np.zeros((2, 2)), np.zeros(3)])
def test_no_place(got: Array) -> None:
    assert heat_of(got, np.zeros((2, 3))) is None


def test_the_picture_is_the_same_again() -> None:
    found = heat_of(np.arange(6.0).reshape(2, 3), np.zeros((2, 3)))
    assert found is not None
    assert picture.png(found) == picture.png(found)
