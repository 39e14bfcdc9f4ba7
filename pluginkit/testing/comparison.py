"""Outputs against the oracle's, by Polygraphy. The only module that imports its comparison."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from polygraphy.comparator import IterationResult, OutputCompareResult, SimpleCompareFunc
from polygraphy.logger import G_LOGGER

from pluginkit import float8
from pluginkit.network.networks import Array, Tolerance

_POLYGRAPHYS_LOGGER = threading.Lock()
"""Its verbosity is one for all threads."""

STEP_SLACK = 1e-3
_INTEGERS = (np.int32, np.int64)
_FLOATS = (np.float32,)
"""In steps: dequantized values are float32 products, so whole steps come out slightly off."""


@dataclass(frozen=True)
class OutputComparison:
    """One output's verdict.

    Attributes:
        name: the graph output.
        ok: whether it is within tolerance.
        error: the largest |got - expected|, in `unit`: of the elements beyond the tolerance, of all where none is.
            Infinity for NaN, a wrong shape, none.
        unit: `abs`, or `steps` of quantization.
        allowed: what the tolerance allows at that place, in `unit`.
        index: where that error is; None if that is not a place.
        got: the value there.
        expected: the oracle's value there.
        message: what is wrong, a sentence; empty if nothing is.
        mean, median: of |got - expected| over all elements, in `unit`, as Polygraphy reports them (0 of an element that
            is right however far off it is); None where no numbers are compared, and where integers differ.
    """

    name: str
    ok: bool
    error: float
    unit: Literal["abs", "steps"]
    allowed: float
    index: tuple[int, ...] | None = None
    got: float | None = None
    expected: float | None = None
    message: str = ""
    mean: float | None = None
    median: float | None = None


@dataclass(frozen=True)
class Comparison:
    """All outputs' verdicts, in the oracle's order."""

    outputs: tuple[OutputComparison, ...]

    @property
    def ok(self) -> bool:
        """Whether every output is within tolerance."""
        return all(output.ok for output in self.outputs)

    @property
    def worst(self) -> OutputComparison:
        """The output to show: one that failed before all others, then the one with the largest error; where outputs
        have different units, the one that uses most of its tolerance."""
        alike = len({output.unit for output in self.outputs}) == 1
        return max(self.outputs, key=lambda output: (not output.ok, output.error if alike else _used(output)))

    @property
    def message(self) -> str:
        """Every failing output's sentence, a line each; empty if all is well."""
        return "\n".join(output.message for output in self.outputs if not output.ok)


def _used(output: OutputComparison) -> float:
    return output.error / output.allowed if output.allowed > 0 else np.inf if output.error > 0 else 0.0


def compare(outputs: Mapping[str, Array], expected: Mapping[str, Array], tolerance: Tolerance) -> Comparison:
    """Compare a run's outputs with the oracle's.

    Args:
        outputs: graph output -> array, float32 (int32 or int64 where the oracle's is int64).
        expected: graph output -> float64 or int64 array.
        tolerance: how far off is still right (see its class); floats by Polygraphy's element-wise check.
            Integers must be equal.

    NaN is right where the oracle has NaN, an infinity where it has the same infinity.
    """
    return Comparison(
        tuple(_compare_output(name, outputs.get(name), want, tolerance) for name, want in expected.items())
    )


def _compare_output(name: str, got: Array | None, want: Array, tolerance: Tolerance) -> OutputComparison:
    step = tolerance.scales.get(name, 0.0)
    unit: Literal["abs", "steps"] = "steps" if np.any(step) else "abs"
    exact = want.dtype.kind in "iub"

    def broken(message: str, index: tuple[int, ...] | None = None) -> OutputComparison:
        values = {} if index is None or got is None else {"got": float(got[index]), "expected": float(want[index])}
        return OutputComparison(name, False, np.inf, unit, 0.0, index, **values, message=f"output '{name}' {message}")

    if got is None:
        return broken("is missing")
    if got.dtype not in (_INTEGERS if exact else _FLOATS):
        return broken(f"is {got.dtype}, expected {'integers' if exact else 'float32'}")
    if got.shape != want.shape:
        return broken(f"has shape {list(got.shape)}, expected {list(want.shape)}")
    bad = np.argwhere(~(np.isfinite(got) & np.isfinite(want)) & ~_same(got, want))
    if len(bad):
        index = tuple(int(axis) for axis in bad[0])
        what = "NaN" if np.isnan(got[index]) else "infinite" if np.isinf(got[index]) else f"{got[index]:g}"
        return broken(
            f"is {what} at {list(index)}, expected {want[index]:g} ({len(bad)} of {got.size} values are off so)", index
        )
    rtol, atol = (0.0, 0.0) if exact else (tolerance.rtol, tolerance.atol)
    if name in tolerance.float8 or isinstance(step, np.ndarray):
        each = np.broadcast_to(step, want.shape)
        apart = _float8 if name in tolerance.float8 else _channels
        return apart(name, got, want, tolerance, each)
    if step:
        rtol, atol = 0.0, (tolerance.steps + STEP_SLACK) * step
    return _values(
        name, got, want, rtol=rtol, atol=atol, step=step, moved=0.0 if step else tolerance.moved.get(name, 0.0)
    )


