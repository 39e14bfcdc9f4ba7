"""Inspects a plugin library without loading it: ELF symbols, GPU code, the build record."""

from __future__ import annotations

from pluginkit.library.inspection import Inspection, inspect
from pluginkit.library.problem import Problem

__all__ = ["Inspection", "Problem", "inspect"]
