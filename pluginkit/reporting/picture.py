"""Errors as a heat map, by matplotlib."""

from __future__ import annotations

import base64
import io

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from pluginkit.testing.heat import Heat, Picture

_NO_NUMBER = "#b00060"
"""Where there is no finite number to be drawn."""


def png(heat: Heat) -> str:
    """The picture as a data URI."""
    out = io.BytesIO()
    # Without the library's version in it: a run gives the same file again.
    figure(heat).savefig(out, format="png", dpi=90, metadata={"Software": None})
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()


def figure(heat: Heat) -> Figure:
    """The plane with the worst error, that marked; beside it the planes' largest errors, where there are several."""
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
    largest = float(finite.max()) if finite.count() else 0.0
    image = axes.imshow(finite, extent=extent, aspect="auto", cmap="viridis", vmin=0.0, vmax=largest or 1.0)
    axes.plot([worst[1]], [worst[0]], "o", markersize=13, markerfacecolor="none", markeredgecolor="red", gid="worst")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    made.colorbar(image, ax=axes, label=label)
