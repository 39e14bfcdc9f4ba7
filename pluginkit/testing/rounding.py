"""Quantized outputs are rounded to the nearest step: where the exact value lies well between two, the other is wrong.

A tolerance of one step is for values close to the middle between two steps, where FP32's last bit decides. It would
hide a cast that cuts where it should round, which is up to a whole step off.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from pluginkit import float8
from pluginkit.dtypes import DType
from pluginkit.manifest import Close
from pluginkit.network.networks import Array, Scale, Tolerance

CLEAR = 0.25
"""Steps between the exact value and the middle between two steps, from which on the nearer step is asked for. What the
layer computes may be this far off: a hundredth of a step is more than an FP32 computation needs."""
_ENDS = 126.5
"""Steps beyond which a value saturates: where a plugin's range ends is another question (`saturated`)."""
_EXACT = Close(rtol=0.0, atol=0.0)
_BEYOND = {DType.INT8: 130.0, DType.FLOAT8: 480.0}
"""Steps from which on a value is beyond both ends of a type, whatever an FP32 computation is off. From 464 on, halfway
from 448 to the 480 that FP8 would have next, the type would have no number."""


def clear(exact: Array, scale: Scale, kind: DType = DType.INT8, off: Close = _EXACT) -> npt.NDArray[np.bool_]:
    """Which elements have one nearest step; `exact` are real values, before they are rounded.

    FP8's steps near zero are small: elements that a computation may be further `off` than a step are not clear.
    """
    if kind is DType.FLOAT8:
        may_be = np.maximum(off.atol, off.rtol * np.abs(exact))
        return float8.clear(exact, scale, CLEAR, may_be)
    steps = np.asarray(exact, np.float64) / scale
    with np.errstate(invalid="ignore"):
        middle = np.abs(np.abs(steps - np.rint(steps)) - 0.5)
        found: npt.NDArray[np.bool_] = (middle >= CLEAR) & (np.abs(steps) < _ENDS)
    return found


def saturated(exact: Array, scale: Scale, kind: DType = DType.INT8) -> npt.NDArray[np.bool_]:
    """Which elements are beyond an end of a type: -128 or 127 steps of INT8, -448 or 448 of FP8."""
    with np.errstate(invalid="ignore"):
        found: npt.NDArray[np.bool_] = np.abs(np.asarray(exact, np.float64) / scale) > _BEYOND[kind]
    return found


def short_of_end(outputs: Mapping[str, Array], beyond: Mapping[str, Array], tolerance: Tolerance) -> str:
    """What is wrong with saturated elements that are at no end; empty if nothing is. The rest is as of `evaluator`."""
    for name, mask in beyond.items():
        steps = np.rint(outputs[name].astype(np.float64) / tolerance.scales[name])
        kind, low, high = ("FP8", -448, 448) if name in tolerance.float8 else ("INT8", -128, 127)
        short = mask & (steps != low) & (steps != high)
        if short.any():
            index = tuple(int(axis) for axis in np.argwhere(short)[0])
            end = high if steps[index] > 0 else low
            return (
                f"output '{name}' is {int(steps[index])} steps at {list(index)}, and the exact value is beyond {end}: "
                f"{kind} ends at {low} and at {high}"
            )
    return ""


def evaluate(
    outputs: Mapping[str, Array], expected: Mapping[str, Array], clearly: Mapping[str, Array], tolerance: Tolerance
) -> str:
    """What is wrong with a run's outputs that are within the tolerance; empty if nothing is.

    Args:
        outputs: graph output -> array.
        expected: graph output -> the oracle's values.
        clearly: graph output -> which of its elements have one nearest step.
        tolerance: with the outputs' scales.
    """
    for name, mask in clearly.items():
        scale = tolerance.scales[name]
        mine, its = (values.astype(np.float64) / scale for values in (outputs[name], expected[name]))
        apart = float8.place(mine) - float8.place(its) if name in tolerance.float8 else mine - its
        # Not times the mask: FP8's NaN would stay NaN.
        off = np.where(mask, np.rint(apart), 0.0)
        if off.any():
            index = tuple(int(axis) for axis in np.argwhere(off)[0])
            got, want = (f"{round(float(steps[index]), 6):g}" for steps in (mine, its))
            inwards = bool(np.all((off == 0) | (np.sign(off) == -np.sign(expected[name]))))
            cut = " All are nearer to zero: a cast cuts, where std::rint or __float2int_rn rounds." if inwards else ""
            many = f"({int(np.count_nonzero(off))} of {off.size} values are so)"
            return (
                f"output '{name}' is {got} steps at {list(index)}, expected {want}: the exact value lies well between "
                f"two steps, and this is not the nearer one {many}.{cut}"
            )
    return ""
