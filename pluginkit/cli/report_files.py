"""The files that a command is to write its report to."""

from __future__ import annotations

import os
from pathlib import Path

import click

from pluginkit.errors import UsageError

json_option = click.option(
    "--json",
    "json_file",
    type=click.Path(path_type=Path, allow_dash=True),
    metavar="FILE",
    help="Write the results as JSON to FILE (-: stdout).",
)
"""Of every command with a report: a file, or stdout for `-`."""


def check_writable(file: Path | None) -> None:
    """Refuse a report's path before the run, not after it.

    Raises:
        UsageError: it can't be written.
    """
    if file is None or str(file) == "-":
        return
    folder = file.absolute().parent
    # A file that is there needs no right to its folder: /dev/stdout, for one.
    if file.is_dir() or not folder.is_dir() or not os.access(file if file.exists() else folder, os.W_OK):
        raise UsageError(f"{file} cannot be written.", hint=f"Is {folder} a folder that you may write to?")
