"""`python -m pluginkit` is the same as `pluginkit`."""

from __future__ import annotations

from pluginkit.cli import main

main()
