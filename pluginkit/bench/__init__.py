"""How fast a plugin's enqueue is on a GPU: measured in a worker, told only of launches whose output was right."""

from __future__ import annotations

from pluginkit.bench.model import Baseline, Case, Machine, Report, Result
from pluginkit.bench.runner import Options, run

__all__ = ["Baseline", "Case", "Machine", "Options", "Report", "Result", "run"]
