"""The projects of a repository: where they are, and a test run of all of them with one report."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pluginkit.errors import NothingSelected, PluginkitError, UsageError
from pluginkit.manifest import FILE_NAME
from pluginkit.manifest.project import root
from pluginkit.run.messages import MANY
from pluginkit.run.options import Options, Step
from pluginkit.run.several_plugins import Runs, named

_PASSED_OVER = frozenset({"build", "dist", "node_modules", "__pycache__"})


@dataclass(frozen=True)
class RepositoryProject:
    """A project of several.

    Attributes:
        folder: with its `pluginkit.toml`.
        name: its path below the folder that all are in, which ids begin with.
    """

    folder: Path
    name: str


def is_many(project: Path) -> bool:
    """Whether a path stands for all projects below a folder: `DIR/...`."""
    return project.name in MANY


def find(project: Path) -> tuple[RepositoryProject, ...]:
    """All projects below a folder, by path: each folder with a `pluginkit.toml`, but plugins added to another's.

    Args:
        project: the folder, with `...` behind it.

    Raises:
        UsageError: there is no such folder, or no project in it.
    """
    home = project.parent
    if not home.is_dir():
        raise UsageError(f"There is no folder {home}.", hint=f"pluginkit test DIR/{MANY[0]}")
    found = tuple(RepositoryProject(one, one.relative_to(home).as_posix()) for one in _folders(home))
    if not found:
        raise UsageError(f"No project is in {home}: no folder there has a {FILE_NAME}.", hint="pluginkit new MyPlugin")
    return found


def _folders(home: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(home):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _PASSED_OVER)
        folder = Path(place)
        if FILE_NAME in files and root(folder) == folder:
            yield folder


def run(
    projects: Sequence[RepositoryProject], options: Options, test: Callable[[Options, Step], Runs], step: Step
) -> Runs:
    """Test each project. A project that can't be tested is an error of the run's, and the others are tested.

    Args:
        projects: which.
        options: what is asked of each; `only` takes ids with a project's name, and patterns for all of them.
        test: a run of one project.
        step: called with each step of the progress.

    Raises:
        PluginkitError: no project could be run.
    """
    names = [one.name for one in projects]
    reports, errors, empty = [], [], []
    for place, one in enumerate(projects, 1):
        only = _only(one.name, names, options.only)
        if options.only and not only:
            continue

        lead = f"{one.name} ({place} of {len(projects)})"

        def named_step(what: str, done: int, total: int | None, lead: str = lead) -> None:
            step(f"{lead}: {what}", done, total)

        own = replace(options, project=one.folder, only=only, shard=options.shard and options.shard.within(one.name))
        try:
            found = test(own, named_step)
        except NothingSelected as error:
            empty.append(error)
        except PluginkitError as error:
            errors.append(error.worded(f"{one.name}: {error.message}"))
        else:
            # Two projects may hold plugins of one name.
            reports += [replace(named(part, one.name), plugin=f"{one.name}: {part.plugin}") for part in found.reports]
            errors += [error.worded(f"{one.name}: {error.message}") for error in found.errors]
    runs = Runs(tuple(reports), tuple(errors))
    if not reports:
        raise runs.error or (
            empty[0] if empty else NothingSelected(f"No project is called as in {' or '.join(options.only)}.")
        )
    return runs


def _only(name: str, names: Sequence[str], only: Sequence[str]) -> tuple[str, ...]:
    """The patterns for a project, without its name: a name may have several parts (`vision/scale`)."""
    found: list[str] = []
    for pattern in only:
        owner = max((one for one in names if pattern.startswith(f"{one}/")), key=len, default="")
        if owner in ("", name):
            found.append(pattern.removeprefix(f"{owner}/") if owner else pattern)
    return tuple(found)
