"""`python -m pluginkit` is the same as `pluginkit`."""

from __future__ import annotations

import sys

from pluginkit import installation

try:
    from pluginkit.cli import main
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] == "pluginkit":
        raise
    sys.stderr.write(
        f"error: {sys.executable} has no {error.name}, which pluginkit needs: pluginkit is not installed there.\n"
        f"  fix: {installation.again()}\n"
    )
    sys.exit(4)  # as for every missing tool

main()
