"""What a project's library was compiled from, as Ninja has it from the compilers' dependency files."""

from __future__ import annotations

from pathlib import Path

from pluginkit.build.cmake import tools
from pluginkit.errors import PluginkitError
from pluginkit.process import programs

_SECONDS = 60.0


def compiled_from(project: Path) -> frozenset[Path] | None:
    """The files that the last builds of a project read, sources of CMake included; None if it was never built."""
    found: set[Path] = set()
    folders = [file.parent for file in (project / "build").glob("*/cmake/build.ninja")]
    for folder in folders:
        try:
            _, ninja, _ = tools({})
            listed = programs.run([ninja, "-C", folder, "-t", "deps"], timeout=_SECONDS)
            inputs = programs.run([ninja, "-C", folder, "-t", "inputs", "all", "build.ninja"], timeout=_SECONDS)
        except PluginkitError:
            return None
        if not listed.ok or not inputs.ok:
            return None
        lines = [line.strip() for line in listed.stdout.splitlines() if line.startswith("    ")]
        found.update((folder / line).resolve() for line in (*lines, *inputs.stdout.splitlines()))
    return frozenset(found) if folders else None
