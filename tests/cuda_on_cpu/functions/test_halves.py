"""Functions of half and bfloat16: on every one of their 65536 values, or on many pairs of them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from .conftest import Array, Family, Load
from .exact import BFLOAT, DIRECTIONS, HALF, Format, integer, rounded
from .values import signed

pytestmark = pytest.mark.compile

ALL = np.arange(65536, dtype=np.uint16)
FORMATS = [("half", HALF), ("bfloat", BFLOAT)]
_RANGES = {
    "int": (-(2**31), 2**31 - 1),
    "uint": (0, 2**32 - 1),
    "short": (-(2**15), 2**15 - 1),
    "ushort": (0, 2**16 - 1),
    "ll": (-(2**63), 2**63 - 1),
    "ull": (0, 2**64 - 1),
}


def decoded(bits: Array, form: Format) -> Array:
    """The numbers, as doubles."""
    with np.errstate(invalid="ignore"):  # of NaNs that signal
        if form is HALF:
            return bits.view(np.float16).astype(np.float64)
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def _units(got: Array, wanted: Array, form: Format) -> Array:
    """How many units of the last place lie between, where both are finite."""
    size = np.maximum(np.abs(wanted), 2.0 ** (form.lowest - 1))
    return np.abs(got - wanted) / 2.0 ** (np.floor(np.log2(size)) + 1 - form.digits)


_FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "htrunc": np.trunc,
    "hceil": np.ceil,
    "hfloor": np.floor,
    "hrint": np.rint,
    "hsqrt": np.sqrt,
    "hrsqrt": lambda x: 1 / np.sqrt(x),
    "hrcp": lambda x: 1 / x,
    "hlog": np.log,
    "hlog2": np.log2,
    "hlog10": np.log10,
    "hexp": np.exp,
    "hexp2": np.exp2,
    "hexp10": lambda x: 10.0**x,
    "hcos": np.cos,
    "hsin": np.sin,
    "htanh": np.tanh,
}


@pytest.mark.parametrize(("name", "form"), FORMATS)
def test_functions_of_all_values(load: Load, name: str, form: Format) -> None:
    family = Family(load("halves"), f"{name}_functions", np.uint16, np.uint16)
    x = decoded(ALL, form)
    assert set(_FUNCTIONS) <= set(family.names)
    for function, expected in _FUNCTIONS.items():
        got = decoded(family(function, ALL), form)
        with np.errstate(all="ignore"):
            wanted = expected(x)
            rounded_ = wanted.astype(np.float16).astype(np.float64) if form is HALF else wanted
        known = np.isfinite(rounded_) & np.isfinite(got)
        np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted), err_msg=function)
        assert _units(got[known], wanted[known], form).max() <= 1, function


@pytest.mark.parametrize(("name", "form"), FORMATS)
def test_arithmetic_is_rounded_once(load: Load, name: str, form: Format) -> None:
    family = Family(load("halves"), f"{name}_functions", np.uint16, np.uint16)
    random = np.random.default_rng(3)
    columns = [random.integers(0, 65536, 3000, dtype=np.uint16) for _ in range(3)]
    a, b, c = (decoded(column, form) for column in columns)
    known = np.isfinite(a) & np.isfinite(b) & np.isfinite(c) & (b != 0)
    columns = [column[known] for column in columns]
    rows = [
        tuple(map(Fraction, row)) for row in zip(a[known].tolist(), b[known].tolist(), c[known].tolist(), strict=True)
    ]
    exact: dict[str, Callable[[Fraction, Fraction, Fraction], Fraction]] = {
        "hfma": lambda x, y, z: x * y + z,
        "hfma_sat": lambda x, y, z: min(max(x * y + z, Fraction(0)), Fraction(1)),
        "hfma_relu": lambda x, y, z: max(x * y + z, Fraction(0)),
        "hadd": lambda x, y, z: x + y,
        "hmul": lambda x, y, z: x * y,
        "hdiv": lambda x, y, z: x / y,
        "hmax": lambda x, y, z: max(x, y),
        "hmin_nan": lambda x, y, z: min(x, y),
        "ldg": lambda x, y, z: x,
    }
    for function, expected in exact.items():
        got = decoded(family(function, *columns), form)
        wanted = [rounded(expected(*row), form) for row in rows]
        if function == "hdiv":  # within a unit, as CUDA's documentation of __hdiv doesn't promise more
            finite = np.isfinite(wanted) & np.isfinite(got)
            assert _units(got[finite], np.array(wanted)[finite], form).max() <= 1
        else:
            np.testing.assert_array_equal(got, wanted, err_msg=function)


@pytest.mark.parametrize(("name", "form"), FORMATS)
def test_pairs(load: Load, name: str, form: Format) -> None:
    family = Family(load("halves"), f"{name}_pairs", np.uint32, np.uint16)
    singles = Family(load("halves"), f"{name}_functions", np.uint16, np.uint16)
    random = np.random.default_rng(5)
    a, b, c = (random.integers(0, 65536, 3000, dtype=np.uint16) for _ in range(3))

    def same(pair: str, low: Array, high: Array) -> None:
        both = family(pair, a, b, c)
        for got, wanted in ((both & 0xFFFF, low), (both >> 16, high)):
            left, right = decoded(got.astype(np.uint16), form), decoded(wanted, form)
            np.testing.assert_array_equal(left, right, err_msg=pair)

    for pair, single in (("h2exp", "hexp"), ("h2floor", "hfloor"), ("h2rcp", "hrcp")):
        same(pair, singles(single, a), singles(single, b))
    for pair, single in (("hfma2", "hfma"), ("hfma2_sat", "hfma_sat"), ("hfma2_relu", "hfma_relu")):
        same(pair, singles(single, a, b, c), singles(single, b, c, a))
    same("hadd2", singles("hadd", a, b), singles("hadd", b, c))


def test_to_integers(load: Load) -> None:
    family = Family(load("halves"), "to_integers", np.int64, np.uint16)
    for name in family.names:
        stem, _, direction = name.rpartition("_")
        source, _, target = stem.partition("162" if stem.startswith("bfloat") else "2")
        form = BFLOAT if source == "bfloat" else HALF
        x = decoded(ALL, form)
        low, high = _RANGES[target]
        got = family(name, ALL)
        for value, found in zip(x[::7].tolist(), got[::7].tolist(), strict=True):
            if np.isfinite(value):
                wanted = min(max(integer(Fraction(value), direction), low), high)
                assert (found - wanted) % 2**64 == 0, (name, value)
        assert {each.rpartition("_")[2] for each in family.names} == set(DIRECTIONS)


def test_from_integers(load: Load) -> None:
    family = Family(load("halves"), "from_integers", np.uint16, np.int64)
    column = signed(2000, 8)
    for name in family.names:
        stem, _, direction = name.rpartition("_")
        source, _, target = stem.partition("2")
        form = BFLOAT if target.startswith("bfloat") else HALF
        low, high = _RANGES[source]
        bits = {"int": 32, "uint": 32, "short": 16, "ushort": 16, "ll": 64, "ull": 64}[source]
        got = decoded(family(name, column), form)
        for value, found in zip(column.tolist(), got.tolist(), strict=True):
            given = (value - low) % 2**bits + low
            assert given <= high
            assert found == rounded(Fraction(given), form, direction), (name, given)
