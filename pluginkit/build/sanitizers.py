"""Builds of target cpu with checks compiled in: which checks go together, and what running such a library takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pluginkit.build import toolchain
from pluginkit.errors import ToolMissing, UsageError
from pluginkit.process import run

SANITIZERS = {
    "address": "reads and writes outside of memory (AddressSanitizer)",
    "undefined": "undefined behaviour of C++ (UndefinedBehaviorSanitizer)",
    "thread": "data races between CUDA threads",
    "memory": "reads of memory that nobody wrote",
}
"""The checks by name, each with what it finds."""

_WATCHED = ("thread", "memory")
"""Both are told of every access by the same instrumentation, so one build serves them; it can't be ASan's too."""

_ASAN_OPTIONS = (
    # Python and numpy keep memory to the end, and that is no finding.
    "detect_leaks=0",
    # An access that is wrong is reported and then done: the case goes on, and the next wrong one is seen too.
    "halt_on_error=0",
    # A thread of a kernel changes its stack behind ASan's back, and back again.
    "detect_stack_use_after_return=0",
    # A library holds its sources once for each layout of TensorRT.
    "detect_odr_violation=0",
    "allocator_may_return_null=1",
)


@dataclass(frozen=True)
class Flavour:
    """One build of target cpu.

    Attributes:
        sanitizers: the checks that are asked of it, in the order of `SANITIZERS`; none: the plain build.
    """

    sanitizers: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """For people: `address+undefined`; empty for the plain build."""
        return "+".join(self.sanitizers)

    @property
    def compiled(self) -> tuple[str, ...]:
        """The checks that are compiled in: thread and memory always together, so that asking for one builds both."""
        return _WATCHED if set(self.sanitizers) & set(_WATCHED) else self.sanitizers

    @property
    def folder(self) -> str:
        """Where in the project's build folder it lies."""
        return "-".join(filter(None, ("cpu", "+".join(self.compiled))))

    @property
    def slowdown(self) -> int:
        """How many times longer a call into the plugin may take."""
        if self.compiled == _WATCHED:
            return 20
        return 4 if self.sanitizers else 1

    def environment(self) -> dict[str, str]:
        """What the environment of a process must have that loads the library.

        Raises:
            ToolMissing: AddressSanitizer's library isn't there.
        """
        found = {}
        if self.compiled == _WATCHED:
            found["PLUGINKIT_CPU_CHECK"] = ",".join(self.sanitizers)
        if "address" in self.sanitizers:
            # It must be in the process before everything else, or it doesn't know the memory there is.
            found["LD_PRELOAD"] = str(asan_library())
            found["ASAN_OPTIONS"] = ":".join(_ASAN_OPTIONS)
        return found


PLAIN = Flavour()
"""The build without checks."""


def flavours(sanitizers: Sequence[str]) -> tuple[Flavour, ...]:
    """The builds that it takes to run these checks; the plain one for none.

    Raises:
        UsageError: there is no such check.
    """
    for name in sanitizers:
        if name not in SANITIZERS:
            raise UsageError(
                f"There is no sanitizer '{name}'.",
                hint=f"The sanitizers are {', '.join(SANITIZERS)}; several are joined by commas.",
            )
    asked = [name for name in SANITIZERS if name in sanitizers]
    together = tuple(name for name in asked if name not in _WATCHED)
    watched = tuple(name for name in asked if name in _WATCHED)
    return tuple(Flavour(names) for names in (together, watched) if names) or (PLAIN,)


def asan_library() -> Path:
    """AddressSanitizer's shared library, of the compiler that builds the plugin.

    Raises:
        ToolMissing: there is none.
    """
    cxx = toolchain.cxx_compiler().best()
    major = cxx.version.major if cxx.version else 0
    names, package = ["libasan.so"], f"libgcc-{major}-dev"
    if cxx.note == "clang++":
        # Which of the two it is depends on how clang was packaged.
        machine = run([cxx.path, "-dumpmachine"]).stdout.split("-")[0]
        names, package = [f"libclang_rt.asan-{machine}.so", "libclang_rt.asan.so"], f"libclang-rt-{major}-dev"
    for name in names:
        found = Path(run([cxx.path, f"-print-file-name={name}"]).stdout.strip())
        # A compiler that doesn't find it answers the bare name.
        if found.is_absolute() and found.exists():
            return found.resolve()
    raise ToolMissing(
        f"--sanitize address needs {names[0]}, and {cxx.path} does not have it.",
        hint=f"sudo apt-get install {package} (AddressSanitizer of {cxx.note} {major})",
    )
