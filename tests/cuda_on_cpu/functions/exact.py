"""Rounding of exact numbers to a format's, in any direction, by integers alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

DIRECTIONS = ("rn", "rz", "ru", "rd")


@dataclass(frozen=True)
class Format:
    """Binary numbers m * 2**e with 0.5 <= m < 1, of so many digits; below `lowest` they lose digits."""

    digits: int
    lowest: int
    highest: int

    @property
    def maximum(self) -> Fraction:
        return Fraction(2) ** self.highest * (1 - Fraction(1, 2**self.digits))


HALF = Format(11, -13, 16)
BFLOAT = Format(8, -125, 128)
FLOAT = Format(24, -125, 128)
DOUBLE = Format(53, -1021, 1024)


def integer(x: Fraction, direction: str) -> int:
    """The integer that x is rounded to."""
    if direction == "rn":
        return round(x)
    if direction == "rz":
        return math.trunc(x)
    return math.ceil(x) if direction == "ru" else math.floor(x)


def rounded(x: Fraction, form: Format, direction: str = "rn") -> float:
    """The format's number that x is rounded to, which a double holds."""
    if x == 0:
        return 0.0
    size = abs(x)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent += size >= Fraction(2) ** exponent
    quantum = Fraction(2) ** (max(exponent, form.lowest) - form.digits)
    result = integer(x / quantum, direction) * quantum
    if abs(result) <= form.maximum:
        return float(result)
    away = direction == "rn" or ((direction == "ru") == (x > 0) and direction != "rz")
    return (1 if x > 0 else -1) * (math.inf if away else float(form.maximum))


def root(x: Fraction) -> Fraction:
    """sqrt(x), exactly or so near that it is rounded as sqrt(x) is."""
    shift = 1300
    scaled = x * 4**shift
    floor = math.isqrt(math.floor(scaled))
    inexact = floor * floor != scaled
    return Fraction(2 * floor + inexact, 2 ** (shift + 1))
