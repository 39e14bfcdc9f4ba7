"""Bandwidth against size, with copies as the ceiling. matplotlib comes with the extra `html`."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from pluginkit import installation
from pluginkit.bench.measurements import BenchReport
from pluginkit.errors import ToolMissing


def check() -> None:
    """Whether a plot can be made, before a run for it.

    Raises:
        ToolMissing: matplotlib isn't installed.
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise ToolMissing("--plot needs matplotlib, which isn't installed.", hint=installation.extra("html"))


def write(report: BenchReport, file: Path) -> None:
    """Draws each precision's bandwidth over the bytes moved at least, and above them the copies': a line, in a sweep a
    curve."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    kinds = dict.fromkeys(result.case.precision for result in report.results)
    for kind in kinds:
        points = sorted(
            (one.case.bytes, one.bandwidth)
            for one in report.results
            if one.case.precision is kind and one.bandwidth is not None
        )
        axes.plot([size for size, _ in points], [rate / 1e9 for _, rate in points], marker="o", label=kind.short)
        for name in report.compared():
            beside = sorted(
                (one.case.bytes, one.case.bytes / other.times.median)
                for one in report.results
                for other in one.baselines
                if one.case.precision is kind and other.name == name and other.times
            )
            if beside:
                label = f"{name}, {kind.short}"
                axes.plot([size for size, _ in beside], [rate / 1e9 for _, rate in beside], "x:", label=label)
    machine = report.machine
    copies = sorted({one.case.bytes: one.case.bytes / one.copy.median for one in report.results if one.copy}.items())
    if copies:
        sizes, rates = zip(*copies, strict=True)
        axes.plot(sizes, [rate / 1e9 for rate in rates], color="0.4", linestyle="--", label="device copy of that size")
    else:
        axes.axhline(machine.copy_rate / 1e9, color="0.4", linestyle="--", label="device copy")
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("bytes moved at least")
    axes.set_ylabel("GB/s")
    axes.set_title(f"{report.plugin} on {machine.device}")
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    figure.savefig(file, format="png")
