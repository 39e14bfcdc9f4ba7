"""Findings that are known: a file of them, so that a check of an old library fails for what is new."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from pluginkit.errors import UsageError
from pluginkit.process import files
from pluginkit.validation.results import CheckResult, Ending


class KnownFinding(BaseModel):
    """A finding of a baseline: the check's id, the plugin as `Name version`, and the method that showed it."""

    model_config = ConfigDict(extra="forbid")
    check: str
    plugin: str
    method: str


class KnownFindings(BaseModel):
    """The file."""

    model_config = ConfigDict(extra="forbid")
    known: list[KnownFinding]


def read(path: Path) -> KnownFindings:
    """The findings of a file that `write` has written.

    Raises:
        UsageError: no such file, or it is none.
    """
    try:
        return KnownFindings.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        hint = f"--write-baseline {path} makes it of what is found now."
        raise UsageError(f"There is no baseline {path}.", hint=hint) from None
    except (ValueError, ValidationError):
        hint = "--write-baseline FILE writes one."
        raise UsageError(f"{path} is not a baseline of pluginkit check.", hint=hint) from None


def write(path: Path, results: Sequence[CheckResult]) -> None:
    """Write the findings among the results to a file."""
    known = [KnownFinding(check=one.check, plugin=one.plugin, method=one.method) for one in results if one.is_finding]
    files.write(path, KnownFindings(known=known).model_dump_json(indent=2) + "\n")


def apply(baseline: KnownFindings, results: Sequence[CheckResult]) -> tuple[CheckResult, ...]:
    """The results, those that are known marked as such."""
    known = {(one.check, one.plugin, one.method) for one in baseline.known}
    return tuple(replace(one, ending=Ending.KNOWN) if one.is_finding and one.key in known else one for one in results)
