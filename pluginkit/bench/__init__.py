"""Measures a plugin's enqueue on a GPU, in a worker; reports times only of launches with correct output."""

from __future__ import annotations

from pluginkit.bench.measurements import Baseline, BenchCase, BenchReport, Machine, Result
from pluginkit.bench.runner import BenchOptions, run

__all__ = ["Baseline", "BenchCase", "BenchOptions", "BenchReport", "Machine", "Result", "run"]
