"""The worker's module of a run of checks in which one check has no body: see `tests.validation.emptied`."""

from __future__ import annotations

import os
from typing import Any

from pluginkit.process.child import Breadcrumb
from pluginkit.validation import CHECKS, child
from pluginkit.validation.child import CheckedLibrary

CHECK = "EMPTIED_CHECK"
"""The variable that has its id."""


def empty(name: str) -> None:
    """Takes the body of a check away, in this process: what it is asked of passes."""
    # The record stays the one that others have already taken from the catalogue.
    object.__setattr__(CHECKS[name], "ask", lambda _: None)


def open(breadcrumb: Breadcrumb, **init: Any) -> CheckedLibrary:  # noqa: A001
    """As `child.open`."""
    empty(os.environ[CHECK])
    return child.open(breadcrumb, **init)
