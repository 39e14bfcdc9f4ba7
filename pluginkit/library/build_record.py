"""What a build writes beside a library: a JSON file of the same name, which says how it was made."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class BuildRecord:
    """The JSON file that `pluginkit build` writes beside a library.

    Attributes:
        path: where it is.
        content: what it says; None if it cannot be read.
        same: whether its hash is that of the library.
    """

    path: Path
    content: dict[str, Any] | None
    same: bool


def read(library: Path, digest: str) -> BuildRecord | None:
    """The record beside a library whose SHA-256 is `digest`; None if there is none."""
    file = library.with_suffix(".json")
    if not file.is_file():
        return None
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return BuildRecord(file, None, False)
    if not isinstance(content, dict):
        return BuildRecord(file, None, False)
    return BuildRecord(file, content, content.get("sha256") == digest)
