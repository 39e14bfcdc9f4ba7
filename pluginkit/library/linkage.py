"""Finds the libraries that a library needs, as the loader does, and checks that they have the symbols it needs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pluginkit import elf
from pluginkit.elf import Elf, ElfSymbol
from pluginkit.errors import UsageError

_DEFAULT = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")
_CONFIGURATION = Path("/etc/ld.so.conf")


@dataclass(frozen=True)
class NeededLibrary:
    """A needed library: its name in DT_NEEDED and its file; None if it isn't found."""

    name: str
    path: Path | None


@dataclass(frozen=True)
class Linkage:
    """What came of looking for all that a library needs.

    Attributes:
        needed: the libraries it names, in order.
        unresolved: symbols that none of them has; only known if all of them were found.
        too_old: versions that a found library lacks: (library, version).
    """

    needed: tuple[NeededLibrary, ...]
    unresolved: tuple[str, ...] = ()
    too_old: tuple[tuple[str, str], ...] = field(default=())


def resolve(library: Path, facts: Elf) -> Linkage:
    """Look for what a library needs, as the loader does (ld.so(8)), without loading anything."""
    needed = tuple(NeededLibrary(name, find_for(name, library, facts.runpath)) for name in facts.needed)
    too_old = [
        (one.name, version)
        for one in needed
        if one.path is not None and (wanted := facts.versions().get(one.name))
        for version in sorted(wanted - elf.defined_versions(one.path))
    ]
    return Linkage(needed, tuple(_unresolved(facts.undefined, needed)), tuple(too_old))


def find(name: str) -> Path | None:
    """Where the loader finds a library that is in no folder of a library's own; None if it doesn't."""
    return find_for(name, Path(sys.executable), ())


def find_for(name: str, library: Path, runpath: tuple[str, ...]) -> Path | None:
    """Where the loader finds what a library with that DT_RUNPATH needs; None if it doesn't."""
    if "/" in name:
        return Path(name) if Path(name).is_file() else None
    for folder in _folders(library, runpath):
        path = folder / name
        if path.is_file() and _loadable(path):
            return path
    return None


def _folders(library: Path, runpath: tuple[str, ...]) -> Iterator[Path]:
    origin = str(library.resolve().parent)
    for folder in runpath:
        yield Path(folder.replace("${ORIGIN}", origin).replace("$ORIGIN", origin))
    yield from (Path(folder) for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder)
    yield from _configured(_CONFIGURATION)
    multiarch = getattr(sys.implementation, "_multiarch", "")
    for folder in _DEFAULT:
        yield Path(folder) / multiarch
        yield Path(folder)


def _configured(file: Path) -> Iterator[Path]:
    """The folders that /etc/ld.so.conf names."""
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in (line.split("#")[0].strip() for line in lines):
        if line.startswith("include "):
            pattern = line.removeprefix("include ").strip()
            for other in sorted(Path("/").glob(pattern.lstrip("/"))) if pattern.startswith("/") else []:
                yield from _configured(other)
        elif line:
            yield Path(line)


def _loadable(path: Path) -> bool:
    """The loader passes over files of other machines, and goes on looking."""
    try:
        with path.open("rb") as file:
            head = file.read(5)
    except OSError:
        return False
    return head == b"\x7fELF\x02"


def _unresolved(undefined: tuple[ElfSymbol, ...], needed: tuple[NeededLibrary, ...]) -> list[str]:
    """Symbols that must be there and are in none of the libraries; a version names its library already."""
    open_names = {one.name for one in undefined if one.binding != "STB_WEAK" and not one.file}
    seen: set[Path] = set()
    left = [one.path for one in needed]
    while left and open_names:
        path = left.pop(0)
        if path is None:
            # What a library that isn't here would have is unknown.
            return []
        if path.resolve() in seen:
            continue
        seen.add(path.resolve())
        try:
            facts = elf.read(path)
        except UsageError:
            return []
        open_names -= {symbol.name for symbol in facts.exports}
        left += [find_for(name, path, facts.runpath) for name in facts.needed]
    return sorted(open_names)
