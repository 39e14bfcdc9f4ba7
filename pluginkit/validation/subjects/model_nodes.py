"""The nodes of a plugin in an ONNX model."""

from __future__ import annotations

from dataclasses import dataclass

from pluginkit.adoption.answers import ListedCreator
from pluginkit.library import Problem


@dataclass(frozen=True)
class ModelSubject:
    """A model, as one creator sees it.

    Attributes:
        creator: whose nodes.
        nodes: labels of the nodes that reach the plugin.
        attributes: the names of these nodes' attributes.
        declared: whether there is a pluginkit.toml of the plugin.
        problems: what breaks a rule at these, or at nodes of the plugin's name that don't reach it.
    """

    creator: ListedCreator
    nodes: tuple[str, ...]
    problems: tuple[Problem, ...]
    attributes: frozenset[str] = frozenset()
    declared: bool = False

    def of(self, rule: str) -> tuple[Problem, ...]:
        """What breaks one rule."""
        return tuple(one for one in self.problems if one.rule == rule)
