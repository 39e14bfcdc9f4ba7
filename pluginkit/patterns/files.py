"""Patterns in files: those that a project ships in its folder `patterns`, and others."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pluginkit.errors import UsageError
from pluginkit.patterns.pattern import Pattern

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = "patterns"
"""Of a project: its patterns, `NAME.toml`."""


def shipped_by(project: Path | None) -> dict[str, Path]:
    """The patterns of a project's folder, or of another one, by name."""
    files = sorted((project / FOLDER).glob("*.toml")) if project else []
    return {file.stem: file for file in files}


def of_file(path: Path) -> Pattern:
    """A pattern in a file.

    Raises:
        UsageError: it can't be read, or is none.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not TOML: {error}.") from None
    return of_text(text, str(path))


def of_text(text: str, source: str) -> Pattern:
    """A pattern in TOML; `source` names it in errors.

    Raises:
        UsageError: it is none.
    """
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{source} is not TOML: {error}.") from None
    return of_data(data, source)


def of_data(data: dict[str, Any], source: str) -> Pattern:
    """A pattern of plain data; `source` names it in errors.

    Raises:
        UsageError: it is none.
    """
    try:
        return Pattern.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        message = first["msg"].removeprefix("Value error, ")
        raise UsageError(f"{source}: {f'{where}: ' if where else ''}{message}.", hint="See docs/grafting.md.") from None
