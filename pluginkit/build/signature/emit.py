"""What a project's layers are compiled with, written for a build without pluginkit: `pluginkit build --emit`."""

from __future__ import annotations

import shutil
from pathlib import Path

from pluginkit.build.cmake import put_changed
from pluginkit.build.signature.header import file_name, header
from pluginkit.errors import UsageError, from_os
from pluginkit.manifest.project import members, root
from pluginkit.paths import include_dir

_NOT_FOR_LIBRARIES = ("cpu", "python", "python.h")
"""Headers of target cpu and of Python modules, which pluginkit alone builds."""


def emit(project: Path, folder: Path) -> list[Path]:
    """Write the signatures of a project's plugins, and pluginkit's headers; the signatures' paths.

    Args:
        project: the folder with `pluginkit.toml`, or that of a plugin added to its library.
        folder: where the headers go; it is made where it isn't there.

    Raises:
        UsageError: no project, a pluginkit.toml that makes no layer, or a folder that may not be written.
    """
    made = {folder / file_name(one.manifest): header(one.manifest) for one in members(root(project.resolve()))}
    try:
        for path, text in made.items():
            put_changed(path, text)
        shutil.copytree(
            include_dir() / "pluginkit",
            folder / "pluginkit",
            ignore=shutil.ignore_patterns(*_NOT_FOR_LIBRARIES),
            dirs_exist_ok=True,
        )
    except (OSError, shutil.Error) as error:
        known = from_os(error, folder) if isinstance(error, OSError) else None
        raise UsageError(f"{folder} can't be written: {known.message if known else error}") from None
    return list(made)
