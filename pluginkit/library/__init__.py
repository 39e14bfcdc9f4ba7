"""What a plugin library holds, read without loading it: ELF, GPU code, what the build wrote beside it."""

from __future__ import annotations

from pluginkit.library.inspection import Inspection, inspect
from pluginkit.library.problem import Problem

__all__ = ["Inspection", "Problem", "inspect"]
