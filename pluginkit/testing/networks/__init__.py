"""The test networks: each family makes ONNX models from a signature, and knows what must come out of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from pluginkit.testing.model import Array, Network
from pluginkit.testing.networks import cond, loop, plain
from pluginkit.testing.networks.base import Answer, Applier, Setting
from pluginkit.testing.points import Point


class Family(Protocol):
    """What a module of this package offers."""

    NAME: str
    DESCRIPTION: str

    def controls(self, setting: Setting, point: Point) -> list[tuple[str, dict[str, Array]]]:
        """The runs at a point: (suffix of the case's id, feeds beside the plugin's inputs)."""

    def build(self, setting: Setting) -> Network:
        """The model with the plugin in it."""

    def sources(self, setting: Setting) -> dict[str, str]:
        """Graph output -> the plugin output that it shows."""

    def feedback(self, setting: Setting) -> list[tuple[str, str]]:
        """(input, output that is fed back into it)."""

    def oracle(self, applier: Applier, feeds: Mapping[str, Array]) -> Answer:
        """What must come out, by NumPy."""


FAMILIES: dict[str, Family] = {family.NAME: family for family in (plain, loop, cond)}
"""Every family by its name; `DESCRIPTION` says in a sentence what it is."""

__all__ = ["FAMILIES", "Family"]
