"""A problem of a library or a model, with its fix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Problem:
    """A sentence on what is wrong.

    Attributes:
        level: `error` if no user can use it so, `warning` if it concerns only some.
        text: what is wrong, and where.
        fix: what to do.
        rule: the rule's id, as M3; empty where it has none.
        node: the node of the model that it is about; empty if it is about none.
    """

    level: Literal["error", "warning"]
    text: str
    fix: str = ""
    rule: str = ""
    node: str = ""
