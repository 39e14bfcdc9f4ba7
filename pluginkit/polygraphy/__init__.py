"""Runners for `polygraphy run`, by its entry point `polygraphy.run.plugins`."""

from __future__ import annotations

from typing import Any


def arguments() -> list[Any]:
    """Polygraphy's entry point: what is added to the command line of `polygraphy run`."""
    # Polygraphy loads this with each `polygraphy run`, and warns where it can't.
    from pluginkit.polygraphy.arguments import KernelRunnerArgs, ReferenceRunnerArgs

    return [KernelRunnerArgs(), ReferenceRunnerArgs()]
