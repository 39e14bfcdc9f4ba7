"""`python -m pluginkit.cuda_cpu.compile --cxx g++ -o x.o [-MD -MF x.d] flags... x.cu`: one source to one object."""

from __future__ import annotations

import contextlib
import platform
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pluginkit.cuda_cpu import missing_names, symbols
from pluginkit.cuda_cpu.prelude import precompiled
from pluginkit.cuda_cpu.rewrite import rewrite
from pluginkit.cuda_cpu.scopes import own_lines
from pluginkit.errors import BuildFailed, PluginkitError, UsageError
from pluginkit.paths import include_dir

SOURCES = (".cu", ".cpp", ".cc", ".cxx")
TAKES_VALUE = frozenset({"-I", "-D", "-U", "-isystem", "-include", "-iquote", "-idirafter", "-MF", "-MT", "-MQ", "-x"})
# Volatile accesses are distinguished; and clang++ reports both halves of x += y.
_CLANG_WATCHES = ("-tsan-distinguish-volatile=1", "-tsan-instrument-read-before-write=1")
_PREPROCESSOR = ("-I", "-D", "-U", "-isystem", "-include", "-iquote", "-idirafter", "-M")
_CLUSTERS = re.compile(r"\b(pluginkit_cpu_cluster_dims|this_cluster|cluster_group)\b")
_TENSOR_CORES = re.compile(r'^# \d+ "[^"]*/mma\.h"', re.MULTILINE)
_COLOURS = re.compile(r"\x1b\[[0-9;]*[mK]")
_LAYOUT = re.compile(r"-DPLUGINKIT_TRT_LAYOUT=(\d+)$")
_SDK_FOLDER = re.compile(r"/trt1[01]-headers$")
"""Where pluginkit's CMake package links the headers of a TensorRT SDK."""
_THREAD_LOCAL = re.compile(r"\b(?:thread_local|__thread|_Thread_local)\b")
_NO_PRAGMAS = "-Wno-unknown-pragmas"
"""nvcc knows `#pragma unroll`; a loop is as right without it."""


@dataclass
class _Command:
    cxx: str = "g++"
    output: Path | None = None
    source: Path | None = None
    layout: int | None = None
    preprocess: list[list[str]] = field(default_factory=list)  # each option with its value
    compile: list[str] = field(default_factory=list)


def compile_source(arguments: Sequence[str]) -> None:
    """Compile one source, by the compiler's own command line.

    Raises:
        UsageError: no source or no output is named.
        BuildFailed: the compiler failed (its output went to stderr), or a CUDA function is not there.
    """
    command = _parse(arguments)
    if command.source is None or command.output is None:
        raise UsageError("cuda_cpu.compile needs one source and -o OUTPUT.")
    with _temporary_folder() as folder:
        plain = folder / f"{command.source.name}.ii"
        text, options = _preprocess(command, plain, _thread_storage(command))
        if any(_THREAD_LOCAL.search(line) for _, line in own_lines(text)):
            text, options = _preprocess(command, plain, [])
        _refuse_tensor_cores(text, command.source)
        _refuse_clusters(text)
        plain.write_text(rewrite(text), encoding="utf-8", errors="surrogateescape")
        options += _for_device_code(command.cxx, text)
        compiler = [command.cxx, "-x", "c++-cpp-output", *options, "-c", str(plain), "-o", str(command.output)]
        _run(compiler, command.layout)
    symbols.rename(command.output, str(command.source), text, [command.cxx, *command.compile])


@contextlib.contextmanager
def _temporary_folder() -> Iterator[Path]:
    """A folder that goes at the end; its making and its removal are not interrupted by SIGTERM's exception."""
    folder = None
    try:
        with _TERMINATION.deferred():
            folder = tempfile.TemporaryDirectory(prefix="pluginkit-cuda-")
        yield Path(folder.name)
    finally:
        with _TERMINATION.deferred():
            if folder:
                folder.cleanup()


class _Termination:
    """SIGTERM ends the process by an exception, and inside `deferred` only after the block.

    By a flag: a signal that is blocked for this thread is taken by another, such as NumPy's, and Python's handler still
    runs in this one.
    """

    def __init__(self) -> None:
        self._deferred = False
        self._number: int | None = None

    def handle(self, number: int, _: object) -> None:
        """The signal's handler."""
        if not self._deferred:
            sys.exit(128 + number)
        self._number = number

    @contextlib.contextmanager
    def deferred(self) -> Iterator[None]:
        """A block without the exception; the signal is acted on after it."""
        self._deferred = True
        try:
            yield
        finally:
            self._deferred = False
            if self._number is not None:
                sys.exit(128 + self._number)


_TERMINATION = _Termination()


def _preprocess(command: _Command, output: Path, more: list[str]) -> tuple[str, list[str]]:
    """The source with the prelude in front, and the options to compile it by; `more` are for both."""
    assert command.source is not None
    prelude = include_dir() / "pluginkit" / "cpu" / "prelude.h"
    writes = [flag[0] for flag in command.preprocess if flag[0].startswith("-M")]
    target = [] if not writes or {"-MT", "-MQ"} & {flag[:3] for flag in writes} else ["-MT", str(command.output)]
    defines = ["-DPLUGINKIT_CPU_CUDA_SOURCE"] if command.source.suffix == ".cu" else []
    headers = ["-isystem", str(include_dir()), "-idirafter", str(prelude.with_name("toolkit"))]
    libraries = f"-I{prelude.with_name('libraries')}"  # before NVIDIA's headers, wherever those are
    options = [*command.compile, *_watches(command), _NO_PRAGMAS, *more]
    rules = next((Path(flag[1]) for flag in command.preprocess if flag[0] == "-MF"), None)
    ready = None
    if rules or not writes:
        ready = precompiled(command.cxx, [*options, *defines, *headers], command.preprocess, prelude)
        options += ["-fpch-preprocess"] * bool(ready)
    own = [each for flag in command.preprocess for each in flag]
    ours = [*target, *defines, *headers, "-include", str(ready.header if ready else prelude)]
    source = [str(command.source), "-o", str(output)]
    _run([command.cxx, "-x", "c++", "-E", libraries, *options, *own, *ours, *source], command.layout)
    if ready and rules:
        ready.add_dependencies(rules)
    return output.read_text(encoding="utf-8", errors="surrogateescape"), options


