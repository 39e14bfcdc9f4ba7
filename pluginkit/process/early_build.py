"""Ninja, started before all that a test run needs is imported: the compiler works while it is.

What it is asked stands in the folder of the last build. `build` takes it over where it would ask the same, and ends it
where it would not: another compiler, other headers, other options. So it decides nothing; it only comes sooner.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

from pluginkit.errors import PluginkitError
from pluginkit.process.programs import Completed, Program

INIT = "pluginkit-init.cmake"
"""The settings that a build folder was configured with, as CMake's script."""
ENVIRONMENT: dict[str, str | None] = {"NINJA_STATUS": "[%f/%t/%s] ", "CLICOLOR_FORCE": None, "TERM": "xterm"}
"""Ninja's progress (finished, of, started) distinguishes its own lines from the compilers', so the user's settings may
not change it. A terminal is told of each step when it starts, and again when it has ended."""


class EarlyBuild:
    """Ninja at work in a build folder, and the folder's lock."""

    def __init__(self, command: Sequence[str], lock: IO[str]) -> None:
        self.lock = lock
        self._program: Program | None = Program(command, env=ENVIRONMENT, terminal=True)

    def finish(self, command: Sequence[str], on_line: Callable[[str], None]) -> Completed | None:
        """What it leaves, once it has ended; None if it was asked something else than `command`, or ended before."""
        program, self._program = self._program, None
        if program is None:
            return None
        if program.command != tuple(command):
            program.stop()
            return None
        return program.finish(on_line=on_line)

    def cancel(self) -> None:
        """Ends Ninja, and the compilers that it started."""
        program, self._program = self._program, None
        if program is not None:
            program.stop()


_begun: dict[Path, EarlyBuild] = {}
"""Those that nobody has taken over, by the folder of the library."""


def begin(project: Path) -> None:
    """Starts Ninja for target cpu, where it was built before and nobody builds it now."""
    # RuntimeError: of links in a circle, until Python 3.13.
    with contextlib.suppress(OSError, ValueError, RuntimeError, PluginkitError), contextlib.ExitStack() as stack:
        place = project.resolve() / "build" / "cpu"
        init = place / "cmake" / INIT
        if place in _begun or not (place / "cmake" / "build.ninja").is_file():
            return
        settings = dict(re.findall(r'^set\((\w+) "(.*)" CACHE', init.read_text(encoding="utf-8"), re.MULTILINE))
        if "CMAKE_MAKE_PROGRAM" not in settings or settings.get("PLUGINKIT_PROJECT") != str(project.resolve()):
            return  # what it would compile is the project's that this one was copied from
        lock = stack.enter_context((place / ".lock").open("w", encoding="utf-8"))
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _begun[place] = EarlyBuild([settings["CMAKE_MAKE_PROGRAM"], "-C", str(place / "cmake"), "all"], lock)
        stack.pop_all()


@contextlib.contextmanager
def locked(place: Path, wait: Callable[[], None] = lambda: None) -> Iterator[EarlyBuild | None]:
    """The lock of a library's folder, and what was begun there, which has it already.

    Two builds at once would write the same objects; the second calls `wait`, waits, and then finds all done.
    """
    begun = _begun.pop(place, None)
    with begun.lock if begun else (place / ".lock").open("w", encoding="utf-8") as lock:
        if begun is None:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                wait()
                fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield begun
        finally:
            if begun is not None:
                begun.cancel()


def cancel() -> None:
    """Ends what nobody has taken over: the run did not come to its build."""
    while _begun:
        _, begun = _begun.popitem()
        begun.cancel()
        begun.lock.close()


def _leave() -> None:
    """In a fork of the process: what was begun is that one's, to be taken over or ended there."""
    _of_the_owner.update(_begun)
    _begun.clear()


_of_the_owner: dict[Path, EarlyBuild] = {}
"""Kept in a fork: what is collected would close the lock, and wait for a compiler that is not a child of the fork's."""
atexit.register(cancel)
os.register_at_fork(after_in_child=_leave)
