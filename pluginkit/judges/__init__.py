"""Who judges a plugin: pluginkit's host, NVIDIA's builder, its engines, its registries, the full TensorRT."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pluginkit.judges.protocol import Judge

JUDGES = (
    "pluginkit.judges.host.judge",
    "pluginkit.judges.rtx.judge",
    "pluginkit.judges.rtx.engine_judge",
    "pluginkit.judges.lean.judge",
    "pluginkit.judges.tensorrt.judge",
)
"""The modules, each with a `JUDGE`, in the order of tables and pages. A new judge is a module and a line here."""


def judges() -> Iterator[Judge]:
    """All of them, imported."""
    for name in JUDGES:
        judge: Judge = importlib.import_module(name).JUDGE
        yield judge


def judge(name: str) -> Judge:
    """The judge of that name.

    Raises:
        KeyError: there is none.
    """
    return {one.NAME: one for one in judges()}[name]
