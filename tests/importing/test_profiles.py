"""--profile."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluginkit.errors import UsageError
from pluginkit.importing import profiles
from pluginkit.runtimes.verdict import ModelInput

X = ModelInput("x", (-1, 3, -1), False, "FLOAT")
TRIPS = ModelInput("trips", (), True, "INT64")
COUNT = ModelInput("count", (), False, "INT64")


@pytest.mark.parametrize(
    ("text", "name", "points"),
    [
        ("x:min=1x3x2,opt=2x3x4,max=8x3x8", "x", ((1, 3, 2), (2, 3, 4), (8, 3, 8))),
        ("x:max=8x3x8,min=1x3x2,opt=2x3x4", "x", ((1, 3, 2), (2, 3, 4), (8, 3, 8))),
        ("x:2x3x4", "x", ((2, 3, 4),) * 3),
        ("x:min=1,max=8", "x", ((1,), (8,), (8,))),
        ("x:opt=3", "x", ((3,),) * 3),
        ("scope/in:0:min=1,opt=2,max=3", "scope/in:0", ((1,), (2,), (3,))),
    ],
)
def test_forms(text: str, name: str, points: object) -> None:
    assert profiles.parse(text) == profiles.Shapes(name, points)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "x:",
        ":1x2",
        "x:a",
        "x:min=1,2",
        "x:mid=1",
        "x:min=1,min=2",
        "x:min=2,opt=1,max=3",
        "x:min=1,opt=1x2",
        "x:--1",
        "x:1x-",
        "x:1-x2",
        f"x:{2**63}",
        f"x:{-(2**63) - 1}",
        # Python reads no integers of so many digits.
        f"x:{'9' * 5000}",
    ],
)
def test_what_is_no_profile(text: str) -> None:
    with pytest.raises(UsageError, match="--profile"):
        profiles.parse(text)


def test_defaults() -> None:
    made = profiles.profile([X, TRIPS], [])
    assert made.shapes["x"] == ((1, 3, 1), (4, 3, 4), (16, 3, 16))
    assert made.values == {"trips": ((1,), (4,), (16,))}
    assert profiles.defaulted([X, TRIPS, COUNT], []) == ["x", "trips"]
    assert profiles.defaulted([X], [profiles.parse("x:1x3x1")]) == []


def test_values() -> None:
    made = profiles.profile([TRIPS, COUNT], [profiles.parse("trips:min=0,opt=2,max=9"), profiles.parse("count:3")])
    assert made.values == {"trips": ((0,), (2,), (9,)), "count": ((3,), (3,), (3,))}
    assert made.shapes["count"] == ((), (), ())
    below = profiles.profile([TRIPS], [profiles.parse("trips:min=-4,opt=-1,max=2")])
    assert below.values == {"trips": ((-4,), (-1,), (2,))}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("xx:1x3x1", "Is x meant"),
        ("zzz:1", "The inputs are x, trips"),
        ("x:1x3", "has 3 dimensions"),
        ("x:1x4x1", "dimension 1 of x is fixed as 3"),
        ("trips:1x2", "has 1 values"),
        ("x:min=-1x3x1,opt=1x3x1,max=2x3x1", "min gives dimension 0 of x the size -1"),
    ],
)
def test_what_does_not_fit_the_model(text: str, expected: str) -> None:
    with pytest.raises(UsageError) as error:
        profiles.profile([X, TRIPS], [profiles.parse(text)])
    assert expected in str(error.value)


@given(st.text(max_size=30))
def test_any_text_is_a_profile_or_an_error(text: str) -> None:
    try:
        low, best, high = profiles.parse(text).points
    except UsageError:
        return
    assert all(a <= b <= c for a, b, c in zip(low, best, high, strict=True))