def _channels(name: str, got: Array, want: Array, tolerance: Tolerance, step: Array) -> OutputComparison:
    """Compared in steps, each element in those of its channel; the numbers that are shown are real ones again."""
    found = _values(name, got / step, want / step, rtol=0.0, atol=tolerance.steps + STEP_SLACK, step=1.0)
    if found.index is None or found.got is None or found.expected is None:
        return found
    message = found.message.replace(": off by", f" (in steps of {step[found.index]:g}, its channel's): off by", 1)
    return replace(found, got=float(got[found.index]), expected=float(want[found.index]), message=message)


def _float8(name: str, got: Array, want: Array, tolerance: Tolerance, step: Array) -> OutputComparison:
    """Compared by the places among FP8's numbers, with what is computed before off as far as floats may be."""
    wide = want.astype(np.float64)
    off = np.where(np.isfinite(wide), np.maximum(tolerance.atol, tolerance.rtol * np.abs(wide)), 0.0)
    off = np.maximum(off, tolerance.moved.get(name, 0.0))
    near = np.clip(got.astype(np.float64), wide - off, wide + off)
    places = (float8.place(got / step), float8.place(near / step))
    found = _values(name, *places, rtol=0.0, atol=tolerance.steps + STEP_SLACK, step=1.0)
    if found.index is None:
        return found
    mine, its = float(got[found.index]), float(want[found.index])
    message = ""
    if not found.ok:
        shown, expected = differing(mine, its)
        message = (
            f"output '{name}' is {shown} at {list(found.index)}, expected {expected} (a step is to FP8's next number)"
            f"{found.message[found.message.index(': off by') :]}"
        )
    return replace(found, got=mine, expected=its, message=message)


def _same(got: Array, want: Array) -> Array:
    alike: Array = (np.isnan(got) & np.isnan(want)) | (got == want)
    return alike


def _values(
    name: str, got: Array, want: Array, *, rtol: float, atol: float, step: float, moved: Array | float = 0.0
) -> OutputComparison:
    unit: Literal["abs", "steps"] = "steps" if step else "abs"
    size = step or 1.0
    exact = want.dtype.kind in "iub"
    same = _same(got, want)
    # Integers beyond 2^53 may be one float64 and differ.
    got, want, least = got.astype(np.float64), want.astype(np.float64), 1.0 if exact else 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.where(same, 0.0, np.maximum(np.abs(got - want), least))
        # By a division, as Polygraphy has it: so the two agree where an error is the tolerance itself.
        wrong = (error > atol) & ~(error / np.abs(want) <= rtol) & (error > moved)
    if not error.size:
        return OutputComparison(name, True, 0.0, unit, atol / size)
    mean = median = 0.0 if same.all() else None
    ok = bool(same.all())
    if not exact and not ok:
        # What may be off as far as it is counts as equal; so do infinities and NaN, which are where they must be.
        apart = ~same & (error > moved)
        finite = np.where(np.isfinite(want), want, 0.0)
        found_by = _polygraphy(np.where(apart, got, finite), finite, rtol, atol)
        ok = bool(found_by)
        mean, median = found_by.mean_absdiff / size, found_by.median_absdiff / size
    shown = np.where(wrong, error, -1.0) if wrong.any() else error
    index = tuple(int(axis) for axis in np.unravel_index(int(np.argmax(shown)), shown.shape))
    allowed = max(atol, rtol * abs(float(want[index]))) if np.isfinite(want[index]) else atol
    allowed = max(allowed, float(np.broadcast_to(moved, error.shape)[index]))
    found = float(error[index]) / size
    # The slack is for float32 products, not for the user to read.
    limit = round(allowed / size - STEP_SLACK) if step else allowed
    message = ""
    if not ok:
        mine, its = differing(float(got[index]), float(want[index]))
        off, at_most = differing(found, limit, digits=4)
        steps = (" step" if off == "1" else " steps") if step else ""
        message = (
            f"output '{name}' is {mine} at {list(index)}, expected {its}: off by {off}{steps}, allowed {at_most} "
            f"({int(np.count_nonzero(wrong))} of {error.size} values are off)"
        )
    return OutputComparison(
        name, ok, found, unit, limit, index, float(got[index]), float(want[index]), message, mean, median
    )


def differing(one: float, other: float, *, digits: int = 6) -> tuple[str, str]:
    """Two numbers as text, with as many significant digits as they need to be seen to differ, and at least `digits`."""
    for count in range(digits, 18):
        texts = tuple(f"{value + 0.0:.{count}g}" for value in (one, other))  # + 0.0: no minus before a zero
        if texts[0] != texts[1]:
            break
    return texts[0], texts[1]


def _polygraphy(got: Array, want: Array, rtol: float, atol: float) -> OutputCompareResult:
    """Polygraphy's comparison of whole outputs, with its statistics."""
    # It writes both arrays and their differences for a log that nobody reads: of each a few elements.
    brief = np.printoptions(threshold=0, edgeitems=1)
    with _POLYGRAPHYS_LOGGER, G_LOGGER.verbosity(G_LOGGER.CRITICAL), brief, np.errstate(all="ignore"):
        check = SimpleCompareFunc(rtol=rtol, atol=atol, check_error_stat="elemwise", infinities_compare_equal=True)
        results = check(IterationResult({"value": got}), IterationResult({"value": want}))
    found: OutputCompareResult = results["value"]
    return found