def _thread_storage(command: _Command) -> list[str]:
    """What halves the time of an elementwise kernel, which reads threadIdx: no call for thread-local variables.

    Not with checks that ask where they are (AddressSanitizer, races), and not beside thread-local variables of the
    user's: before glibc 2.40 the first use in a host thread may change vector registers that the compiler takes to be
    kept (https://sourceware.org/bugzilla/show_bug.cgi?id=31372). The runtime's own is inside a function's call.
    """
    device = command.source is not None and command.source.suffix == ".cu" and platform.machine() == "x86_64"
    watched = any(re.match("-fsanitize=.*(?:address|thread)", flag) for flag in command.compile)
    gcc = not re.search("clang|aarch64", Path(command.cxx).name)
    return ["-mtls-dialect=gnu2"] if device and gcc and not watched else []


def _refuse_tensor_cores(text: str, source: Path) -> None:
    """One sentence in place of the hundreds of errors that the compiler has for nvcuda::wmma."""
    if _TENSOR_CORES.search(text):
        raise BuildFailed(
            f"{source} includes mma.h: CUDA on the CPU (target cpu) has no tensor cores (nvcuda::wmma).",
            hint="Leave its use out by #ifndef PLUGINKIT_TARGET_CPU, with plain C++ instead, or build gpu only.",
        )


def _refuse_clusters(text: str) -> None:
    """As nvcc does for an architecture before 9.0, to which target cpu's device belongs; but in one sentence."""
    for place, line in own_lines(text):
        if found := _CLUSTERS.search(line):
            name = "__cluster_dims__" if found[1].startswith("pluginkit") else found[1]
            raise BuildFailed(
                f"{place}: {name}: CUDA on the CPU (target cpu) has no clusters of blocks; its device has compute "
                f"capability 8.0, and clusters begin at 9.0.",
                hint="Put it between #if __CUDA_ARCH__ >= 900 and #endif, with another kernel without clusters, or "
                "build gpu only.",
            )


def _for_device_code(cxx: str, text: str) -> list[str]:
    """Options without which correct device code would be refused or warned about."""
    # cub's classes redeclare names that they have used before, which g++ takes for an error without the first, and
    # inlined into a kernel they look to g++ as if they used unset values.
    for_cub = "/cub/" in text and "clang" not in Path(cxx).name
    return ["-fpermissive", "-Wno-maybe-uninitialized"] if for_cub else []


def _parse(arguments: Sequence[str]) -> _Command:
    command = _Command()
    rest = list(arguments)
    while rest:
        flag = rest.pop(0)
        value = [rest.pop(0)] if flag in TAKES_VALUE and rest else []
        if flag == "--cxx":
            command.cxx = rest.pop(0)
        elif flag == "-o":
            command.output = Path(rest.pop(0))
        elif flag in {"-x", "-c"}:
            continue
        elif flag.startswith(_PREPROCESSOR):
            command.preprocess.append([flag, *value])
        elif flag.endswith(SOURCES) and not flag.startswith("-"):
            command.source = Path(flag)
        else:
            command.compile += [flag, *value]
    layout = [found[1] for flag in command.preprocess if (found := _LAYOUT.match(flag[0]))]
    if layout and not any(_SDK_FOLDER.search(flag[-1]) for flag in command.preprocess):
        command.layout = int(layout[-1])
    return command


def _watches(command: _Command) -> list[str]:
    """What the checks of memory accesses need besides the compiler's option for them."""
    if "-fsanitize=thread" not in command.compile:
        return []
    if "clang" in Path(command.cxx).name:
        return [flag for option in _CLANG_WATCHES for flag in ("-mllvm", option)]
    return ["--param=tsan-distinguish-volatile=1"]


def _run(command: list[str], layout: int | None) -> None:
    """Run a compiler; its output goes to stderr as it is.

    Raises:
        BuildFailed: with what is lacking of NVIDIA's, where the first error says so; else without a message.
    """
    done = subprocess.run(command, check=False, stderr=subprocess.PIPE)
    sys.stderr.buffer.write(done.stderr)
    sys.stderr.flush()
    if done.returncode:
        lacks = missing_names.find(_COLOURS.sub("", done.stderr.decode("utf-8", "replace")), layout)
        raise BuildFailed(lacks.message, hint=lacks.hint) if lacks else BuildFailed("")


def main() -> int:
    """The command line; the exit code."""
    # Ninja ends compilers so when it is stopped itself: their files go.
    signal.signal(signal.SIGTERM, _TERMINATION.handle)
    try:
        compile_source(sys.argv[1:])
    except PluginkitError as error:
        if error.message:
            sys.stderr.write(f"error: {error.message}\n" + (f"  fix: {error.hint}\n" if error.hint else ""))
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
