"""Two 16-bit or four 8-bit numbers in a word: against NumPy's narrow integers and Python's."""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .conftest import Family, Load
from .values import words

pytestmark = pytest.mark.compile

_COMPARISONS = {
    "eq": operator.eq,
    "ne": operator.ne,
    "ge": operator.ge,
    "gt": operator.gt,
    "le": operator.le,
    "lt": operator.lt,
}
_BOTH = {
    "vadd": operator.add,
    "vaddss": operator.add,
    "vaddus": operator.add,
    "vsub": operator.sub,
    "vsubss": operator.sub,
    "vsubus": operator.sub,
    # To the nearest, halves away from zero (signed).
    "vavgs": lambda x, y: np.where(x + y >= 0, x + y + 1, x + y) >> 1,
    "vavgu": lambda x, y: x + y + 1 >> 1,
    "vhaddu": lambda x, y: x + y >> 1,
    "vabsdiffs": lambda x, y: abs(x - y),
    "vabsdiffu": lambda x, y: abs(x - y),
    "vmaxs": np.maximum,
    "vmaxu": np.maximum,
    "vmins": np.minimum,
    "vminu": np.minimum,
    "vabs": lambda x, y: abs(x),
    "vabsss": lambda x, y: abs(x),
    "vneg": lambda x, y: -x,
    "vnegss": lambda x, y: -x,
}
_SIGNED = {"vabs", "vabsss", "vneg", "vnegss", "vaddss", "vsubss", "vavgs", "vabsdiffs", "vmaxs", "vmins", "vsads"}


def _split(column: np.ndarray, parts: int, is_signed: bool) -> np.ndarray:
    kind = {(2, True): np.int16, (2, False): np.uint16, (4, True): np.int8, (4, False): np.uint8}[parts, is_signed]
    return column.view(kind).reshape(-1, parts).astype(np.int64)


def _joined(parts: np.ndarray) -> np.ndarray:
    kind = np.uint16 if parts.shape[1] == 2 else np.uint8
    return np.ascontiguousarray(parts.astype(kind)).view(np.uint32).ravel()


def _wanted(name: str, parts: int, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if name.startswith(("vcmp", "vset")):
        is_signed = name.endswith("s") and name[4:] in {"ges", "gts", "les", "lts"}
        x, y = (_split(column, parts, is_signed) for column in (a, b))
        true = -1 if name.startswith("vcmp") else 1
        return _joined(np.where(_COMPARISONS[name[4:6]](x, y), true, 0))
    is_signed = name in _SIGNED
    x, y = (_split(column, parts, is_signed) for column in (a, b))
    if name.startswith("vsad"):
        return abs(x - y).sum(axis=1).astype(np.uint32)
    result = np.asarray(_BOTH[name](x, y))
    limits = np.iinfo(f"{'' if is_signed else 'u'}int{32 // parts}")
    if name.endswith(("ss", "us")):
        result = result.clip(limits.min, limits.max)
    return _joined(result)


@pytest.mark.parametrize(("family_name", "parts"), [("two", 2), ("four", 4)])
def test_every_function(load: Load, family_name: str, parts: int) -> None:
    family = Family(load("simd"), family_name, np.uint32, np.uint32)
    a, b = words(5000, 1), words(5000, 2)
    assert len(family.names) == 41
    for name in family.names:
        np.testing.assert_array_equal(family(name, a, b), _wanted(name[:-1], parts, a, b), err_msg=name)


@pytest.mark.parametrize("name", ["vaddss4", "vsubus4", "vavgs4", "vabsdiffu4", "vcmpgts4", "vsads4"])
def test_four_bytes_that_hypothesis_thinks_of(load: Load, name: str) -> None:
    family = Family(load("simd"), "four", np.uint32, np.uint32)

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1)), min_size=1, max_size=40))
    def check(rows: list[tuple[int, int]]) -> None:
        a, b = (np.array(column, np.uint32) for column in zip(*rows, strict=True))
        np.testing.assert_array_equal(family(name, a, b), _wanted(name[:-1], 4, a, b))

    check()


Three = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def _wrapped(x: np.ndarray, kind: type) -> np.ndarray:
    return x.astype(kind).astype(np.int64)


def _three(name: str) -> tuple[Three, type]:
    """What __<name> computes of whole numbers, and their type."""
    operation, form = name.split("_")[:2]
    kind = {"s32": np.int32, "u32": np.uint32, "s16x2": np.int16, "u16x2": np.uint16}[form]
    lowest = 0 if name.endswith("relu") else np.iinfo(kind).min
    choose = np.maximum if "max" in operation else np.minimum

    def compute(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        if operation.startswith("viadd"):
            chosen = choose(_wrapped(x + y, kind), z)
        else:
            chosen = choose(x, y) if operation in {"vimax", "vimin"} else choose(choose(x, y), z)
        return np.maximum(chosen, lowest)

    return compute, kind


def test_three_at_once(load: Load) -> None:
    family = Family(load("simd"), "three", np.uint32, np.uint32)
    columns = [words(3000, seed) for seed in (1, 2, 3)]
    for name in family.names:
        compute, kind = _three(name)
        result = compute(*(column.view(kind).astype(np.int64) for column in columns))
        wanted = result.astype(kind).view(np.uint32)
        np.testing.assert_array_equal(family(name, *columns), wanted, err_msg=name)


@pytest.mark.parametrize("name", ["vibmax_s32", "vibmin_u32", "vibmax_u16x2", "vibmin_s16x2"])
def test_choice_and_which_it_was(load: Load, name: str) -> None:
    family = Family(load("simd"), "chosen", np.uint32, np.uint32)
    a, b = words(3000, 1), words(3000, 2)
    a[::7] = b[::7]
    kind = _three(name)[1]
    x, y = a.view(kind).reshape(a.size, -1), b.view(kind).reshape(a.size, -1)
    first = x >= y if "max" in name else x <= y
    low, high = (first[:, 0], first[:, 1]) if first.shape[1] == 2 else (np.zeros(a.size, bool), first[:, 0])
    flags = np.where(high, 0x50000000, 0) ^ np.where(low, 0x5000, 0)
    chosen = np.ascontiguousarray(np.where(first, x, y)).view(np.uint32).ravel()
    np.testing.assert_array_equal(family(name, a, b), chosen ^ flags.astype(np.uint32))
