"""Likely causes of wrong INT8 outputs: each usual mistake is compared with the values.

All is in steps of the output's scale. What was expected is known after rounding and saturation only, so the number
that a right kernel would have rounded lies in an interval, without an end where it was saturated. A mistake maps
intervals to intervals; it fits if the values lie in them, and if there are enough values that it predicts to be off.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from pluginkit.network.networks import Array

LOW, HIGH = -128, 127
FITTING = 0.97
"""The share of values that must lie in a mistake's intervals; the others must be a step away at most."""
EVIDENCE = 4
"""So many values must be off as predicted, and show three different numbers."""
FEW = 32
"""With fewer values, it proves nothing that none of the mistakes fits."""
ALIKE = 0.02
"""Two factors that differ by less can't be distinguished, and a factor so near 1 is not a mistake."""
HALF = 0.5 + 1e-3
"""Of a step; a kernel computes in float32, the reference in float64."""

TRIED = (
    "another tensor's scale, a scale ignored, cut to an integer or multiplied by where it divides, no saturation or at "
    "other bounds, truncation, an offset as of a zero point"
)
"""The text of a finding that none of them fits."""


@dataclass(frozen=True)
class Causes:
    """What was found.

    Attributes:
        fitting: a sentence for each mistake that fits the values; several only where they predict the same.
        enough: whether there were values enough to tell one.
    """

    fitting: tuple[str, ...]
    enough: bool


@dataclass(frozen=True)
class _Mistake:
    """A sentence, and between which bounds each value must lie if it is true. `seen`: it may show in few different
    numbers, and nothing else ends in just these."""

    text: str
    low: Array
    high: Array
    seen: bool = False


def find(
    got: Array, expected: Array, name: str, scale: float, inputs: Mapping[str, float], outputs: Mapping[str, float]
) -> Causes:
    """Tries the usual mistakes.

    Args:
        got: what the plugin's output holds, as real numbers (steps times `scale`).
        expected: the same of the oracle.
        name: the plugin's output tensor.
        scale: what a step of it is worth.
        inputs: scale of each INT8 input of the plugin, by the tensor's name.
        outputs: the same of its outputs.
    """
    mine, its = (np.asarray(values, np.float64).ravel() / scale for values in (got, expected))
    if mine.shape != its.shape or not (_is_int8(mine) and _is_int8(its)):
        return Causes((), enough=False)
    mine, its = np.rint(mine), np.rint(its)
    if np.count_nonzero(np.abs(its - mine) >= 1) < EVIDENCE or len(np.unique(its)) < EVIDENCE:
        return Causes((), enough=False)
    found = [one for one in _mistakes(mine, its, name, scale, inputs, outputs) if _fits(one, mine, its)]
    return Causes(tuple(dict.fromkeys(one.text for one in found)), enough=bool(found) or mine.size >= FEW)


def describe(causes: Causes, *, alone: bool) -> str:
    """The causes in lines; empty where there is nothing to say.

    Args:
        causes: of one output.
        alone: whether the output is that of one application. Several in a row may hide a cause that is there.
    """
    if causes.fitting:
        return "\n".join(f"{'  or' if number else 'likely cause'}: {one}" for number, one in enumerate(causes.fitting))
    return f"no usual INT8 mistake gives these values (tried: {TRIED})" if causes.enough and alone else ""


def _is_int8(steps: Array) -> bool:
    if not steps.size or not np.isfinite(steps).all():
        return False
    whole = np.rint(steps)
    return bool((np.abs(steps - whole) < 0.01).all() and whole.min() >= LOW and whole.max() <= HIGH)


def _fits(mistake: _Mistake, mine: Array, its: Array) -> bool:
    excess = np.maximum(mistake.low - mine, mine - mistake.high)
    if np.count_nonzero(excess <= 0) < FITTING * mine.size or excess.max() > 1:
        return False
    # Values that are right anyway are no evidence.
    distinct = (mistake.low > its) | (mistake.high < its)
    return int(np.count_nonzero(distinct)) >= EVIDENCE and (mistake.seen or len(np.unique(mine[distinct])) >= 3)


def _mistakes(
    mine: Array, its: Array, name: str, scale: float, inputs: Mapping[str, float], outputs: Mapping[str, float]
) -> Iterator[_Mistake]:
    yield from _scaled(its, name, scale, inputs, outputs)
    yield from _cut_to_zero(its, name, scale, inputs)
    yield from _unsaturated(mine, its, name)
    yield from _rounded(mine, its, name)
    yield from _shifted(mine, its, name)


def _numbers(its: Array) -> tuple[Array, Array]:
    """Between which bounds each number lay before it was rounded and saturated."""
    return np.where(its == LOW, -np.inf, its - HALF), np.where(its == HIGH, np.inf, its + HALF)


def _quantized(low: Array, high: Array) -> tuple[Array, Array]:
    return np.clip(np.rint(low), LOW, HIGH), np.clip(np.rint(high), LOW, HIGH)


def _scaled(
    its: Array, name: str, scale: float, inputs: Mapping[str, float], outputs: Mapping[str, float]
) -> Iterator[_Mistake]:
    """Mistakes in a scale: each number is a multiple of what it should be."""
    low, high = _numbers(its)
    everybody = {**inputs, **outputs}
    for factor, text in (*_written(name, scale, everybody), *(one for i in inputs for one in _read(i, everybody))):
        if abs(factor - 1) > ALIKE:
            yield _Mistake(text, *_quantized(low * factor, high * factor))


