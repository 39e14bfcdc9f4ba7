"""Bits, wide products, averages, dot products: against Python's integers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .conftest import Family, Load
from .values import longs, words

pytestmark = pytest.mark.compile

_ALL = 2**32 - 1


def _s(x: int, bits: int = 32) -> int:
    x &= (1 << bits) - 1
    return x - (1 << bits) if x >> (bits - 1) else x


def _reverse(x: int, bits: int) -> int:
    return int(f"{x:0{bits}b}"[::-1], 2)


def _first(x: int) -> int:
    return (x & -x).bit_length()


def _nth(mask: int, base: int, n: int) -> int:
    """The place of the n-th set bit from `base` on, as the documentation of __fns says."""
    if n == 0:
        return base if mask >> base & 1 else _ALL
    places = range(base, 32) if n > 0 else range(base, -1, -1)
    found = [place for place in places if mask >> place & 1]
    return found[abs(n) - 1] if len(found) >= abs(n) else _ALL


def _parts(x: int, bits: int, is_signed: bool) -> list[int]:
    parts = [x >> shift & ((1 << bits) - 1) for shift in range(0, 32, bits)]
    return [_s(part, bits) for part in parts] if is_signed else parts


def _permuted(a: int, b: int, selector: int) -> int:
    source = a.to_bytes(4, "little") + b.to_bytes(4, "little")
    return int.from_bytes(bytes(source[selector >> shift & 7] for shift in (0, 4, 8, 12)), "little")


def _dp4a(a: int, b: int, c: int, is_signed: bool) -> int:
    return c + sum(x * y for x, y in zip(_parts(a, 8, is_signed), _parts(b, 8, is_signed), strict=True))


def _dp2a(a: int, b: int, c: int, is_signed: bool, high: bool) -> int:
    factors = _parts(b, 8, is_signed)[2:] if high else _parts(b, 8, is_signed)[:2]
    return c + sum(x * y for x, y in zip(_parts(a, 16, is_signed), factors, strict=True))


Function = Callable[[int, int, int], int]

WORDS: dict[str, Function] = {
    "popc": lambda a, b, c: a.bit_count(),
    "clz": lambda a, b, c: 32 - a.bit_length(),
    "ffs": lambda a, b, c: _first(a),
    "brev": lambda a, b, c: _reverse(a, 32),
    "bswap16": lambda a, b, c: int.from_bytes((a & 0xFFFF).to_bytes(2, "little"), "big"),
    "bswap32": lambda a, b, c: int.from_bytes(a.to_bytes(4, "little"), "big"),
    "byte_perm": _permuted,
    "funnelshift_l": lambda a, b, c: (b << 32 | a) << (c & 31) >> 32,
    "funnelshift_r": lambda a, b, c: (b << 32 | a) >> (c & 31),
    "funnelshift_lc": lambda a, b, c: (b << 32 | a) << min(c, 32) >> 32,
    "funnelshift_rc": lambda a, b, c: (b << 32 | a) >> min(c, 32),
    "fns": lambda a, b, c: _nth(a, b & 31, abs(_s(c)) % 34 * (1 if _s(c) > 0 else -1)),
    "mulhi": lambda a, b, c: _s(a) * _s(b) >> 32,
    "umulhi": lambda a, b, c: a * b >> 32,
    "mul24": lambda a, b, c: _s(a, 24) * _s(b, 24),
    "umul24": lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF),
    "sad": lambda a, b, c: abs(_s(a) - _s(b)) + c,
    "usad": lambda a, b, c: abs(a - b) + c,
    "hadd": lambda a, b, c: _s(a) + _s(b) >> 1,
    "rhadd": lambda a, b, c: _s(a) + _s(b) + 1 >> 1,
    "uhadd": lambda a, b, c: a + b >> 1,
    "urhadd": lambda a, b, c: a + b + 1 >> 1,
    "dp4a": lambda a, b, c: _dp4a(a, b, c, True),
    "udp4a": lambda a, b, c: _dp4a(a, b, c, False),
    "dp4a_char4": lambda a, b, c: _dp4a(a, b, c, True),
    "dp4a_uchar4": lambda a, b, c: _dp4a(a, b, c, False),
    "dp2a_lo": lambda a, b, c: _dp2a(a, b, c, True, False),
    "udp2a_lo": lambda a, b, c: _dp2a(a, b, c, False, False),
    "dp2a_hi": lambda a, b, c: _dp2a(a, b, c, True, True),
    "udp2a_hi": lambda a, b, c: _dp2a(a, b, c, False, True),
    "dp2a_lo_short2": lambda a, b, c: _dp2a(a, b, c, True, False),
    "dp2a_hi_ushort2": lambda a, b, c: _dp2a(a, b, c, False, True),
    "min_int": lambda a, b, c: min(_s(a), _s(b)),
    "max_int": lambda a, b, c: max(_s(a), _s(b)),
    "min_unsigned": lambda a, b, c: min(a, b),
    "max_mixed": lambda a, b, c: max(a, b),
    "min_mixed": lambda a, b, c: min(a, b),
    "umax": lambda a, b, c: max(a, b),
    "abs": lambda a, b, c: abs(_s(a)),
}

LONGS: dict[str, Function] = {
    "popcll": lambda a, b, c: a.bit_count(),
    "clzll": lambda a, b, c: 64 - a.bit_length(),
    "ffsll": lambda a, b, c: _first(a),
    "brevll": lambda a, b, c: _reverse(a, 64),
    "bswap64": lambda a, b, c: int.from_bytes(a.to_bytes(8, "little"), "big"),
    "umul64hi": lambda a, b, c: a * b >> 64,
    "mul64hi": lambda a, b, c: _s(a, 64) * _s(b, 64) >> 64,
    "llmin": lambda a, b, c: min(_s(a, 64), _s(b, 64)),
    "ullmax": lambda a, b, c: max(a, b),
    "max_long": lambda a, b, c: max(_s(a, 64), _s(b, 64)),
    "min_mixed": lambda a, b, c: min(a, b),
}


def _wanted(function: Function, columns: list[np.ndarray], bits: int) -> list[int]:
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [function(*row) & ((1 << bits) - 1) for row in rows]


def test_words(load: Load) -> None:
    family = Family(load("integers"), "words", np.uint32, np.uint32)
    columns = [words(3000, seed) for seed in (1, 2, 3)]
    assert set(family.names) == set(WORDS)
    for name, function in WORDS.items():
        assert family(name, *columns).tolist() == _wanted(function, columns, 32), name


def test_longs(load: Load) -> None:
    family = Family(load("integers"), "longs", np.uint64, np.uint64)
    columns = [longs(3000, seed) for seed in (1, 2, 3)]
    assert set(family.names) == set(LONGS)
    for name, function in LONGS.items():
        assert family(name, *columns).tolist() == _wanted(function, columns, 64), name


_rows = st.lists(st.tuples(*[st.integers(0, _ALL)] * 3), min_size=1, max_size=40)


@pytest.mark.parametrize(
    "name", ["byte_perm", "funnelshift_l", "funnelshift_r", "funnelshift_lc", "funnelshift_rc", "dp4a", "dp2a_hi"]
)
def test_anything_that_hypothesis_thinks_of(load: Load, name: str) -> None:
    family = Family(load("integers"), "words", np.uint32, np.uint32)

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(_rows)
    def check(rows: list[tuple[int, int, int]]) -> None:
        columns = [np.array(column, np.uint32) for column in zip(*rows, strict=True)]
        assert family(name, *columns).tolist() == _wanted(WORDS[name], columns, 32)

    check()
