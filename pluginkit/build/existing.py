"""A library that another build makes: `[library]` in `pluginkit.toml`. Its command is run, and its file is read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from pluginkit import elf
from pluginkit.build.artifact import Artifact
from pluginkit.errors import BuildFailed, UsageError
from pluginkit.library import gpu_code
from pluginkit.manifest.signature import LibrarySection
from pluginkit.process.programs import run

CONTROL = "pluginkit_cpu_control"
"""What a library of target cpu exports, and no other."""
SHOWN = 40
"""Lines of a failed command's output that an error has."""


def for_target(project: Path, section: LibrarySection, target: str, on_line: Callable[[str], None]) -> Artifact:
    """As `make`.

    Raises:
        UsageError: also where it is built for another target; `auto` is any.
    """
    made = make(project, section, on_line)
    if target not in ("auto", made.target):
        raise UsageError(
            f"{made.library} is built for target {made.target}, but target {target} was requested.",
            hint="Let [library] in pluginkit.toml name one for it; pluginkit test runs it where it was built for.",
        )
    return made


def make(project: Path, section: LibrarySection, on_line: Callable[[str], None] = lambda _: None) -> Artifact:
    """Run the command, if there is one, and find the library.

    Args:
        project: the folder of `pluginkit.toml`: paths are relative to it, and the command is run in it.
        section: what `pluginkit.toml` says.
        on_line: called with each line that the command prints.

    Raises:
        BuildFailed: the command ended with another status than 0.
        UsageError: there is no such library, or it is not one of this machine.
    """
    library = (project / section.path).resolve()
    if section.command:
        done = run(["/bin/sh", "-c", section.command], cwd=project, on_line=on_line)
        if not done.ok:
            output = "\n".join(done.stdout.splitlines()[-SHOWN:])
            raise BuildFailed(
                f"[library] command ended with {done.status}: {section.command}\n{output}",
                hint=f"It is run in {project}; correct it in pluginkit.toml, or what it builds.",
            )
    if not library.is_file():
        raise UsageError(
            f"pluginkit.toml says [library] path = {section.path!r}, and there is no file {library}.",
            hint="Build it, let `command` build it, or correct the path (relative to pluginkit.toml).",
        )
    exports = sorted({one.name for one in elf.read(library).exports})
    data = library.read_bytes()
    target = "gpu" if CONTROL not in exports and gpu_code.read(library) is not None else "cpu"
    info = {
        "target": target,
        "layouts": {},
        "exports": exports,
        "sha256": hashlib.sha256(data).hexdigest(),
        "size": len(data),
    }
    return Artifact(library, info)
