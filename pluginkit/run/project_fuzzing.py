"""`pluginkit check --fuzz` of a project: its library is built, and its manifests say how plugins are made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pluginkit.build import build, coverage
from pluginkit.errors import BuildFailed, ToolMissing
from pluginkit.manifest.project import Member, members, root
from pluginkit.run.project_checks import ProjectOptions, chosen_members, is_strict, library_of
from pluginkit.validation.checking import Step
from pluginkit.validation.fuzzing.fuzzing import CoveredLibrary
from pluginkit.validation.fuzzing.libfuzzer import SOURCE


@dataclass(frozen=True)
class FuzzedProject:
    """What there is to fuzz of a project.

    Attributes:
        library: its own, or the one that is named.
        members: its plugins' manifests.
        strict: whether findings that break no promise are failures.
        coverage: the same, built so that libFuzzer sees which code is reached; or why there is none.
    """

    library: Path
    members: tuple[Member, ...]
    strict: bool
    coverage: CoveredLibrary | str


def prepare(asked: ProjectOptions, *, covered: bool, step: Step = lambda *_: None) -> FuzzedProject:
    """Build a project's library, unless one is named; twice where clang's libFuzzer is to be used and is here.

    Raises:
        PluginkitError: it can't be built, or a manifest makes no sense.
    """
    project = root(asked.project.resolve())
    there = members(project)
    library, as_it_is = library_of(asked, project, there[0], step)
    coverage: CoveredLibrary | str = "the library is taken as it is"
    if covered and not as_it_is:
        coverage = _covered(project, step)
    return FuzzedProject(library, there, asked.strict or is_strict(chosen_members(there, asked.creators)), coverage)


def _covered(project: Path, step: Step) -> CoveredLibrary | str:
    try:
        archive = coverage.find()
    except ToolMissing as error:
        return f"{error.message} {error.hint}"
    step("building for libFuzzer", 0, None)
    try:
        library = build(project, "cpu", instrumentation=coverage.COVERAGE)[0].library
    except BuildFailed as error:
        return f"{archive.cxx} does not build the project: {error.message.splitlines()[-1]}"
    try:
        libfuzzer = coverage.link(archive, SOURCE, library.parent)
    except BuildFailed as error:
        return error.message.splitlines()[0].removesuffix(".")
    return CoveredLibrary(library, libfuzzer, archive.version)
