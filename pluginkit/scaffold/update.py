"""`pluginkit update`: what today's template has, brought into a project that an earlier pluginkit made.

A three-way merge, file by file: the base is what pluginkit had generated, one side is what the person made of it, the
other is what today's template makes for the same signature. The manifest is the person's alone. All is worked out
first, then written at once.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Literal

from pluginkit.errors import UsageError
from pluginkit.manifest import FILE_NAME as MANIFEST
from pluginkit.manifest.project import members
from pluginkit.paths import __version__
from pluginkit.scaffold import generated, merging, origin, template, writing
from pluginkit.scaffold.generated import Generated

What = Literal["updated", "added", "merged", "conflict", "removed", "kept", "left out"]


@dataclass(frozen=True)
class Change:
    """What an update does to a file.

    Attributes:
        path: the file.
        what: `updated`: it was unedited, and is today's; `added`; `merged`: edited, and today's changes are in
            it; `conflict`: edited where today's differs, both are in it between marks; `removed`: the template has it
            no more, and it was unedited; `kept`: the same, but edited; `left out`: the person has removed it.
        text: its new text; None: it isn't written.
        kept: where the file as it was is kept, if it was edited and is written.
        conflicts: the first and the last line of each conflict.
    """

    path: Path
    what: What
    text: str | None = None
    kept: Path | None = None
    conflicts: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Update:
    """What an update does, or did.

    Attributes:
        project: its folder.
        changes: the files that are not as they should be; without those that stay as they are.
        same: how many files stay as they are.
        unresolved: conflicts of an earlier update, by file and line.
        worked_out: folders of plugins whose base pluginkit had not kept, and worked out.
    """

    project: Path
    changes: tuple[Change, ...]
    same: int
    unresolved: tuple[tuple[Path, int], ...]
    worked_out: tuple[Path, ...]

    @property
    def conflicts(self) -> tuple[Change, ...]:
        """The files with conflicts of this update."""
        return tuple(change for change in self.changes if change.what == "conflict")


def update(project: Path, *, dry_run: bool = False) -> Update:
    """Update a project and the plugins that were added to it.

    Args:
        project: its folder.
        dry_run: write nothing.

    Raises:
        UsageError: no project, one that pluginkit has not made, a file of it can't be read or written, or conflicts of
            an earlier update are not resolved yet. Nothing is written then.
    """
    folder = (project.parent if project.is_file() else project).resolve()
    changes: list[Change] = []
    written: dict[Path, str | None] = {}
    unresolved: list[tuple[Path, int]] = []
    worked_out: list[Path] = []
    same = 0
    for member in members(folder):
        base = origin.load(member.folder)
        today = _today(base)
        worked_out += [member.folder] if not base.version else []
        for name in sorted({*base.files, *today.files}):
            path = member.folder / name
            ours = _text(path)
            unresolved += [(path, line) for line in merging.unresolved(ours or "")]
            change = _change(path, base.files.get(name), ours, today.files.get(name))
            if change is None:
                same += 1
                continue
            changes.append(change)
            if change.what == "removed" or change.text is not None:
                written[path] = change.text
            if change.kept is not None:
                written[change.kept] = ours
        if base.files != today.files or not base.version:
            written[member.folder / generated.FILE_NAME] = generated.dumps(today)
    done = Update(folder, tuple(changes), same, tuple(unresolved), tuple(worked_out))
    if written and not dry_run:
        if unresolved:
            path, line = unresolved[0]
            raise UsageError(
                f"A conflict of an earlier update is not resolved yet: {path}:{line}. Nothing was changed.",
                hint=f"Keep the lines after {merging.OURS} or after {merging.MIDDLE}, and remove the marks.",
            )
        writing.write(folder, written)
    return done


def _today(base: Generated) -> Generated:
    """What today's template makes for the signature that the base was made for."""
    text = base.files[MANIFEST]
    made = replace(base, version=__version__)
    with tempfile.TemporaryDirectory(prefix="pluginkit-update-") as scratch:
        files = generated.read_files(template.render(text, Path(scratch), made))
    return replace(made, files=files | {MANIFEST: text})


def _change(path: Path, base: str | None, ours: str | None, theirs: str | None) -> Change | None:
    """What becomes of a file: None if it stays as it is."""
    if theirs in {base, ours}:
        return None
    if ours is None:
        return Change(path, "added", theirs) if base is None else Change(path, "left out")
    if theirs is None:
        return Change(path, "removed") if ours == base else Change(path, "kept")
    if ours == base:
        return Change(path, "updated", theirs)
    merged = merging.merge(base or "", ours, theirs, label=f"pluginkit {__version__}")
    if merged.text == ours:
        return None
    what: What = "conflict" if merged.conflicts else "merged"
    return Change(path, what, merged.text, _free(path), merged.conflicts)


def _free(path: Path) -> Path:
    """A free name for the file as it was."""
    names = (path.with_name(f"{path.name}.orig{number if number > 1 else ''}") for number in count(1))
    return next(one for one in names if not one.exists() and not one.is_symlink())


def _text(path: Path) -> str | None:
    """A file's text with its line ends as they are; None if there is no such file."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}.", hint="Nothing was changed.") from None
