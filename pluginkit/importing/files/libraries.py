"""The plugin libraries that are given with a model: built, if they are projects', and asked for their creators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pluginkit import layouts
from pluginkit.build import Instrumentation, build, instrumentations
from pluginkit.build.artifact import library_path
from pluginkit.build.sources import build_checked, built_here
from pluginkit.creators import loading
from pluginkit.creators.facts import CreatorFacts
from pluginkit.creators.loading import Loaded
from pluginkit.errors import CheckFailed, PluginCrashed, UsageError
from pluginkit.importing.implementations import PluginLibrary
from pluginkit.layouts import TargetName
from pluginkit.library import inspect
from pluginkit.library.loadable import loadable
from pluginkit.library.origin import registers_here, registration
from pluginkit.manifest import FILE_NAME, Manifest
from pluginkit.manifest.project import Member, members, root

Progress = Callable[[str], None]


def read(paths: Sequence[Path], sanitize: Sequence[str], timeout: float, progress: Progress) -> list[PluginLibrary]:
    """Libraries, and those of projects, each with its creators.

    Args:
        paths: libraries, and folders of projects, which are built first.
        sanitize: checks with which each is built, too, of `pluginkit.build.SANITIZERS`.
        timeout: seconds for loading each.
        progress: called with what is done.

    Raises:
        UsageError: no library, no such check, or no plugin or no sources for it.
        ToolMissing, BuildFailed: a project doesn't build.
        PluginCrashed: a library takes the process down on loading, or hangs.
        CheckFailed: no host takes a library.
    """
    if sanitize and not paths:
        raise UsageError("--sanitize is for plugins, and none is given.", hint="Give their projects by --plugins.")
    checks = instrumentations(sanitize) if sanitize else ()
    for instrumentation in checks:
        # Before a library is compiled for nothing.
        instrumentation.environment()
    return [_library(path, timeout, checks, progress) for path in paths]


def targets(paths: Sequence[Path]) -> tuple[TargetName, ...]:
    """The TensorRTs that the projects among `paths` name in their `[targets]`, each once."""
    folders = [path if path.is_dir() else path.parent for path in paths if path.is_dir() or path.name == FILE_NAME]
    found = [name for folder in folders for member in members(root(folder)) for name in member.manifest.named_targets]
    return tuple(dict.fromkeys(found))


def _library(path: Path, timeout: float, checks: Sequence[Instrumentation], progress: Progress) -> PluginLibrary:
    """A library or a project's library, with its creators."""
    project: Path | None
    if path.is_dir() or path.name == FILE_NAME:
        project = path if path.is_dir() else path.parent
        progress(f"building {project}")
        library = build(project, "cpu")[0].library
    else:
        library, project = path, project_of(path)
    facts = inspect(library)
    progress(f"loading {library.name}")
    version, creators = _creators(library, timeout)
    plugins = members(root(project)) if project else _without_project(library)
    checked = {instrumentation: _checked(path, project, instrumentation, progress) for instrumentation in checks}
    registers = registration(facts.elf) is not None
    for_rtx = registers_here(facts.elf, rtx=True) is not None
    return PluginLibrary(library.resolve(), creators, plugins, facts.target, checked, version, registers, for_rtx)


def _checked(path: Path, project: Path | None, instrumentation: Instrumentation, progress: Progress) -> Path:
    """The library with checks compiled in."""
    if project is None and built_here(path):
        progress(f"building {path.name} with {instrumentation.name}")
        return build_checked(path, instrumentation).library.resolve()
    if project is None or members(root(project))[0].manifest.library is not None:
        raise UsageError(
            f"--sanitize compiles its checks in, and {path} is run as it is.",
            hint="Give the plugin's project by --plugins, or a library of pluginkit build --sources with the folder "
            f"{path.stem}.build beside it; of another build pluginkit compiles no sources.",
        )
    progress(f"building {project} with {instrumentation.name}")
    return build(project, "cpu", instrumentation=instrumentation)[0].library.resolve()


def _without_project(library: Path) -> tuple[Member, ...]:
    """The plugins by the manifest in the library's own folder, for a library that comes without its project."""
    folder = library.resolve().parent
    return (Member(folder, Manifest.load(folder)),) if (folder / FILE_NAME).is_file() else ()


def project_of(library: Path) -> Path | None:
    """The project whose build made it, by where it lies."""
    parents = library.resolve().parents
    if len(parents) < 3 or not (parents[2] / FILE_NAME).is_file():
        return None
    project = parents[2]
    try:
        slug = Manifest.load(project).slug
    except UsageError:
        return None
    own = [library_path(project, slug, target).resolve() for target in ("cpu", "gpu")]
    return project if library.resolve() in own else None


def _creators(library: Path, timeout: float) -> tuple[int, tuple[CreatorFacts, ...]]:
    """As pluginkit's host has them, as the first TensorRT that gets any, and which that is: a V2 library gives V2
    creators."""
    answers: list[Loaded] = []
    for version in (*(one.host_version for one in loadable(library)), layouts.RTX_HOST):
        answers.append(loading.in_host(library, version, timeout=timeout))
        if answers[-1].status == "loaded":
            return version, answers[-1].creators
        if answers[-1].status in {"crashed", "hung"}:
            raise PluginCrashed(
                f"{library} cannot be loaded: {answers[-1].message}", hint=f"pluginkit inspect --load {library}"
            )
    raise CheckFailed(
        f"no host takes {library}: {answers[0].message}", hint=f"pluginkit inspect --load {library} shows more."
    )
