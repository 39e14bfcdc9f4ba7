"""What the comparison says, and that it speaks only through its result."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pluginkit.network.networks import Tolerance
from pluginkit.testing.comparison import compare, differing

CLOSE = Tolerance("close", rtol=1e-3, atol=1e-2)
STEPS = Tolerance("steps", rtol=1e-6, atol=1e-6, steps=1, scales={"y": 0.25})
WANT = np.array([[1.0, 2.0], [0.0, 100.0]])


def changed(index: tuple[int, ...], value: float) -> np.ndarray:
    got = WANT.astype(np.float32)
    got[index] = value
    return got


def test_equal_outputs_pass_without_a_word(capfd: pytest.CaptureFixture[str]) -> None:
    result = compare({"y": WANT.astype(np.float32)}, {"y": WANT}, CLOSE)
    assert result.ok
    assert result.message == ""
    assert not compare({"y": changed((0, 0), 2.0)}, {"y": WANT}, CLOSE).ok
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("index", "value", "ok"),
    [((0, 0), 1.0099, True), ((0, 0), 1.0101, False), ((1, 1), 100.099, True), ((1, 1), 100.12, False)],
)
def test_floats_are_within_the_absolute_or_the_relative_tolerance(
    index: tuple[int, ...], value: float, ok: bool
) -> None:
    assert compare({"y": changed(index, value)}, {"y": WANT}, CLOSE).ok is ok


def test_the_message_names_output_index_values_and_tolerance() -> None:
    result = compare({"y": changed((1, 0), 0.5)}, {"y": WANT}, CLOSE)
    assert result.message == (
        "output 'y' is 0.5 at [1, 0], expected 0: off by 0.5, allowed 0.01 (1 of 4 values are off)"
    )
    assert (result.worst.index, result.worst.error, result.worst.unit) == ((1, 0), 0.5, "abs")


def test_polygraphy_sees_whole_arrays() -> None:
    """Its mean and median are of all elements, not of those that differ; values that are right by their kind are 0."""
    result = compare({"y": changed((1, 0), 0.5)}, {"y": WANT}, CLOSE).worst
    assert (result.mean, result.median) == (0.125, 0.0)
    same = compare({"y": WANT.astype(np.float32)}, {"y": WANT}, CLOSE).worst
    assert (same.mean, same.median) == (0.0, 0.0)
    steps = compare({"y": changed((1, 0), 0.25)}, {"y": WANT}, STEPS).worst
    assert (steps.ok, steps.mean) == (True, 0.25)
    odd = np.array([[np.nan, np.inf], [-np.inf, 1.0]])
    got = odd.astype(np.float32)
    got[1, 1] = 1.5
    result = compare({"y": got}, {"y": odd}, CLOSE).worst
    assert (result.ok, result.error, result.mean, result.median) == (False, 0.5, 0.125, 0.0)
    moved = Tolerance("close", moved={"y": np.array([[0.0, 0.0], [0.0, 9.0]])})
    result = compare({"y": changed((1, 1), 108.0)}, {"y": WANT}, moved).worst
    assert (result.ok, result.error, result.mean) == (True, 8.0, 0.0)
    assert compare({"y": np.array([3])}, {"y": np.array([2])}, CLOSE).worst.mean is None


def test_the_error_is_the_largest_of_what_is_beyond_its_tolerance() -> None:
    want = np.array([1e-3, 50.0, 1e6])
    got = want + np.array([0.05, 7.0, 900.0])  # 5 times, 140 times, 0.9 times what is allowed
    result = compare({"y": got.astype(np.float32)}, {"y": want}, CLOSE)
    assert result.worst.index == (1,)
    assert "off by 7, allowed 0.05 (2 of 3 values are off)" in result.message
    within = compare({"y": (want + np.array([0.009, 0.0, 900.0])).astype(np.float32)}, {"y": want}, CLOSE)
    assert (within.ok, within.worst.index) == (True, (2,))
    assert within.worst.error == pytest.approx(900.0, rel=1e-3)


def test_the_output_with_the_largest_error_is_shown_and_a_failing_one_before_it() -> None:
    want = {"a": np.array([1.0]), "b": np.array([1e4])}
    near = {"a": np.array([1.009], np.float32), "b": np.array([10005.0], np.float32)}
    assert compare(near, want, CLOSE).worst.name == "b"
    assert compare({**near, "a": np.array([1.02], np.float32)}, want, CLOSE).worst.name == "a"


@pytest.mark.parametrize(
    ("got", "want", "text"),
    [
        (16.5340004, 16.5339985, "is 16.534 at [0], expected 16.533998: off by"),
        (1.0 + 2**-23, 1.0, "is 1.0000001 at [0], expected 1: off by 1.192e-07, allowed 0"),
        (-0.0, 3.0, "is 0 at [0], expected 3: off by 3, allowed 0"),
    ],
)
def test_numbers_have_the_digits_in_which_they_differ(got: float, want: float, text: str) -> None:
    exact = Tolerance("close")
    assert text in compare({"y": np.array([got], np.float32)}, {"y": np.array([want])}, exact).message


@given(st.floats(width=32, allow_nan=False), st.floats(width=32, allow_nan=False))
def test_two_numbers_that_differ_are_told_apart(one: float, other: float) -> None:
    texts = differing(one, other)
    assert (texts[0] == texts[1]) == (one == other)


@given(
    st.lists(st.tuples(st.floats(-1e3, 1e3, width=32), st.floats(-2, 2, width=32)), min_size=1, max_size=20),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_the_rule_is_the_one_that_is_written_down(pairs: list[tuple[float, float]], rtol: float, atol: float) -> None:
    want = np.array([a for a, _ in pairs])
    got = (want + np.array([b for _, b in pairs])).astype(np.float32)
    off = np.abs(got - want)
    most = np.maximum(atol, rtol * np.abs(want))
    assume((np.abs(off - most) > 1e-9).all())  # on the bound itself a product and a quotient may round differently
    result = compare({"y": got}, {"y": want}, Tolerance("close", rtol=rtol, atol=atol))
    assert result.ok == bool((off <= most).all())
    if not result.ok:
        assert f"({int((off > most).sum())} of {len(pairs)} values are off)" in result.message
        assert result.worst.error == off[off > most].max()


@pytest.mark.parametrize(("value", "ok"), [(1.25, True), (0.75, True), (1.5, False), (1.26, False)])
def test_steps_are_the_outputs_scale(value: float, ok: bool) -> None:
    result = compare({"y": changed((0, 0), value)}, {"y": WANT}, STEPS)
    assert result.ok is ok
    assert result.worst.unit == "steps"
    assert result.worst.allowed == 1
    assert result.worst.error == pytest.approx(abs(value - 1.0) / 0.25)


def test_no_steps_allows_none() -> None:
    exact = Tolerance("steps", steps=0, scales={"y": 0.25})
    assert compare({"y": changed((0, 0), 1.0)}, {"y": WANT}, exact).ok
    result = compare({"y": changed((0, 0), 1.25)}, {"y": WANT}, exact)
    assert result.message.startswith("output 'y' is 1.25 at [0, 0], expected 1: off by 1 step, allowed 0")


def test_outputs_without_scale_compare_as_floats_beside_steps() -> None:
    wrong = WANT.astype(np.float32) + 0.25
    result = compare({"y": wrong, "z": wrong}, {"y": WANT, "z": WANT}, STEPS)
    assert [output.ok for output in result.outputs] == [True, False]
    assert result.worst.name == "z"


@pytest.mark.parametrize(("value", "what"), [(np.nan, "NaN"), (np.inf, "infinite"), (-np.inf, "infinite")])
def test_nan_and_infinity_are_named_with_their_index(value: float, what: str) -> None:
    result = compare({"y": changed((0, 1), value)}, {"y": WANT}, CLOSE)
    assert result.message == f"output 'y' is {what} at [0, 1], expected 2 (1 of 4 values are off so)"
    assert result.worst.index == (0, 1)


def test_what_the_oracle_has_too_is_right() -> None:
    want = np.array([np.nan, np.inf, -np.inf, 1.0])
    assert compare({"y": want.astype(np.float32)}, {"y": want}, CLOSE).ok
    for index, value in ((0, 1.0), (1, -np.inf), (2, 3.0)):
        got = want.astype(np.float32)
        got[index] = value
        result = compare({"y": got}, {"y": want}, CLOSE)
        assert not result.ok
        assert result.worst.index == (index,)


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ({}, "output 'y' is missing"),
        ({"y": np.zeros((2, 3), np.float32)}, "output 'y' has shape [2, 3], expected [2, 2]"),
        ({"y": WANT}, "output 'y' is float64, expected float32"),
        ({"y": WANT.astype(np.int32)}, "output 'y' is int32, expected float32"),
    ],
)
def test_missing_outputs_shapes_and_types(outputs: dict[str, np.ndarray], message: str) -> None:
    result = compare(outputs, {"y": WANT}, CLOSE)
    assert not result.ok
    assert result.message == message
    assert result.worst.error == np.inf


def test_integers_are_equal_or_wrong() -> None:
    want = np.array([1, 2], np.int64)
    assert compare({"y": want.astype(np.int32)}, {"y": want}, CLOSE).ok
    assert not compare({"y": np.array([1, 3], np.int32)}, {"y": want}, CLOSE).ok
    message = compare({"y": want.astype(np.float32)}, {"y": want}, CLOSE).message
    assert message == "output 'y' is float32, expected integers"


def test_integers_of_64_bits_differ_where_float64_does_not_show_it() -> None:
    want = np.array([2**62, -(2**62), 7])
    assert compare({"y": want}, {"y": want}, CLOSE).ok
    result = compare({"y": want + np.array([1, 0, 0])}, {"y": want}, CLOSE)
    assert not result.ok
    assert result.worst.index == (0,)
    assert "off by 1, allowed 0 (1 of 3 values are off)" in result.message


def test_empty_outputs_have_nothing_wrong() -> None:
    assert compare({"y": np.zeros((0, 3), np.float32)}, {"y": np.zeros((0, 3))}, CLOSE).ok
