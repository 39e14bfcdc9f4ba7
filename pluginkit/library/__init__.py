"""What a plugin library holds: without loading it (ELF, GPU code, manifest), and with loading it in workers."""

from __future__ import annotations

from pluginkit.library.inspection import Inspection, inspect
from pluginkit.library.loading import CreatorFacts, FieldFacts, Loaded, load
from pluginkit.library.problem import Problem

__all__ = ["CreatorFacts", "FieldFacts", "Inspection", "Loaded", "Problem", "inspect", "load"]
