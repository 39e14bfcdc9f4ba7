"""The curves of the record of `patterns.py`: the patterns' shares of the copies' rate, over sizes and widths of rows.

`python benchmarks/patterns_plot.py` draws them into benchmarks/results/patterns.svg. It needs matplotlib (the extra
html), and no GPU.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import matplotlib as mpl
import patterns_tables as tables
import records
from matplotlib.axes import Axes
from matplotlib.figure import Figure

COLUMNS = 4
COLORS = {kind: f"C{index}" for index, kind in enumerate(tables.TYPES)}


def draw(record: dict[str, Any]) -> Figure:
    """A panel for each case of what `patterns.py` recorded, with a line for each type."""
    panels = [
        (case, unit, {kind: of[case, kind] for kind in tables.TYPES if (case, kind) in of})
        for unit, of in (("bytes of a tensor", tables.by_size(record)), ("elements of a row", tables.by_width(record)))
        for case in tables.ordered(of)
    ]
    rows = -(-len(panels) // COLUMNS)
    figure = Figure(figsize=(3.2 * COLUMNS, 2.5 * rows), layout="constrained")
    figure.suptitle(f"{tables.recorded(record)}: shares of the rate of copies of as many bytes")
    for panel, (case, unit, curves) in zip(figure.subplots(rows, COLUMNS).flat, panels, strict=False):
        _panel(panel, case, unit, curves)
    for panel in figure.axes[len(panels) :]:
        panel.set_axis_off()
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(tables.TYPES) + 1)
    return figure


def _panel(axes: Axes, case: str, unit: str, curves: dict[str, dict[int, float]]) -> None:
    for kind, curve in curves.items():
        points = sorted(curve.items())
        axes.plot(
            [point for point, _ in points], [share for _, share in points], color=COLORS[kind], marker=".", label=kind
        )
    axes.axhline(tables.HOLE, color="0.5", linestyle=":", label=f"{tables.HOLE}, the least asked")
    axes.set_xscale("log", base=2)
    axes.set_ylim(0, 1.25)
    axes.set_title(case, fontsize="medium")
    axes.set_xlabel(unit, fontsize="small")
    axes.tick_params(labelsize="small")
    axes.grid(visible=True, alpha=0.3)


def main() -> int:
    """Write the picture."""
    picture = tables.RECORD.with_suffix(".svg")
    # The same record makes the same file.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": picture.stem}):
        draw(records.read(tables.RECORD)).savefig(picture, metadata={"Date": None})
    sys.stdout.write(f"{os.path.relpath(picture)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
