"""Which plugins one library holds: a project's own, and those that `pluginkit add` has put into `plugins/`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pluginkit.errors import UsageError
from pluginkit.manifest import FILE_NAME, Manifest

ADDED = "plugins"
"""Each folder in it with a pluginkit.toml, and without a CMakeLists.txt of its own, is a plugin of the same library."""


@dataclass(frozen=True)
class Member:
    """A plugin of a library: the folder with its `pluginkit.toml` and `reference.py`, and its manifest."""

    folder: Path
    manifest: Manifest

    @property
    def name(self) -> str:
        """The plugin's name: no two plugins of a library share it."""
        return self.manifest.plugin.name


def root(folder: Path) -> Path:
    """The project whose library holds the plugin of `folder`: the folder itself, unless the plugin was added."""
    project = folder.resolve().parent.parent
    return project if _is_added(folder.resolve()) and (project / FILE_NAME).is_file() else folder


def members(project: Path) -> tuple[Member, ...]:
    """The plugins of a project's library, its own first; of an added plugin's folder that one alone.

    Raises:
        UsageError: one of them has no pluginkit.toml that makes sense, or two are called alike.
    """
    found = [Member(project, Manifest.load(project))]
    for file in sorted((project / ADDED).glob(f"*/{FILE_NAME}")):
        if not _is_added(file.parent):
            continue
        manifest = Manifest.load(file)
        if problem := clash(manifest, found):
            raise UsageError(f"{file}: {problem}.", hint="Give one of them another name.")
        found.append(Member(file.parent, manifest))
    return tuple(found)


def clash(manifest: Manifest, others: Iterable[Member]) -> str:
    """Why a plugin can't be in one library with others; empty if it can.

    TensorRT could distinguish two versions of a name. Files and C++ names are called by the name alone.
    """
    name = manifest.plugin.name
    for other in others:
        if other.name == name:
            return f"the library has a plugin {name} already (version {other.manifest.plugin.version})"
        if other.manifest.slug == manifest.slug:
            return f"the library has a plugin {other.name}, and files of both would be called {manifest.slug}"
    return ""


def _is_added(folder: Path) -> bool:
    return folder.parent.name == ADDED and not (folder / "CMakeLists.txt").exists()
