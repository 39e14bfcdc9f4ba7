"""`pluginkit tune`: values of kernel launches, measured for each GPU architecture, kept in pluginkit.toml."""

from __future__ import annotations

from pluginkit.tuning.candidates import candidates
from pluginkit.tuning.results import Tuned, TuneOptions, TuneReport
from pluginkit.tuning.runner import tune

__all__ = ["TuneOptions", "TuneReport", "Tuned", "candidates", "tune"]
