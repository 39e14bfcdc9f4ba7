"""The console of every command."""

from __future__ import annotations

import sys

from rich.console import Console

UNLIMITED = 10_000
"""Columns where nothing is a terminal: tables are as wide as what they have."""


def console(*, stderr: bool = False) -> Console:
    """Where a command prints; `stderr` where stdout has the result itself.

    Lines of text are broken by the terminal itself alone, which knows where a line that is copied ends: so a command is
    pasted into a shell as it was printed. In a pipe nothing is broken or cut.
    """
    stream = sys.stderr if stderr else sys.stdout
    is_terminal = stream is not None and stream.isatty()
    return Console(stderr=stderr, soft_wrap=True, width=None if is_terminal else UNLIMITED)
