"""Runs CMake and Ninja in a build folder: their output, their errors, and files put in place."""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from pluginkit.build import cache, toolchain
from pluginkit.build.artifact import Artifact
from pluginkit.build.exports import check_exports
from pluginkit.build.output import BuildOutput, hint_for
from pluginkit.errors import FULL, BuildFailed, fullest
from pluginkit.library import build_record
from pluginkit.paths import __version__
from pluginkit.process import files
from pluginkit.process.early_build import ENVIRONMENT, INIT, EarlyBuild
from pluginkit.process.programs import Program

Progress = Callable[[str], None]
"""Called with Ninja's progress (a `Step`), a compiler's output, and why all is compiled again."""


_NO_ROOM = 64 << 10
"""Bytes: less than a source's object."""
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
"""What a terminal takes for colours, and for the rest of a line to be cleared."""


def configure(
    project: Path,
    folder: Path,
    cmake: Path,
    settings: dict[str, str],
    progress: Progress,
    begun: EarlyBuild | None = None,
) -> bool:
    """Configure once, and again when a setting has changed: a stale cache would keep the old compiler or headers.

    What has begun in the folder is ended then.

    Returns:
        Whether it was configured now.

    Raises:
        BuildFailed: with CMake's errors.
    """
    script = cache.script({**settings, "PLUGINKIT_PROJECT": str(project)})
    init = folder / INIT
    before = init.read_text(encoding="utf-8") if init.exists() else ""
    if (folder / "build.ninja").exists() and before == script:
        return False
    if begun is not None:
        begun.cancel()
    if (folder / "build.ninja").exists():
        progress(f"Everything is compiled again: {cache.difference(before, script)}.")
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    init.write_text(script, encoding="utf-8")
    run_tool([cmake, "-G", "Ninja", "-C", init, "-S", project, "-B", folder], folder, progress)
    return True


def run_tool(command: Sequence[str | Path], folder: Path, progress: Progress, begun: EarlyBuild | None = None) -> None:
    """Run CMake or Ninja, or take over what has begun with that command, and write all its output to pluginkit.log.

    Raises:
        BuildFailed: with the errors of the compiler, the linker or CMake.
        OSError: a disk is full.
    """
    log = folder / "pluginkit.log"
    output = BuildOutput(progress)
    with log.open("w", encoding="utf-8") as file:

        def on_line(line: str) -> None:
            line = _ESCAPES.sub("", line)
            file.write(line + "\n")
            output.take(line)

        result = begun.finish([str(word) for word in command], on_line) if begun is not None else None
        if result is None:
            result = Program(command, env=ENVIRONMENT, terminal=True).finish(on_line=on_line)
    if not result.ok:
        _refuse_full_disk(result.stdout, folder)
        tail = _ESCAPES.sub("", result.stdout).splitlines()[-20:]
        message = "\n".join(output.errors or tail or [f"{command[0]} ended with {result.status}."])
        hint = hint_for(message) or "Correct what is named above, where it is in your files."
        raise BuildFailed(message, hint=f"{hint}\n  The whole output is in {log}.")


def _refuse_full_disk(output: str, folder: Path) -> None:
    """Raises where a tool has failed for it. Not every tool says so: CMake reports what it then misses.

    Raises:
        OSError: ENOSPC or EDQUOT, with the folder whose disk it is.
    """
    place = fullest(folder) or folder
    said = [number for number in FULL if os.strerror(number) in output]
    if said or shutil.disk_usage(place).free < _NO_ROOM:
        number = said[0] if said else errno.ENOSPC
        raise OSError(number, os.strerror(number), str(place))


def put(path: Path, content: bytes, mode: int) -> None:
    """Write a new file and rename it: a kill leaves the old one or the new one, a failure the old one alone.

    Raises:
        UsageError: it can't be written.
    """
    with files.replacing(path) as new:
        new.write_bytes(content)
        new.chmod(mode)


def put_changed(path: Path, text: str) -> None:
    """Write a file that CMake or a source reads, unless it has the text: what depends on it would be made again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def tools(settings: dict[str, str]) -> tuple[Path, Path, dict[str, str]]:
    """CMake, Ninja, and the settings with both, so that another version of either is noticed.

    Raises:
        ToolMissing: one is missing, or too old.
    """
    cmake, ninja = toolchain.cmake().best(), toolchain.ninja().best()
    noted = f"{settings['PLUGINKIT_TOOLS']}, CMake {cmake.version}, Ninja {ninja.version}"
    return cmake.path, ninja.path, {**settings, "CMAKE_MAKE_PROGRAM": str(ninja.path), "PLUGINKIT_TOOLS": noted}


def install(described: dict[str, object], library: Path, name: str) -> Artifact:
    """Check the library and put it in place by renaming, so that a process that has the old one open keeps it.

    Args:
        described: what CMake wrote of it.
        library: its place.
        name: of the init function that it exports.

    Raises:
        BuildFailed: it doesn't export what hosts look for.
    """
    built = Path(str(described["library"]))
    exports = check_exports(built, name)
    data = built.read_bytes()
    info = build_record.make(described, exports, data, __version__)
    record, text = build_record.path(library), build_record.text(info)
    artifact = Artifact(library, info)
    if library.exists() and library.read_bytes() == data and record.exists() and record.read_text() == text:
        return artifact
    put(library, data, 0o755)
    put(record, text.encode(), 0o644)
    return replace(artifact, fresh=True)