def _written(name: str, scale: float, everybody: Mapping[str, float]) -> Iterator[tuple[float, str]]:
    """The factor that each mistake in the output's scale makes."""
    for used, other in everybody.items():
        if used != name:
            yield (
                scale / other,
                f"'{name}' is quantized with the scale of '{used}' ({other:g}), not its own ({scale:g})",
            )
    yield scale, f"the scale of '{name}' ({scale:g}) is ignored, as if it were 1"
    if np.trunc(scale) > 1:
        yield scale / np.trunc(scale), f"the scale of '{name}' ({scale:g}) is cut to an integer: {np.trunc(scale):g}"
    yield scale * scale, f"'{name}' is multiplied by its scale ({scale:g}), where it must be divided by it"


def _read(name: str, everybody: Mapping[str, float]) -> Iterator[tuple[float, str]]:
    """The factor that each mistake in an input's scale makes, if outputs grow with inputs."""
    scale = everybody[name]
    for used, other in everybody.items():
        if used != name:
            yield other / scale, f"'{name}' is read with the scale of '{used}' ({other:g}), not its own ({scale:g})"
    yield 1 / scale, f"the scale of '{name}' ({scale:g}) is ignored, as if it were 1"
    if np.trunc(scale) > 1:
        yield np.trunc(scale) / scale, f"the scale of '{name}' ({scale:g}) is cut to an integer: {np.trunc(scale):g}"
    yield 1 / (scale * scale), f"'{name}' is divided by its scale ({scale:g}), where it must be multiplied by it"


def _cut_to_zero(its: Array, name: str, scale: float, inputs: Mapping[str, float]) -> Iterator[_Mistake]:
    """A scale below 1 as an integer is 0: outputs divided by it end at the bounds, inputs times it are 0."""
    if scale < 1:
        low = np.where(its > 0, HIGH, LOW).astype(np.float64)
        high = np.where(its < 0, LOW, HIGH).astype(np.float64)
        # Nothing follows for 0 / 0: any value will do there.
        if np.count_nonzero(its == 0) * 4 < its.size:
            text = f"the scale of '{name}' ({scale:g}) is cut to an integer, 0: all is at the ends of the range"
            yield _Mistake(text, low, high, seen=True)
    nothing = np.zeros(its.shape)
    for read, own in inputs.items():
        if own < 1:
            text = f"all is 0: the scale of '{read}' ({own:g}) is cut to an integer, or the kernel writes nothing but 0"
            yield _Mistake(text, nothing, nothing, seen=True)


def _unsaturated(mine: Array, its: Array, name: str) -> Iterator[_Mistake]:
    """Numbers beyond the range wrap around; or they end at other bounds than -128 and 127."""
    ends = (its == LOW) | (its == HIGH)
    off = np.abs(mine - its) > 1
    low, high = np.where(ends, LOW, its - 1).astype(np.float64), np.where(ends, HIGH, its + 1).astype(np.float64)
    turned = np.count_nonzero(off & (np.sign(mine) != np.sign(its)))
    if off.any() and not (off & ~ends).any() and turned > 0.6 * np.count_nonzero(off):
        # The intervals say only where it may not be; where it is, the signs say.
        low, high = np.where(off, mine, low), np.where(off, mine, high)
        yield _Mistake(f"'{name}' does not saturate: what lies beyond -128 to 127 wraps around", low, high, seen=True)
    least, most = mine.min(), mine.max()
    varied = len(np.unique(mine)) >= 8
    if varied and most - least >= 16 and (least > LOW + 1 or most < HIGH - 1):
        clipped = np.clip(its, least, most)
        yield _Mistake(
            f"'{name}' is clipped at {least:g} and {most:g}, not at {LOW} and {HIGH}", clipped, clipped, seen=True
        )


def _rounded(mine: Array, its: Array, name: str) -> Iterator[_Mistake]:
    """Towards zero, or down, in place of the nearest: about half of the values are a step off, none the other way."""
    inner = (its > LOW) & (its < HIGH) & (its != 0)
    for text, down in (("cut off towards zero", np.sign(its)), ("rounded down", np.ones(its.shape))):
        off = (its - mine) * down
        share = float(np.mean(off[inner] == 1)) if inner.any() else 0.0
        if set(np.unique(off)) <= {0.0, 1.0} and 0.2 < share < 0.8:
            yield _Mistake(f"'{name}' is {text}, not rounded to the nearest", mine, mine)


def _shifted(mine: Array, its: Array, name: str) -> Iterator[_Mistake]:
    """An offset, as of a zero point, which TensorRT's INT8 has not."""
    inner = (its > LOW) & (its < HIGH) & (mine > LOW) & (mine < HIGH)
    values, counts = np.unique((mine - its)[inner], return_counts=True)
    if values.size and (offset := float(values[np.argmax(counts)])):
        low, high = _numbers(its)
        text = f"'{name}' is {offset:+g} steps off all over, as by a zero point, which TensorRT's INT8 has not"
        yield _Mistake(text, *_quantized(low + offset, high + offset))
    unsigned = (its + 128 + 128) % 256 - 128
    yield _Mistake(f"'{name}' is stored as an unsigned type with a zero point of 128", unsigned, unsigned)
