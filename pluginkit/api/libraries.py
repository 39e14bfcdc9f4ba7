"""`pluginkit.inspect`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pluginkit.api.report import JsonReport, values
from pluginkit.errors import CheckFailed, PluginCrashed
from pluginkit.library import Inspection
from pluginkit.library import inspect as read


@dataclass(frozen=True)
class LibraryReport(Inspection, JsonReport):
    """A plugin library's exports, needed libraries, GPU code and problems.

    Attributes:
        loaded: what each host answered to the library, if it was loaded: `creators.loading.Loaded`.
    """

    loaded: tuple[Any, ...] | None = None
    schema: ClassVar[str] = "inspect-1"

    @property
    def exit_code(self) -> int:
        """0; 1 if there is an error or no host loads the library; 6 if loading it crashes or hangs."""
        statuses = {one.status for one in self.loaded or ()}
        if statuses & {"crashed", "hung"}:
            return PluginCrashed.exit_code
        unloadable = self.loaded is not None and "loaded" not in statuses
        return CheckFailed.exit_code if self.broken or unloadable else 0

    def to_json(self) -> dict[str, Any]:
        """The library's facts; `loaded` only where it was loaded."""
        more = {} if self.loaded is None else {"loaded": [one.to_json() for one in self.loaded]}
        return {"schema": self.schema, **Inspection.to_json(self), **more}

    def summary(self) -> str:
        """The library and how many problems it has."""
        count = len(self.problems)
        return f"{self.path.name}, target {self.target}: {count or 'no'} problem{'s' * (count != 1)}"

    def rows(self) -> Iterator[Sequence[str]]:
        """The problems, then the hosts that loaded it."""
        yield "level", "what", "fix"
        for one in self.problems:
            yield one.level, one.text, one.fix
        for host in self.loaded or ():
            creators = ", ".join(f"{one.namespace}::{one.name} {one.version}" for one in host.creators)
            yield host.status, f"{host.runtime} {host.version}", creators or host.message


def inspect(library: str | os.PathLike[str], *, load: bool = False, timeout: float = 60.0) -> LibraryReport:
    """Read a plugin library's contents without loading it, as `pluginkit inspect`.

    Args:
        library: the `.so`.
        load: also load it in every host found here, each in a worker process, and list its creators.
        timeout: seconds before a call in a worker is reported as hung.

    Raises:
        UsageError: no such file, or no shared library for this machine.
    """
    found = read(Path(library))
    if not load:
        return LibraryReport(**values(found))
    from pluginkit.creators import loading

    return LibraryReport(**values(found), loaded=tuple(loading.load(Path(library), timeout=timeout)))
