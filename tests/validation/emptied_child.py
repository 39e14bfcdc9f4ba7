"""The worker's module of a run of checks in which one check has no body: see `tests.validation.emptied`."""

from __future__ import annotations

import os
from typing import Any

from pluginkit.process.worker_main import CallFile
from pluginkit.validation import CHECKS, validation_worker
from pluginkit.validation.validation_worker import CheckedLibrary

CHECK = "EMPTIED_CHECK"
"""The variable that has its id."""


def empty(name: str) -> None:
    """Takes the body of a check away, in this process: what it is asked of passes."""
    # The record stays the one that others have already taken from the catalogue.
    object.__setattr__(CHECKS[name], "ask", lambda _: None)


def open(call_file: CallFile, **init: Any) -> CheckedLibrary:  # noqa: A001
    """As `validation_worker.open`."""
    empty(os.environ[CHECK])
    return validation_worker.open(call_file, **init)
