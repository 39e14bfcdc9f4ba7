"""Patterns for `pluginkit graft` in TOML.

They travel in a project's bundle, so nothing here needs what finds them in a model.
"""

from __future__ import annotations

from pluginkit.patterns.files import of_data, of_file, of_text, shipped_by
from pluginkit.patterns.pattern import TEXTS, ZERO, ConstantRule, Operator, Pattern

__all__ = [
    "TEXTS",
    "ZERO",
    "ConstantRule",
    "Operator",
    "Pattern",
    "of_data",
    "of_file",
    "of_text",
    "shipped_by",
]
