"""Errors as a heat map, by matplotlib."""

from __future__ import annotations

import base64
import io

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from pluginkit.network.networks import Array
from pluginkit.testing.heat import Heat, Picture

_NO_NUMBER = "#b00060"
"""Where there is no finite number to be drawn."""
_SMALL = "#e8eaed"
"""Where there is no error, or one so small that the scale doesn't show it."""
_DECADES = 4
"""Of the scale, at most: from the largest error down."""


def png(heat: Heat) -> str:
    """The picture as a data URI."""
    out = io.BytesIO()
    # Without the library's version in it: a run gives the same file again.
    figure(heat).savefig(out, format="png", dpi=90, metadata={"Software": None})
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()


def figure(heat: Heat) -> Figure:
    """The plane with the worst error, that marked; next to it the planes' largest errors, where there are several."""
    shown = [heat.plane, *([heat.others] if heat.others else [])]
    made = Figure(figsize=(5.2 * len(shown), 4.0), layout="constrained")
    axes = np.atleast_1d(made.subplots(1, len(shown)))
    unit = "steps" if heat.unit == "steps" else "absolute"
    row, column = (0, 0, *heat.index)[-2:]
    _draw(made, axes[0], heat.plane, (row, column), f"|error|, {unit}")
    axes[0].set_title(heat.where, fontsize=9, parse_math=False)
    if len(heat.index) > 1:
        axes[0].set_ylabel(f"axis {len(heat.index) - 2}")
    if heat.index:
        axes[0].set_xlabel(f"axis {len(heat.index) - 1}")
    if heat.others:
        lead = len(heat.lead)
        row = int(np.ravel_multi_index(heat.index[:lead], heat.lead)) // heat.lead[-1]
        _draw(made, axes[1], heat.others, (row, heat.index[lead - 1]), "largest |error| of a plane")
        axes[1].set_title("all planes", fontsize=9)
        axes[1].set_xlabel(f"axis {lead - 1}")
        if lead > 1:
            axes[1].set_ylabel(f"axes 0 to {lead - 2}" if lead > 2 else "axis 0")
    return made


def _draw(made: Figure, axes: Axes, shown: Picture, worst: tuple[int, int], label: str) -> None:
    rows, columns = shown.size
    axes.set_facecolor(_NO_NUMBER)
    finite = np.ma.masked_invalid(shown.values)
    extent = (-0.5, columns - 0.5, rows - 0.5, -0.5)
    scale = norm(finite.compressed())
    colours = mpl.colormaps["viridis"].with_extremes(under=_SMALL)
    # A logarithm of 0 would be no number.
    drawn = np.ma.maximum(finite, (scale.vmin or 1.0) / 10)
    # Nothing is mixed between neighbours: an error is one element's.
    image = axes.imshow(drawn, extent=extent, aspect="auto", cmap=colours, norm=scale, interpolation="nearest")
    axes.plot([worst[1]], [worst[0]], "o", markersize=13, markerfacecolor="none", markeredgecolor="red", gid="worst")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    made.colorbar(image, ax=axes, label=label, extend="min")


def norm(errors: Array) -> LogNorm:
    """The scale of the colours: logarithmic, so that one large error doesn't make all others look like none.

    From the smallest error that is not 0, or `_DECADES` below the largest, up to the largest.
    """
    shown = errors[errors > 0]
    largest = float(shown.max()) if shown.size else 1.0
    least = max(float(shown.min()) if shown.size else 0.0, largest * 10.0**-_DECADES)
    # A scale needs a length.
    return LogNorm(min(least, largest / 10), largest)
