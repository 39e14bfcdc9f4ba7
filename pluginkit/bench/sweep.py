"""The sizes of `pluginkit bench --sweep`: one symbol grows, the others stay."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pluginkit.bench.cases import least_bytes, shapes
from pluginkit.dtypes import DType
from pluginkit.errors import UsageError
from pluginkit.manifest import Manifest
from pluginkit.manifest.bench_section import BenchShape

UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
FACTOR = 4
"""From one number of bytes to the next; a symbol doubles."""
LARGEST = 2**31 - 1
"""TensorRT's Dims of 10 have 64 bits; kernels seldom do."""
_BYTES = re.compile(r"(\d+) ?(B|KiB|MiB|GiB)")
_HINT = (
    "As in --sweep 4KiB..1GiB (bytes that a call moves, by the first dynamic dimension), or --sweep c=32..65536 "
    "(a symbol's values)."
)


@dataclass(frozen=True)
class Sweep:
    """What is asked for.

    Attributes:
        low, high: of the bytes, or of the symbol's values.
        symbol: which one grows; "" is the first, by bytes.
    """

    low: int
    high: int
    symbol: str = ""


def parse(text: str) -> Sweep:
    """`4KiB..1GiB` or `c=32..65536`.

    Raises:
        UsageError: it is neither, or goes down.
    """
    symbol, equals, ends = text.rpartition("=")
    low, _, high = (part.strip() for part in ends.partition(".."))
    if equals:
        numbers = [int(end) if re.fullmatch(r"\d{1,10}", end) else None for end in (low, high)]
    else:
        found = [_BYTES.fullmatch(end) for end in (low, high)]
        numbers = [int(one[1]) * UNITS[one[2]] if one and len(one[1]) < 10 else None for one in found]
    first, last = numbers
    if first is None or last is None or (equals and not symbol.strip()):
        raise UsageError(f"--sweep {text} is not a range of sizes.", hint=_HINT)
    if equals and last > LARGEST:
        raise UsageError(f"--sweep {text} goes beyond {LARGEST}, which kernels seldom count to.", hint=_HINT)
    if not 0 < first <= last:
        raise UsageError(f"--sweep {text} has to begin at 1 or more, and to end no lower.", hint=_HINT)
    return Sweep(first, last, symbol.strip())


def sizes(manifest: Manifest, asked: Sweep, kind: DType) -> list[BenchShape]:
    """The shapes of a sweep in a precision: of `[bench]`'s first shape, or the first profile's opt, with other
    values of one symbol.

    Raises:
        UsageError: there is no such symbol, or no size within the range.
    """
    base = _base(manifest)
    symbol = asked.symbol or _first(manifest)
    if symbol not in base.symbols:
        there = ", ".join(base.symbols) or "none, as all dimensions are constants"
        raise UsageError(f"--sweep: {manifest.plugin.name} has no symbol '{symbol}'.", hint=f"There are: {there}.")
    made = manifest.with_fields(base.fields)
    if asked.symbol:
        values = dict.fromkeys([*_powers(asked.low, asked.high, 2), asked.high])
        return [_sized(base, symbol, value, f"{symbol}={value}") for value in values]

    def moved(value: int) -> float:
        try:
            return least_bytes(made, {**base.symbols, symbol: value}, kind)
        except UsageError:  # a dimension would be negative, or more than 64 bits hold
            return math.inf

    least = _least(moved)
    nearest = {size: _nearest(moved, least, size) for size in _powers(asked.low, asked.high, FACTOR)}
    found = [_sized(base, symbol, value, _named(size)) for size, value in nearest.items() if value is not None]
    if not found:
        raise UsageError(
            f"--sweep: no value of '{symbol}' makes a call of {manifest.plugin.name} move {_named(asked.low)} to "
            f"{_named(asked.high)}: with {least} it moves {moved(least):.0f} bytes.",
            hint="Name another symbol, as in --sweep c=32..65536, or smaller sizes of the others in [bench].",
        )
    return found


def _base(manifest: Manifest) -> BenchShape:
    """The first that was written down, or a profile's opt; min where opt is no other shape."""
    known = shapes(manifest)
    first = next(iter(known.values()))
    if manifest.bench.shapes:
        return first
    return next((shape for name, shape in known.items() if re.fullmatch(r"(.*-)?opt", name)), first)


def _first(manifest: Manifest) -> str:
    """The first symbol of the first input that has one."""
    return next(
        (name for tensor in manifest.inputs for name in map(str, tensor.shape) if name.isidentifier()),
        "",
    )


def _sized(base: BenchShape, symbol: str, value: int, name: str) -> BenchShape:
    return base.model_copy(update={"name": name, "symbols": {**base.symbols, symbol: value}})


def _powers(low: int, high: int, factor: int) -> Iterator[int]:
    while low <= high:
        yield low
        low *= factor


def _least(moved: Callable[[int], float]) -> int:
    """The least value that there is a shape of: a window has to fit."""
    high = next((value for value in _powers(1, LARGEST, 2) if moved(value) < math.inf), 1)
    low = high // 2 + 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if moved(middle) < math.inf else (middle + 1, high)
    return low


def _nearest(moved: Callable[[int], float], least: int, wanted: int) -> int | None:
    """The value that moves as nearly so many bytes as any; None if that is less than half of them, or twice as many."""
    low, high = least, LARGEST
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if moved(middle) <= wanted else (low, middle - 1)
    off = {value: max(moved(value), 1) / wanted for value in (low, min(low + 1, LARGEST))}
    best = min(off, key=lambda value: max(off[value], 1 / off[value]))
    return best if 0.5 < off[best] < 2 else None


def _named(size: int) -> str:
    unit = max((name for name in UNITS if size % UNITS[name] == 0), key=UNITS.__getitem__)
    return f"{size // UNITS[unit]}{unit}"
