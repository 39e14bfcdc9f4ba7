"""Who evaluates a plugin: pluginkit's host, NVIDIA's builder, its engines, its registries, the full TensorRT."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pluginkit.evaluators.protocol import Evaluator

EVALUATORS = (
    "pluginkit.evaluators.host.evaluator",
    "pluginkit.evaluators.rtx.evaluator",
    "pluginkit.evaluators.rtx.engine_evaluator",
    "pluginkit.evaluators.lean.evaluator",
    "pluginkit.evaluators.tensorrt.evaluator",
)
"""The modules, each with an `EVALUATOR`, in the order of tables and pages. A new one is a module and a line here."""


def evaluators() -> Iterator[Evaluator]:
    """All of them, imported."""
    for name in EVALUATORS:
        evaluator: Evaluator = importlib.import_module(name).EVALUATOR
        yield evaluator


def evaluator(name: str) -> Evaluator:
    """The evaluator of that name.

    Raises:
        KeyError: there is none.
    """
    return {one.NAME: one for one in evaluators()}[name]
