"""Error maps of failing outputs, small enough to keep for each case and to draw later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pluginkit import float8
from pluginkit.network.networks import Array, Tolerance
from pluginkit.testing.comparison import OutputComparison

LARGEST = 256
"""Rows and columns of a picture; of a larger output each square shows its largest error."""


@dataclass(frozen=True)
class Picture:
    """Errors on two axes.

    Attributes:
        values: |got - expected| in `Heat.unit`, 2-D float32; infinity where one of the two is not a finite number.
        size: rows and columns of what is shown, before squares were joined.
    """

    values: Array
    size: tuple[int, int]


@dataclass(frozen=True)
class Heat:
    """The errors of the output that is shown for a failing case.

    Attributes:
        output: the graph output.
        unit: `abs`, or `steps` of quantization.
        index: where the worst error is.
        plane: the last two axes, at the other axes' indices of the worst error. A vector is one row.
        others: the largest error of each such plane, over the other axes (the last of them across); None without.
        lead: the sizes of those other axes.
    """

    output: str
    unit: str
    index: tuple[int, ...]
    plane: Picture
    others: Picture | None = None
    lead: tuple[int, ...] = ()

    @property
    def where(self) -> str:
        """What of the output `plane` shows, as in `y[0, 2, :, :]`."""
        fixed = [str(number) for number in self.index[:-2]]
        return f"{self.output}[{', '.join(fixed + [':'] * min(2, len(self.index)))}]"


def of(outputs: Mapping[str, Array], expected: Mapping[str, Array], tolerance: Tolerance, worst: OutputComparison) -> (
    Heat | None
):  # fmt: skip
    """The errors of `worst`'s output; None where it has no place to show (missing, of another shape or empty)."""
    got, want = outputs.get(worst.name), expected[worst.name]
    if got is None or got.shape != want.shape or worst.index is None or not got.size:
        return None
    got, want = got.astype(np.float64), want.astype(np.float64)
    with np.errstate(invalid="ignore"):
        scale = tolerance.scales.get(worst.name, 1.0)
        places = (got / scale, want / scale)
        if worst.name in tolerance.float8:
            places = (float8.place(places[0]), float8.place(places[1]))
        errors = np.abs(places[0] - places[1])
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    errors = np.where(same, 0.0, np.where(np.isfinite(errors), errors, np.inf)).astype(np.float32)
    lead, index = errors.shape[:-2], worst.index
    plane = errors[index[:-2]].reshape(1, -1) if errors.ndim < 2 else errors[index[:-2]]
    others = None
    if lead and int(np.prod(lead)) > 1:
        others = _picture(errors.max(axis=(-2, -1)).reshape(-1, lead[-1]))
    return Heat(worst.name, worst.unit, index, _picture(plane), others, lead)


def _picture(values: Array) -> Picture:
    joined = values
    for axis in (0, 1):
        step = -(-joined.shape[axis] // LARGEST)
        joined = np.maximum.reduceat(joined, range(0, joined.shape[axis], step), axis=axis)
    return Picture(joined, (values.shape[0], values.shape[1]))
