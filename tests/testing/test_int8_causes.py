"""A mistake planted in INT8 arithmetic is named; where none was planted, none is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pluginkit.testing import int8_causes
from pluginkit.testing.int8_causes import Causes

Array = np.ndarray
SCALES = st.tuples(st.floats(0.01, 0.4), st.floats(1.6, 4.0), st.booleans()).map(
    lambda drawn: (drawn[0], drawn[0] * drawn[1]) if drawn[2] else (drawn[0] * drawn[1], drawn[0])
)
"""The input's and the output's, which differ."""


def saturated(steps: Array) -> Array:
    return np.clip(steps, -128, 127)


def wrapped(steps: Array) -> Array:
    return (steps.astype(np.int64) + 128) % 256 - 128


def quantized(numbers: Array, scale: float) -> Array:
    return saturated(np.rint(numbers / scale))


def leaky(numbers: Array) -> Array:
    return np.where(numbers >= 0, numbers, 0.5 * numbers)


def values(x: float, seed: int, count: int = 300) -> Array:
    """An INT8 input's numbers, some at both ends of its range."""
    rng = np.random.default_rng(seed)
    steps = np.rint(np.clip(rng.normal(0, 60, count), -128, 127))
    steps[:8] = (127, -128, 127, -128, 0, 1, -1, 64)
    return steps * x


def found(got: Array, x: float, y: float, seed: int, right: Callable[[Array], Array] = leaky) -> Causes:
    expected = quantized(right(values(x, seed)), y)
    return int8_causes.find(got * y, expected * y, "y", y, {"x": x}, {"y": y})


FEW = settings(max_examples=20)
SEEDS = st.integers(0, 2**16)


@FEW
@given(SCALES, SEEDS)
def test_another_tensors_scale(scales: tuple[float, float], seed: int) -> None:
    x, y = scales
    # A scale of nearly 1 looks as if it were ignored.
    assume(min(abs(x - 1), abs(y - 1)) > 0.02)
    fitting = found(quantized(leaky(values(x, seed)), x), x, y, seed).fitting
    assert any(one.startswith("'y' is quantized with the scale of 'x'") for one in fitting)
    # For a layer whose outputs grow with its inputs these are one and the same.
    assert fitting == found(quantized(leaky(values(x, seed)) * y / x, y), x, y, seed).fitting
    assert any(one.startswith("'x' is read with the scale of 'y'") for one in fitting)


@FEW
@given(st.floats(0.02, 0.4), st.floats(0.02, 0.3), SEEDS)
def test_a_scale_ignored(x: float, y: float, seed: int) -> None:
    # The output's range is wide enough for some steps to be left of it.
    y = max(y, 0.06)
    right = lambda numbers: leaky(numbers) * (100 * y / (127 * x))  # noqa: E731
    fitting = found(saturated(np.rint(right(values(x, seed)))), x, y, seed, right).fitting
    assert any("the scale of 'y'" in one and "ignored" in one for one in fitting)


@FEW
@given(st.floats(1.2, 30.0), SEEDS)
def test_a_scale_cut_to_an_integer(y: float, seed: int) -> None:
    x = 1.37 * y
    cut = np.trunc(y)
    got = found(quantized(leaky(values(x, seed)), cut), x, y, seed)
    if y / cut > 1.05:
        text = "is cut to an integer" if cut > 1 else "is ignored, as if it were 1"
        assert any("scale of 'y'" in one and text in one for one in got.fitting)


@FEW
@given(SCALES, SEEDS)
def test_a_scale_cut_to_zero(scales: tuple[float, float], seed: int) -> None:
    x, y = min(scales[0], 0.9), min(scales[1], 0.9)
    number = leaky(values(x, seed))
    ends = np.where(number > 0, 127, -128)
    assert any("scale of 'y'" in one and "cut to an integer, 0" in one for one in found(ends, x, y, seed).fitting)
    assert any("all is 0: the scale of 'x'" in one for one in found(np.zeros(300), x, y, seed).fitting)


@FEW
@given(st.floats(0.02, 2.0), st.floats(1.4, 1.9), SEEDS)
def test_no_saturation(x: float, more: float, seed: int) -> None:
    y = x / more
    (one,) = found(wrapped(np.rint(leaky(values(x, seed)) / y)), x, y, seed).fitting
    assert one.startswith("'y' does not saturate")


