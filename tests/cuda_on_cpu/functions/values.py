"""What the functions are tried on: edges and random ones, mixed."""

from __future__ import annotations

import numpy as np

Array = np.ndarray

_WORDS = [0, 1, 2, 7, 8, 15, 16, 31, 32, 33, 63, 64, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF, 0x10000]
_WORDS += [0x7FFFFF, 0x800000, 0xFFFFFF, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF]
_WORDS += [0x80808080, 0x7F7F7F7F, 0x01010101, 0x80008000, 0x7FFF7FFF, 0xFF00FF00]
_LONGS = [0, 1, 2**24, 2**24 + 1, 2**31, 2**32 - 1, 2**32, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1]
_LONGS += [2**64 - 2**39, 2**64 - 2**40 - 1]
_FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -0.5, -2.5, 1 / 3, 16777216.0, 2147483648.0, 2147483520.0]
_FLOATS += [-2147483648.0, 4294967296.0, 2.0**63, -(2.0**63), 2.0**64, 1 + 2.0**-23, 2.0**-149, -(2.0**-149)]
_FLOATS += [2.0**-126, float(np.finfo(np.float32).max), float(np.finfo(np.float32).min)]
_DOUBLES = [*_FLOATS, 5e-324, -5e-324, 2.0**-1022, 1.7976931348623157e308, -1.7976931348623157e308, 1 + 2.0**-52]
_DOUBLES += [2147483647.5, -2147483648.5]


def words(count: int, seed: int) -> Array:
    """32-bit words: any, edges, small numbers."""
    random = np.random.default_rng(seed)
    kinds = [random.integers(0, 2**32, count), random.choice(_WORDS, count), random.integers(0, 70, count)]
    return np.choose(random.integers(0, 3, count), kinds).astype(np.uint32)


def longs(count: int, seed: int) -> Array:
    """64-bit words of every length, and edges."""
    random = np.random.default_rng(seed)
    some = random.integers(0, 2**64, count, dtype=np.uint64) >> random.integers(0, 64, count).astype(np.uint64)
    edges = random.choice(np.array(_LONGS, np.uint64), count)
    return np.where(random.integers(0, 3, count) == 0, edges, some)


def signed(count: int, seed: int) -> Array:
    """64-bit integers of both signs and every length, and edges."""
    some = longs(count, seed).view(np.int64)
    return np.where(np.random.default_rng(seed + 1).integers(0, 2, count) == 0, some, np.negative(some))


def _numbers(any_bits: Array, edges: list[float], seed: int) -> Array:
    random = np.random.default_rng(seed)
    count, dtype = any_bits.size, any_bits.dtype
    near = random.standard_normal(count) * 10.0 ** random.integers(-3, 4, count)
    kinds = [any_bits, random.choice(edges, count), near]
    with np.errstate(over="ignore", invalid="ignore"):
        mixed = np.choose(random.integers(0, 3, count), kinds).astype(dtype)
    return np.where(np.isfinite(mixed), mixed, dtype.type(1))


def floats(count: int, seed: int) -> Array:
    """Finite floats of every exponent, near 1, and edges."""
    bits = np.random.default_rng(seed).integers(0, 2**32, count, dtype=np.uint32)
    return _numbers(bits.view(np.float32), _FLOATS, seed)


def doubles(count: int, seed: int) -> Array:
    """Finite doubles of every exponent, near 1, and edges."""
    bits = np.random.default_rng(seed).integers(0, 2**64, count, dtype=np.uint64)
    return _numbers(bits.view(np.float64), _DOUBLES, seed)
