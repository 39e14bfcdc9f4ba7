"""Everything that pluginkit raises for the user to read, each class with the exit code it ends the command with.

Exit codes: 0 all right; 1 a check or comparison failed; 2 usage or configuration; 3 nothing selected;
4 a tool or runtime is missing; 5 the build failed; 6 a plugin crashed; 70 a bug in pluginkit; 130 stopped by Ctrl-C;
141 the reader of the output went away.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import ClassVar, TypeVar

from typing_extensions import Self

from pluginkit import installation

E = TypeVar("E", bound="PluginkitError")


class PluginkitError(Exception):
    """An error with a message (what happened, where, what was expected) and a hint (what to do)."""

    exit_code: ClassVar[int] = 70

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword-only arguments would be lost on the way between processes.
        return _rebuild, (type(self), self.message, self.hint, self.__dict__.copy())

    def worded(self, message: str) -> Self:
        """The same error with another message: its class, its hint and what else it has."""
        return _rebuild(type(self), message, self.hint, {**self.__dict__, "message": message})


def _rebuild(kind: type[E], message: str, hint: str, state: dict[str, object]) -> E:
    # No class's own __init__: each has other arguments.
    error = kind.__new__(kind)
    PluginkitError.__init__(error, message, hint=hint)
    error.__dict__.update(state)
    return error


class CheckFailed(PluginkitError):
    """The plugin did something wrong: a wrong value, shape, type or answer."""

    exit_code = 1


class UsageError(PluginkitError):
    """A command line, a file or a `pluginkit.toml` that is wrong."""

    exit_code = 2


class NothingSelected(PluginkitError):
    """The filters and options leave nothing to run."""

    exit_code = 3


class ToolMissing(PluginkitError):
    """A compiler, a runtime or a package that is not on this machine, or too old."""

    exit_code = 4


class FarmLost(ToolMissing):
    """Workers or the scheduler of a farm are gone in the middle of a run, or can't do what they are asked."""


def native_missing() -> ToolMissing:
    """The error of a pluginkit that was never installed: its sources are there, what is compiled of them is not."""
    return ToolMissing(
        f"The native module of pluginkit in {Path(__file__).parent} is not built for this Python ({sys.executable}).",
        hint=installation.again(),
    )


def native_stale() -> ToolMissing:
    """The error of a checkout whose sources are newer than what is compiled of them."""
    return ToolMissing(
        f"The native module of pluginkit in {Path(__file__).parent} was built of other sources than those there.",
        hint=installation.again(),
    )


def from_import(error: ModuleNotFoundError) -> ToolMissing | None:
    """The error for the user, where what is missing is pluginkit's native module; None for others, which are bugs."""
    return native_missing() if error.name == "pluginkit._native" else None


class BuildFailed(PluginkitError):
    """CMake, a compiler or the linker failed."""

    exit_code = 5


class PluginCrashed(PluginkitError):
    """The plugin took its process down, or never came back."""

    exit_code = 6


_OF_THE_MACHINE = {
    errno.EACCES: "Is it yours to read and write?",
    errno.EPERM: "Is it yours to read and write?",
    errno.EROFS: "Copy what you work on to a folder that may be written.",
    errno.ENOSPC: "Make room there.",
    errno.EDQUOT: "Make room there.",
}
"""What a folder or a disk can have against being written, and what to do: never a bug of ours."""


FULL = (errno.ENOSPC, errno.EDQUOT)
"""What a full disk says."""
_SOME_ROOM = 1 << 20
"""Bytes. What could not be written is gone, and its room is free again."""


def from_os(error: OSError, folder: Path | None = None) -> UsageError | None:
    """An operating system's refusal to let a file be read or written as a sentence; None if it is something else.

    Args:
        error: what Python raised, without a path where a write failed.
        folder: what was being written, if known: the current folder.
    """
    if "usable temporary directory" in str(error.strerror):
        # What Python's tempfile raises, without a file's name.
        return UsageError(f"{error.strerror}.", hint="Set TMPDIR to a folder that can be written.")
    if isinstance(error, FileNotFoundError) and not _has_a_folder():
        return UsageError("The current folder was deleted.", hint="Change to one that is there: cd ~")
    hint = _OF_THE_MACHINE.get(error.errno or 0)
    if hint is None:
        return None
    if isinstance(error.filename, (str, bytes, os.PathLike)):
        where = os.fsdecode(error.filename)
    else:
        where = str(fullest(folder or Path.cwd()) or "A file") if error.errno in FULL else "A file"
    return UsageError(f"{where}: {os.strerror(error.errno or 0)}.", hint=hint)


def fullest(*folders: Path) -> Path | None:
    """Of the folders, and that of temporary files, the one whose disk has least room; None if all have some."""
    temporary = Path(os.environ.get("TMPDIR") or tempfile.gettempdir())
    free = {one: shutil.disk_usage(one).free for one in (*folders, temporary) if one.is_dir()}
    place = min(free, key=free.__getitem__)
    return place if free[place] < _SOME_ROOM else None


def unwritable(path: Path, error: OSError) -> UsageError:
    """The error of a file or folder that can't be written, with what to do where that is known."""
    hint = _OF_THE_MACHINE.get(error.errno or 0, "")
    return UsageError(f"{path} cannot be written: {error.strerror or error}.", hint=hint)


def _has_a_folder() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return False
    return True
