"""INT8 outputs are rounded to the nearest step: where the exact value lies well between two, the other is wrong.

A tolerance of one step is for values close to the middle between two steps, where FP32's last bit decides. It would
hide a cast that cuts where it should round, which is up to a whole step off.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from pluginkit.network.model import Array, Tolerance

CLEAR = 0.25
"""Steps between the exact value and the middle between two steps, from which on the nearer step is asked for. What the
layer computes may be this far off: a hundredth of a step is more than an FP32 computation needs."""
_ENDS = 126.5
"""Steps beyond which a value saturates: where a plugin's range ends is another question (`saturated`)."""
_BEYOND = 130.0
"""Steps from which on a value is beyond both ends of INT8, whatever an FP32 computation is off."""


def clear(exact: Array, scale: float) -> npt.NDArray[np.bool_]:
    """Which elements have one nearest step; `exact` are real values, before they are rounded."""
    steps = np.asarray(exact, np.float64) / scale
    with np.errstate(invalid="ignore"):
        middle = np.abs(np.abs(steps - np.rint(steps)) - 0.5)
        found: npt.NDArray[np.bool_] = (middle >= CLEAR) & (np.abs(steps) < _ENDS)
    return found


def saturated(exact: Array, scale: float) -> npt.NDArray[np.bool_]:
    """Which elements are beyond an end of INT8, so that they are -128 or 127 steps."""
    with np.errstate(invalid="ignore"):
        found: npt.NDArray[np.bool_] = np.abs(np.asarray(exact, np.float64) / scale) > _BEYOND
    return found


def short_of_end(outputs: Mapping[str, Array], beyond: Mapping[str, Array], tolerance: Tolerance) -> str:
    """What is wrong with saturated elements that are at no end; empty if nothing is. The rest is as of `judge`."""
    for name, mask in beyond.items():
        steps = np.rint(outputs[name].astype(np.float64) / tolerance.scales[name])
        short = mask & (steps != -128) & (steps != 127)
        if short.any():
            index = tuple(int(axis) for axis in np.argwhere(short)[0])
            end = 127 if steps[index] > 0 else -128
            return (
                f"output '{name}' is {int(steps[index])} steps at {list(index)}, and the exact value is beyond {end}: "
                "INT8 ends at -128 and at 127"
            )
    return ""


def judge(
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
        off = np.rint((outputs[name].astype(np.float64) - expected[name]) / scale) * mask
        if off.any():
            index = tuple(int(axis) for axis in np.argwhere(off)[0])
            got, want = (round(float(values[index]) / scale) for values in (outputs[name], expected[name]))
            inwards = bool(np.all((off == 0) | (np.sign(off) == -np.sign(expected[name]))))
            cut = " All are nearer to zero: a cast cuts, where std::rint or __float2int_rn rounds." if inwards else ""
            many = f"({int(np.count_nonzero(off))} of {off.size} values are so)"
            return (
                f"output '{name}' is {got} steps at {list(index)}, expected {want}: the exact value lies well between "
                f"two steps, and this is not the nearer one {many}.{cut}"
            )
    return ""
