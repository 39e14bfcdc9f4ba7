"""PyPI's distribution `pluginkit`, another project: its package has the same name, and its files overwrite ours."""

from __future__ import annotations

import os
import sys

SAID = "PLUGINKIT_FOREIGN"
"""The environment variable that keeps the processes that pluginkit starts from saying it again."""


def found() -> str:
    """Its dist-info folder on Python's path; empty where it is not installed."""
    for place in sys.path:
        try:
            names = os.listdir(place or ".")  # noqa: PTH208 - every import of pluginkit waits for it
        except OSError:
            continue
        for name in names:
            if name.startswith("pluginkit-") and name.endswith(".dist-info"):
                return os.path.join(place, name)  # noqa: PTH118
    return ""


def message(place: str) -> str:
    """What is wrong, and the commands that make it right."""
    from pluginkit import installation

    return (
        f"{place} is of another project, whose package is called pluginkit too: its files and this pluginkit's "
        f"overwrite each other. Uninstall it, then install this one again:\n"
        f"  {sys.executable} -m pip uninstall --yes pluginkit\n  {installation.again()}"
    )


def warn() -> None:
    """Say so once for a program and all processes that it starts.

    Warns:
        RuntimeWarning: the other distribution is in this environment.
    """
    if not (place := found()) or os.environ.get(SAID) == place:
        return
    import warnings

    os.environ[SAID] = place
    warnings.warn(message(place), RuntimeWarning, stacklevel=3)
