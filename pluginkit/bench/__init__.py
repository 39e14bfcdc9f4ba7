"""How fast a plugin's enqueue is on a GPU: measured in a worker, told only of launches whose output was right."""

from __future__ import annotations

from pluginkit.bench.model import Baseline, BenchCase, BenchReport, Machine, Result
from pluginkit.bench.runner import BenchOptions, run

__all__ = ["Baseline", "BenchCase", "BenchOptions", "BenchReport", "Machine", "Result", "run"]
