"""The layouts in which a library can give its creators, by what it exports."""

from __future__ import annotations

from pathlib import Path

from pluginkit import elf, layouts
from pluginkit.errors import UsageError


def loadable(library: Path) -> tuple[layouts.Layout, ...]:
    """The layouts whose registry finds the function that gives the creators, the newest first.

    Where the library exports none of those, or the file is not a library: the layouts that `build` makes, since loading
    it there says what it lacks.
    """
    try:
        names = {one.name for one in elf.exports(library)}
    except (OSError, UsageError):
        names = set()
    found = tuple(one for one in layouts.LAYOUTS if one.creators_by in names)
    return found or tuple(map(layouts.layout, layouts.DEFAULT))