@FEW
@given(SCALES, SEEDS, st.integers(-90, -16), st.integers(16, 120))
def test_other_bounds(scales: tuple[float, float], seed: int, low: int, high: int) -> None:
    x, y = scales[1], scales[1] / 1.5
    got = np.clip(quantized(leaky(values(x, seed)), y), low, high)
    assert f"'y' is clipped at {low} and {high}, not at -128 and 127" in found(got, x, y, seed).fitting


@FEW
@given(SCALES, SEEDS)
def test_truncation_and_rounding_down(scales: tuple[float, float], seed: int) -> None:
    x, y = scales[0], scales[0] / 1.371
    number = leaky(values(x, seed)) / y
    assert found(saturated(np.trunc(number)), x, y, seed).fitting == (
        "'y' is cut off towards zero, not rounded to the nearest",
    )
    assert found(saturated(np.floor(number)), x, y, seed).fitting == (
        "'y' is rounded down, not rounded to the nearest",
    )


@FEW
@given(SCALES, SEEDS, st.integers(-90, 90).filter(lambda k: abs(k) > 1))
def test_an_offset(scales: tuple[float, float], seed: int, offset: int) -> None:
    x, y = scales
    number = leaky(values(x, seed)) / y
    (one,) = found(saturated(np.rint(number) + offset), x, y, seed).fitting
    assert one.startswith(f"'y' is {offset:+d} steps off all over")


@FEW
@given(SCALES, SEEDS)
def test_an_unsigned_type(scales: tuple[float, float], seed: int) -> None:
    x, y = scales
    stored = np.clip(np.rint(leaky(values(x, seed)) / y) + 128, 0, 255).astype(np.uint8).astype(np.int8)
    fitting = found(stored.astype(np.float64), x, y, seed).fitting
    assert "'y' is stored as an unsigned type with a zero point of 128" in fitting


WRONG: dict[str, Callable[[Array, np.random.Generator], Array]] = {
    "noise": lambda right, rng: rng.integers(-128, 128, right.shape),
    "another order": lambda right, rng: rng.permutation(right),
    "a wrong sign": lambda right, rng: saturated(-right),
    "half of the tensor": lambda right, rng: np.where(np.arange(right.size) < right.size // 2, right, 3),
    "a constant": lambda right, rng: np.full(right.shape, 17),
    "the negative ones": lambda right, rng: saturated(np.where(right < 0, 1.7 * right, right)),
    "a square": lambda right, rng: saturated(np.rint(right * right / 64)),
    "every fourth": lambda right, rng: np.where(np.arange(right.size) % 4 == 3, 0, right),
    "what is right": lambda right, rng: right,
}


@pytest.mark.parametrize("wrong", WRONG)
@FEW
@given(scales=SCALES, seed=SEEDS)
def test_what_is_none_of_them_is_not_named(wrong: str, scales: tuple[float, float], seed: int) -> None:
    x, y = scales
    got = WRONG[wrong](quantized(leaky(values(x, seed)), y), np.random.default_rng(seed))
    assert found(got, x, y, seed).fitting == ()


@FEW
@given(SCALES, SEEDS, st.integers(1, 3))
def test_a_few_values_tell_nothing(scales: tuple[float, float], seed: int, count: int) -> None:
    x, y = scales
    right = quantized(leaky(values(x, seed)), y)[:count]
    got = quantized(leaky(values(x, seed)), x)[:count]
    assert int8_causes.find(got * y, right * y, "y", y, {"x": x}, {"y": y}) == Causes((), enough=False)


def test_what_is_no_int8_is_left_alone() -> None:
    right = np.arange(-60.0, 60.0)
    for got in (right + 0.3, right * 3, np.full(120, np.nan), np.zeros((2, 60))[:1]):
        assert not int8_causes.find(got, right, "y", 1.0, {}, {"y": 1.0}).enough


def test_the_words() -> None:
    assert int8_causes.describe(Causes((), enough=False), alone=True) == ""
    assert int8_causes.describe(Causes((), enough=True), alone=False) == ""
    assert int8_causes.describe(Causes((), enough=True), alone=True).startswith(
        "no usual INT8 mistake gives these values"
    )
    assert int8_causes.describe(Causes(("a", "b"), enough=True), alone=False) == ("likely cause: a\n  or: b")
