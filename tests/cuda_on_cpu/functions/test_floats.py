"""Arithmetic in four directions and conversions, exactly; mathematical functions, within units of the last place."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from .conftest import Array, Family, Load
from .exact import DIRECTIONS, DOUBLE, FLOAT, Format, integer, root, rounded
from .values import doubles, floats, signed

pytestmark = pytest.mark.compile

COUNT = 700
_ARITHMETIC: dict[str, Callable[[Fraction, Fraction, Fraction], Fraction | None]] = {
    "add": lambda a, b, c: a + b,
    "sub": lambda a, b, c: a - b,
    "mul": lambda a, b, c: a * b,
    "div": lambda a, b, c: a / b if b else None,
    "ma": lambda a, b, c: a * b + c,
    "rcp": lambda a, b, c: 1 / a if a else None,
    "rsqrt": lambda a, b, c: root(1 / a) if a > 0 else None,
    "sqrt": lambda a, b, c: root(a) if a >= 0 else None,
}


def _exactly(family: Family, form: Format, columns: list[Array]) -> None:
    rows = [tuple(map(Fraction, row)) for row in zip(*(column.tolist() for column in columns), strict=True)]
    for name in family.names:
        stem, _, direction = name.rpartition("_")
        operation = next((each for each in _ARITHMETIC if stem.endswith((each, f"{each}f"))), None)
        if operation is None:
            continue
        got = family(name, *columns)
        for row, value in zip(rows, got.tolist(), strict=True):
            exact = _ARITHMETIC[operation](*row)
            assert exact is None or value == rounded(exact, form, direction), (name, [float(x) for x in row])


def test_float_arithmetic(load: Load) -> None:
    family = Family(load("floats"), "float_exact", np.float32, np.float32)
    assert {name.rpartition("_")[2] for name in family.names} == set(DIRECTIONS)
    _exactly(family, FLOAT, [floats(COUNT, seed) for seed in (1, 2, 3)])


def test_double_arithmetic(load: Load) -> None:
    family = Family(load("floats"), "double_exact", np.float64, np.float64)
    _exactly(family, DOUBLE, [doubles(COUNT, seed) for seed in (1, 2, 3)])


_RANGES = {"int": (-(2**31), 2**31 - 1), "uint": (0, 2**32 - 1), "ll": (-(2**63), 2**63 - 1), "ull": (0, 2**64 - 1)}


@pytest.mark.parametrize("source", ["float", "double"])
def test_to_integers(load: Load, source: str) -> None:
    kind, values = (np.float32, floats) if source == "float" else (np.float64, doubles)
    family = Family(load("floats"), f"from_{source}", np.int64, kind)
    column = values(COUNT, 5)
    for name in family.names:
        stem, _, direction = name.rpartition("_")
        if direction not in DIRECTIONS:
            continue
        low, high = _RANGES[stem.partition("2")[2]]
        for value, got in zip(column.tolist(), family(name, column).tolist(), strict=True):
            wanted = min(max(integer(Fraction(value), direction), low), high)
            assert (got - wanted) % 2**64 == 0, (name, value)


def test_bits(load: Load) -> None:
    column = floats(COUNT, 6)
    family = Family(load("floats"), "from_float", np.int64, np.float32)
    assert family("float_as_int", column).tolist() == column.view(np.int32).tolist()
    assert family("float_as_uint", column).tolist() == column.view(np.uint32).tolist()
    wide = doubles(COUNT, 6)
    family = Family(load("floats"), "from_double", np.int64, np.float64)
    assert family("double_as_longlong", wide).tolist() == wide.view(np.int64).tolist()
    assert family("double2hiint", wide).tolist() == (wide.view(np.int64) >> 32).tolist()
    assert family("double2loint", wide).tolist() == wide.view(np.int64).astype(np.int32).tolist()


_SOURCES: dict[str, Callable[[int], Fraction | None]] = {
    "int": lambda x: Fraction(int(np.int64(x).astype(np.int32))),
    "uint": lambda x: Fraction(x % 2**32),
    "ll": Fraction,
    "ull": lambda x: Fraction(x % 2**64),
    "double": lambda x: _finite(float(np.int64(x).view(np.float64))),
}


def _finite(x: float) -> Fraction | None:
    return Fraction(x) if math.isfinite(x) else None


@pytest.mark.parametrize(("target", "kind", "form"), [("float", np.float32, FLOAT), ("double", np.float64, DOUBLE)])
def test_from_integers(load: Load, target: str, kind: type, form: Format) -> None:
    family = Family(load("floats"), f"to_{target}", kind, np.int64)
    column = signed(COUNT, 7)
    for name in family.names:
        stem, _, direction = name.rpartition("_")
        if direction not in DIRECTIONS:
            continue
        source = _SOURCES[stem.partition("2")[0]]
        for value, got in zip(column.tolist(), family(name, column).tolist(), strict=True):
            exact = source(value)
            assert exact is None or got == rounded(exact, form, direction), (name, value)


def _bessel(n: int, x: float) -> float:
    """I_n(x) by its power series; enough terms for |x| <= 20."""
    return math.fsum((x / 2) ** (2 * k + n) / (math.factorial(k) * math.factorial(k + n)) for k in range(90))


def _scaled_erfc(x: float) -> float:
    return math.exp(x * x) * math.erfc(x)


# name -> (the function, from, to)
FUNCTIONS: dict[str, tuple[Callable[[float], float], float, float]] = {
    "rsqrt": (lambda x: x**-0.5, 1e-30, 1e30),
    "rsqrt_overload": (lambda x: x**-0.5, 1e-30, 1e30),
    "rcbrt": (lambda x: x ** (-1 / 3), 1e-30, 1e30),
    "sinpi": (lambda x: math.sin(math.pi * x), -0.49, 0.49),
    "cospi": (lambda x: math.cos(math.pi * x), -0.45, 0.45),
    "exp10": (lambda x: 10.0**x, -30, 30),
    "erfcx": (_scaled_erfc, -3, 20),
    "normcdf": (lambda x: 0.5 * math.erfc(-x / math.sqrt(2)), -8, 8),
    "cyl_bessel_i0": (lambda x: _bessel(0, x), -20, 20),
    "cyl_bessel_i1": (lambda x: _bessel(1, x), 0.01, 20),
    "saturate": (lambda x: min(max(x, 0.0), 1.0), -2, 2),
    "fast_exp": (math.exp, -80, 80),
    "fast_exp10": (lambda x: 10.0**x, -30, 30),
    "fast_log": (math.log, 2, 1e30),
    "fast_log2": (math.log2, 2, 1e30),
    "fast_log10": (math.log10, 2, 1e30),
    "fast_sin": (math.sin, -3, 3),
    "fast_cos": (math.cos, -1.5, 1.5),
    "fast_tan": (math.tan, -1.5, 1.5),
    "abs": (abs, -5, 5),
}


FAST_RELATIVE, FAST_ABSOLUTE = 1.2e-5, 5e-7
"""What the CUDA programming guide promises of __expf, __exp10f, __sinf, ... on a GPU, in the ranges above: up to 96
units in the last place, and 2^-21.19."""


def _spread(low: float, high: float, kind: type) -> Array:
    random = np.random.default_rng(9)
    if low > 0 and high / low > 1e6:
        return (10 ** random.uniform(math.log10(low), math.log10(high), COUNT)).astype(kind)
    return random.uniform(low, high, COUNT).astype(kind)


@pytest.mark.parametrize("source", ["float", "double"])
def test_functions_of_one_number(load: Load, source: str, on_gpu: bool) -> None:
    kind, error = (np.float32, 1e-6) if source == "float" else (np.float64, 1e-13)
    family = Family(load("floats"), f"{source}_functions", kind, kind)
    tried = [name for name in family.names if name in FUNCTIONS]
    assert len(tried) >= (20 if source == "float" else 8)
    for name in tried:
        function, low, high = FUNCTIONS[name]
        column = _spread(low, high, kind)
        wanted = [function(x) for x in column.tolist()]
        fast = on_gpu and name.startswith("fast_")
        near, tiny = (FAST_RELATIVE, FAST_ABSOLUTE) if fast else (error, error * 1e-3)
        np.testing.assert_allclose(family(name, column), wanted, rtol=near, atol=tiny, err_msg=name)


@pytest.mark.parametrize("source", ["float", "double"])
def test_inverses(load: Load, source: str) -> None:
    kind, error = (np.float32, 2e-6) if source == "float" else (np.float64, 1e-13)
    family = Family(load("floats"), f"{source}_functions", kind, kind)
    y = np.random.default_rng(4).uniform(0.001, 0.999, COUNT).astype(kind)
    for name, back in {
        "erfinv": math.erf,
        "erfcinv": math.erfc,
        "normcdfinv": lambda x: 0.5 * math.erfc(-x / math.sqrt(2)),
    }.items():
        found = family(name, y).astype(np.float64)
        np.testing.assert_allclose([back(x) for x in found.tolist()], y, rtol=error * 4, err_msg=name)


@pytest.mark.parametrize("source", ["float", "double"])
def test_lengths(load: Load, source: str) -> None:
    kind, error = (np.float32, 5e-7) if source == "float" else (np.float64, 1e-15)
    family = Family(load("floats"), f"{source}_functions", kind, kind)
    a, b, c = (np.random.default_rng(seed).standard_normal(COUNT).astype(kind) for seed in (1, 2, 3))
    wanted = {
        "rhypot": lambda x, y, z: 1 / math.hypot(x, y),
        "norm3d": math.hypot,
        "rnorm3d": lambda x, y, z: 1 / math.hypot(x, y, z),
        "norm4d": lambda x, y, z: math.hypot(x, y, z, x),
        "rnorm4d": lambda x, y, z: 1 / math.hypot(x, y, z, x),
        "norm": lambda x, y, z: math.hypot(x, y, z, x, y),
    }
    for name in family.names:
        if name in wanted:
            rows = zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
            np.testing.assert_allclose(
                family(name, a, b, c), [wanted[name](*row) for row in rows], rtol=error, err_msg=name
            )


def test_special_values(load: Load, on_gpu: bool) -> None:
    family = Family(load("floats"), "float_functions", np.float32, np.float32)
    nan, inf = math.nan, math.inf
    a = np.array([nan, inf, -inf, 0.0, -0.0, -1.5], np.float32)
    assert family("classes", a).tolist() in ([1, 2, 10, 4, 12, 12], [9, 2, 10, 4, 12, 12])  # a NaN of either sign
    assert family("saturate", a).tolist() == [0, 1, 0, 0, 0, 0]  # NaN becomes 0
    b = np.array([1.0, nan, 2.0, -0.0, 3.0, -7.0], np.float32)
    assert family("min", a, b).tolist() == [1, inf, -inf, 0, 0, -7]  # the number where the other is NaN
    assert family("max", a, b).tolist() == [1, inf, 2, 0, 3, -1.5]
    np.testing.assert_array_equal(family("rsqrt", a), np.array([nan, 0, nan, inf, -inf, nan], np.float32))
    divided = family("fast_divide", a, b)[3:]
    # On a GPU it is right to two units in the last place.
    np.testing.assert_allclose(divided, np.array([nan, 0, 1.5 / 7], np.float32), rtol=2.4e-7 if on_gpu else 0)
