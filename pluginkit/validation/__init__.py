"""`pluginkit check`: the contract of TensorRT's plugin interfaces, asked of a built library check by check."""

from __future__ import annotations

from pluginkit.validation.catalog import CHECKS, Check, choose
from pluginkit.validation.checking import CheckReport, check_library
from pluginkit.validation.results import CheckResult, Ending

__all__ = ["CHECKS", "Check", "CheckReport", "CheckResult", "Ending", "check_library", "choose"]
