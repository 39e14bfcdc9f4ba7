"""`--changed-since REV`: which projects of a repository a change concerns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pluginkit.errors import ToolMissing, UsageError
from pluginkit.process import programs
from pluginkit.run.monorepo.dependencies import compiled_from

SHARED = frozenset({".cu", ".cuh", ".cpp", ".cc", ".cxx", ".c", ".h", ".hpp", ".hh", ".hxx", ".inl", ".cmake", ".py"})
"""Ends of the names of files that a project may read though they lie outside of its folder."""
_SECONDS = 60.0


@dataclass(frozen=True)
class Concerned:
    """What a change concerns.

    Attributes:
        projects: those, in the order that was given.
        why: for people: why it is all of them, where git couldn't tell or a file is shared; empty otherwise.
    """

    projects: tuple[Path, ...]
    why: str = ""


def concerned(projects: Sequence[Path], folder: Path, revision: str) -> Concerned:
    """The projects that something has changed in since a revision, committed or not.

    A file in a project's folder concerns that project, and those that were compiled from it, as their last build's
    dependencies say, wherever it lies. A project without a build may be compiled from any source, header or CMake file
    outside of all of them. A changed submodule concerns the projects in it.

    Args:
        projects: folders with a `pluginkit.toml`.
        folder: where git is asked.
        revision: a commit, branch or tag. What counts is what has changed since HEAD left it.

    Raises:
        ToolMissing: no git.
        UsageError: no repository, none that git reads, or no such revision.
    """
    changed = _changed(folder, revision)
    if isinstance(changed, str):
        return Concerned(tuple(projects), changed)
    homes = {one: one.resolve() for one in projects}
    # The innermost project is the one that a file belongs to.
    owners = {file: _owner(file, homes) for file in changed}
    found = {owner for owner in owners.values() if owner}
    # Of a submodule, and of a new repository inside this one, git names the folder alone.
    found |= {one for one, home in homes.items() if not changed.isdisjoint(home.parents)}
    shared = [file for file, owner in owners.items() if owner is None and _may_be_read(file)]
    for project in (one for one in projects if one not in found and changed):
        read = compiled_from(project)
        if (read is None and shared) or (read and not read.isdisjoint(changed)):
            found.add(project)
    why = f"{_named(shared)} lies outside of all projects, and concerns those that read it" if shared else ""
    return Concerned(tuple(one for one in projects if one in found), why)


def _owner(file: Path, homes: dict[Path, Path]) -> Path | None:
    inside = [(len(home.parts), one) for one, home in homes.items() if file.is_relative_to(home)]
    return max(inside)[1] if inside else None


def _may_be_read(file: Path) -> bool:
    return file.suffix in SHARED or file.name == "CMakeLists.txt"


def _named(files: Sequence[Path]) -> str:
    more = f" (and {len(files) - 1} more)" if len(files) > 1 else ""
    return f"{files[0].name}{more}"


def _changed(folder: Path, revision: str) -> set[Path] | str:
    """The files; or why git can't tell."""
    top = _git(folder, "rev-parse", "--show-toplevel")
    if "not a git repository" in top.stderr:
        raise UsageError(f"--changed-since asks git, and {folder} is in no repository.", hint="Leave it out.")
    _check(top)  # in a container git may refuse a repository of another user's
    home = Path(top.stdout.strip()).resolve()
    base = _git(folder, "merge-base", "--end-of-options", revision, "HEAD")
    if not base.ok:
        if _git(folder, "rev-parse", "--is-shallow-repository").stdout.strip() == "true":
            return f"this is a shallow clone, which doesn't reach back to {revision}: all projects are tested"
        raise UsageError(
            f"--changed-since {revision}: git knows no such revision, or it has nothing in common with HEAD.",
            hint="A commit, branch or tag: origin/main. CI systems fetch other branches only when asked to.",
        )
    # Against what lies in the folder, so that what isn't committed counts. With renames a file would be left out.
    tracked = _check(_git(home, "diff", "--no-renames", "--name-only", "-z", base.stdout.strip()))
    new = _check(_git(home, "ls-files", "--others", "--exclude-standard", "-z"))
    return {home / name for name in _names(tracked.stdout, new.stdout)}


def _names(*listings: str) -> Iterable[str]:
    return (name for text in listings for name in text.split("\0") if name)


def _check(answer: programs.Completed) -> programs.Completed:
    """Raises git's own words: a listing that failed must not be taken for one of nothing."""
    if not answer.ok:
        raise UsageError(f"--changed-since asks git, and {answer}:\n{answer.stderr.strip()}", hint="Leave it out.")
    return answer


def _git(folder: Path, *arguments: str) -> programs.Completed:
    try:
        return programs.run(["git", *arguments], cwd=folder, env={"LC_ALL": "C"}, timeout=_SECONDS)
    except ToolMissing:
        raise ToolMissing("--changed-since asks git, which is not installed.", hint="apt install git") from None
