"""A built library and its build record."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pluginkit.errors import UsageError
from pluginkit.library import build_record
from pluginkit.manifest import Manifest
from pluginkit.manifest.project import root

TARGETS = ("cpu", "gpu")
ASKED = {"cpu": ("cpu",), "gpu": ("gpu",), "all": TARGETS}
"""What `--target` and `[build]` may name, and the targets that it stands for; `auto` depends on the machine."""


@dataclass(frozen=True)
class Artifact:
    """A built library.

    Attributes:
        library: `build/<target>/lib<slug>.so`.
        info: its build record (`pluginkit.library.build_record`).
        fresh: whether this build made it again; False if nothing had changed.
        module: the Python module next to it, where this build was asked for it and the project has one.
    """

    library: Path
    info: dict[str, Any]
    fresh: bool = False
    module: Path | None = None

    @property
    def target(self) -> str:
        """`cpu` or `gpu`."""
        return str(self.info["target"])


def library_path(project: Path, slug: str, target: str) -> Path:
    """Where a project's library of a target lies."""
    return project / "build" / target / f"lib{slug}.so"


def find_artifact(project: Path, target: str = "cpu") -> Artifact:
    """The library that the last build of `target` made.

    Raises:
        UsageError: there is none, or its JSON file is gone or no JSON.
    """
    project = root(project)
    library = library_path(project, Manifest.load(project).slug, target)
    if not library.exists():
        raise UsageError(f"{library} is not built yet.", hint=f"pluginkit build --target {target}")
    try:
        info = json.loads(build_record.path(library).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{build_record.path(library)} cannot be read: {error}", hint=f"pluginkit build --target {target}"
        ) from None
    return Artifact(library, info)
