"""Sorts the output of CMake, Ninja and the compilers while they run."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

_STATUS = re.compile(r"\[(\d+)/(\d+)/(\d+)\] (.*)")
"""Ninja's own line, as `NINJA_STATUS` makes it."""

_OTHERS_SYMBOL = (
    "{0} belongs to libnvinfer, which a plugin library does not link, so that it loads in every host. "
    "PLUGINKIT_PLUGINS gives the creators; REGISTER_TENSORRT_PLUGIN is not needed."
)
_OF_NEWER_LIBRARIES = r"__libc_single_threaded|std::__throw_bad_array_new_length|__cxa_call_terminate|__isoc23_\w+"
"""What objects of g++ 11 to 14 call of the C and C++ libraries of glibc 2.32 and 2.38, and that g++ 10 has not."""
_NEWER_RUNTIME = (
    "{0} is newer than this compiler: pluginkit was installed from its source, and a newer one compiled its runtime. "
    "Take that one ($CXX), or install pluginkit's wheel for Linux, whose runtime g++ 9 and all newer ones link."
)
_HINTS = (
    (
        r"no match for .operator\[\]. .*(pluginkit::Shape).* and |(pluginkit::Shape).? does not provide a subscript",
        "A {0} has no []: the size of dimension i is shape.dims[i], and there are shape.rank of them.",
    ),
    (r"undefined reference to .?(getPluginRegistry|getLogger|createInfer\w+)", _OTHERS_SYMBOL),
    (
        r"undefined reference to .?(cublas\w+|cudnn\w+)",
        "{0} is of a library that target cpu does not have; on target gpu link it by target_link_libraries.",
    ),
    (
        rf"undefined reference to .?({_OF_NEWER_LIBRARIES})",
        _NEWER_RUNTIME,
    ),
    (
        r"fatal error: ([\w./]+): No such file|fatal error: '([\w./]+)' file not found",
        "{0} is in none of the include folders: see target_include_directories, or --include of build --sources.",
    ),
    (
        r"multiple definition of .?(getCreators|setLoggerFinder)",
        "{0} is defined twice: PLUGINKIT_PLUGINS stands in one source only.",
    ),
    (
        r"undefined reference to .?([^'`\n]+)",
        "{0} is in none of the sources: name the one that defines it too, or link its library.",
    ),
)


class Step(str):
    """Ninja's progress, as `[3/7] Compiling a.cu`: how many steps of how many have ended, and the one that has run
    longest.

    Attributes:
        since: when that one began, by `time.monotonic`.
    """

    __slots__ = ("since",)
    since: float


class BuildOutput:
    """Takes the lines as they come: passes on those for people, and keeps the errors.

    Ninja shows a failed step as `FAILED: ...`, one line with its whole command, and then what the step wrote; a step
    that succeeded as its progress line, and then what it wrote (warnings). Each step has a progress line when it
    starts, too. CMake's progress begins with `-- `.

    Attributes:
        errors: the output of failed steps, the linker or CMake.
    """

    def __init__(self, progress: Callable[[str], None]) -> None:
        self.errors: list[str] = []
        self._progress = progress
        self._failing = False
        self._command_next = False
        self._ended = self._started = 0
        self._running: dict[str, float] = {}
        self._said = Step()

    def take(self, line: str) -> None:
        """Look at one line."""
        if status := _STATUS.match(line):
            self._failing = False
            self._step(int(status[1]), int(status[2]), int(status[3]), status[4])
        elif line.startswith("FAILED: "):
            self._failing = self._command_next = True
        elif self._command_next:
            self._command_next = False
        elif line.startswith(("CMake Error", "ninja: error: ")):
            self._failing = True
            self.errors.append(line)
        elif line.startswith(("ninja: ", "loading initial cache file", "-- ")):
            pass
        elif self._failing:
            self.errors.append(line)
        else:
            self._progress(line)

    def _step(self, ended: int, total: int, started: int, name: str) -> None:
        """Say what is running. Ninja may begin to count again, after CMake was run."""
        if ended > self._ended:
            self._running.pop(name, None)
        else:
            if started <= self._started:
                self._running.clear()
            self._running[name] = time.monotonic()
        self._ended, self._started = ended, started
        # Nothing is known to run where Ninja writes to a pipe: it names steps that have ended alone.
        oldest, since = next(iter(self._running.items()), ("Building", time.monotonic()))
        said = Step(f"[{ended}/{total}] {oldest}")
        said.since = since
        if said != self._said:
            self._said = said
            self._progress(said)


def hint_for(text: str) -> str:
    """What to do about an error that plugin authors meet; empty for an unknown one, and one that says it itself."""
    if re.search(r"^  fix: ", text, re.MULTILINE):
        return ""
    for pattern, hint in _HINTS:
        if match := re.search(pattern, text):
            return hint.format(next(filter(None, match.groups())))
    return ""
