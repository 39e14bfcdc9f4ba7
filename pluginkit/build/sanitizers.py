"""Checks of `--sanitize`: those compiled into a library of target cpu, which of them go together, and NVIDIA's
compute-sanitizer, under which a library of target gpu runs; and what running such a library takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pluginkit.build import toolchain
from pluginkit.errors import ToolMissing, UsageError
from pluginkit.process.programs import run

SANITIZERS = {
    "address": "reads and writes outside of memory (AddressSanitizer)",
    "undefined": "undefined behaviour of C++ (UndefinedBehaviorSanitizer)",
    "thread": "data races between CUDA threads",
    "memory": "reads of uninitialized memory",
}
"""The checks by name, each with what it finds."""

GPU_SANITIZERS = {
    "memcheck": "accesses out of bounds, misaligned ones",
    "racecheck": "data races in shared memory",
    "initcheck": "reads of uninitialized global memory",
    "synccheck": "barriers that are used wrongly",
}
"""The tools of compute-sanitizer by name, each with what it finds; it runs one at a time."""

_WATCHED = ("thread", "memory")
"""Both see every access by the same instrumentation, so one build serves them; it can't be ASan's too."""

_ASAN_OPTIONS = (
    # Python and numpy keep memory to the end, and that is not a finding.
    "detect_leaks=0",
    # An access that is wrong is reported and then done: the case goes on, and the next wrong one is seen too.
    "halt_on_error=0",
    # A thread of a kernel changes its stack behind ASan's back, and back again.
    "detect_stack_use_after_return=0",
    # A library holds its sources once for each layout of TensorRT.
    "detect_odr_violation=0",
    "allocator_may_return_null=1",
)


_PADDING = 512
"""Bytes behind each allocation, for memcheck: memory of a multiple of CUDA's alignment may otherwise end where the next
begins, and what is written behind its end would be an access like others."""
_COMPUTE_SANITIZER_OPTIONS = (
    "--target-processes=application-only",
    # A process that only builds layers asks nothing of the GPU.
    "--require-cuda-init=no",
    # A kernel that is wrong ends, and not the context: the case goes on, and its other outputs are compared.
    "--destroy-on-device-error=kernel",
    # What a call of CUDA's answers is checked elsewhere; another library's probing is not a finding.
    "--report-api-errors=no",
    "--demangle=simple",
    # A port for each that runs at the same time.
    "--max-connections=1000",
    "--strip-paths=no",
)


@dataclass(frozen=True)
class Instrumentation:
    """One build of target cpu, or the one of target gpu with a tool of compute-sanitizer.

    Attributes:
        sanitizers: the checks that are asked of it, in the order of `SANITIZERS`; none: the plain build. Or one of
            `GPU_SANITIZERS`.
    """

    sanitizers: tuple[str, ...] = ()

    @property
    def tool(self) -> str:
        """The tool of compute-sanitizer; empty for none."""
        return next((name for name in self.sanitizers if name in GPU_SANITIZERS), "")

    @property
    def name(self) -> str:
        """For people: `address+undefined`; empty for the plain build."""
        return "+".join(self.sanitizers)

    @property
    def compiled(self) -> tuple[str, ...]:
        """The checks that are compiled in: thread and memory always together, so that asking for one builds both."""
        if self.tool:
            return ()
        return _WATCHED if set(self.sanitizers) & set(_WATCHED) else self.sanitizers

    @property
    def folder(self) -> str:
        """Where in the project's build folder it lies."""
        return "-".join(filter(None, ("cpu", "+".join(self.compiled))))

    @property
    def slowdown(self) -> int:
        """How many times longer a call into the plugin may take."""
        if self.compiled == _WATCHED or self.tool:
            return 20
        return 4 if self.sanitizers else 1

    def environment(self) -> dict[str, str]:
        """What the environment of a process must have that loads the library.

        Raises:
            ToolMissing: AddressSanitizer's library isn't there, or compute-sanitizer.
        """
        found = {}
        if self.tool:
            toolchain.compute_sanitizer().best()
        if self.compiled == _WATCHED:
            found["PLUGINKIT_CPU_CHECK"] = ",".join(self.sanitizers)
        if "address" in self.sanitizers:
            # It must be in the process before everything else, or it doesn't know the memory there is.
            found["LD_PRELOAD"] = str(asan_library())
            found["ASAN_OPTIONS"] = ":".join(_ASAN_OPTIONS)
        return found

    def command(self, logs: Path) -> list[str]:
        """What stands in front of a process's command that runs the library: nothing, or compute-sanitizer, which
        writes `sanitizer-N.log` into the folder `logs`.

        Raises:
            ToolMissing: compute-sanitizer isn't there.
        """
        if not self.tool:
            return []
        path = toolchain.compute_sanitizer().best().path
        log = logs / "sanitizer-%p.log"
        more = [f"--padding={_PADDING}"] if self.tool == "memcheck" else []
        return [str(path), "--tool", self.tool, "--log-file", str(log), *_COMPUTE_SANITIZER_OPTIONS, *more]


PLAIN = Instrumentation()
"""The build without checks."""


def instrumentations(sanitizers: Sequence[str], target: str = "cpu") -> tuple[Instrumentation, ...]:
    """The builds that it takes to run these checks, or the tools of compute-sanitizer; the plain one for none.

    Raises:
        UsageError: there is no such check, or it is one of the other target's.
    """
    here, there = (SANITIZERS, GPU_SANITIZERS) if target == "cpu" else (GPU_SANITIZERS, SANITIZERS)
    for name in sanitizers:
        if name in there:
            other, why = ("gpu", "run by compute-sanitizer") if target == "cpu" else ("cpu", "compiled in")
            raise UsageError(
                f"--sanitize {name} is for target {other}, where it is {why}; this run is on target {target}.",
                hint=f"Say --target {other}, or choose of target {target}'s: {', '.join(here)}.",
            )
        if name not in here:
            raise UsageError(
                f"There is no sanitizer '{name}'.",
                hint=f"The sanitizers of target {target} are {', '.join(here)}; several are joined by commas. "
                f"With --target {'gpu' if target == 'cpu' else 'cpu'} they are {', '.join(there)}.",
            )
    asked = [name for name in here if name in sanitizers]
    if target == "gpu":
        return tuple(Instrumentation((name,)) for name in asked) or (PLAIN,)
    together = tuple(name for name in asked if name not in _WATCHED)
    watched = tuple(name for name in asked if name in _WATCHED)
    return tuple(Instrumentation(names) for names in (together, watched) if names) or (PLAIN,)


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
