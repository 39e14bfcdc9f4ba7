"""A library of sources that no CMake project builds, for a quick try: `pluginkit build --sources`."""

from __future__ import annotations

import fcntl
import glob
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pluginkit import layouts
from pluginkit.build import cache
from pluginkit.build.artifact import Artifact, library_path
from pluginkit.build.cmake import Progress, configure, install, put_changed, run_tool, tools
from pluginkit.build.sanitizers import PLAIN, Instrumentation
from pluginkit.errors import BuildFailed, UsageError, from_os
from pluginkit.library import build_record

SUFFIXES = (".cpp", ".cc", ".cxx", ".cu")
LAYOUTS = {
    **{str(one): str(one) for one in reversed(layouts.NUMBERS)},
    "both": " ".join(map(str, layouts.DEFAULT)),
    "all": " ".join(map(str, layouts.NUMBERS)),
}
_DIAGNOSTIC = re.compile(r"^(?!error: )\S.*?(?:: (?:fatal )?error: |: undefined reference to )")
_NEXT = re.compile(r"^(?:\S+: |In file included|\s+from )")
_OURS = re.compile(r"^error: |^  fix: ")
_WRITTEN = "# Written by `pluginkit build --sources`."
CONTEXT = 4
"""Lines of the compiler's that go with an error: the source's line, and the mark below it."""


@dataclass(frozen=True)
class SourceSet:
    """Sources that make one library.

    Attributes:
        files: absolute paths.
        include: folders of headers.
        define: macros, as `NAME` or `NAME=VALUE`.
        layout: which TensorRT's plugin classes it holds: a key of `LAYOUTS`, or empty: the major of the NvInfer.h
            that the include folders or the machine have, and without one the newest.
    """

    files: tuple[Path, ...]
    include: tuple[Path, ...] = ()
    define: tuple[str, ...] = ()
    layout: str = ""


def find(patterns: str, folder: Path) -> tuple[Path, ...]:
    """The files of comma-separated glob patterns, as `plugin/foo/*.cpp,*.cu`.

    A pattern without a folder is in that of the pattern before it; `**` is any folders.

    Raises:
        UsageError: a pattern that no source fits, or a file that is not a C++ or CUDA source.
    """
    found: dict[Path, None] = {}
    head = ""
    for pattern in filter(None, (part.strip() for part in patterns.split(","))):
        head = pattern.rpartition("/")[0] + "/" if "/" in pattern else head
        whole = str(folder / f"{head}{pattern.rpartition('/')[2]}")
        # Not Path.glob, which takes no absolute pattern.
        matched = [Path(one) for one in glob.glob(whole, recursive=True)]  # noqa: PTH207
        sources = sorted(one for one in matched if one.suffix in SUFFIXES and one.is_file())
        if not sources:
            what = f"only {matched[0].name}" if matched else "nothing"
            raise UsageError(
                f"--sources: '{pattern}' fits {what} in {folder}.",
                hint=f"Sources end in {', '.join(SUFFIXES)}; headers need no mention. Quote patterns, so that the "
                "shell passes them on: --sources 'plugin/foo/*.cpp,*.cu'",
            )
        found.update(dict.fromkeys(one.resolve() for one in sources))
    if not found:
        raise UsageError("--sources has no pattern.", hint="As in --sources 'plugin/foo/*.cpp,*.cu'")
    return tuple(found)


def name_of(files: Sequence[Path]) -> str:
    """A library's name where none is given: that of the first source's folder, as a C identifier."""
    name = re.sub(r"\W+", "_", files[0].parent.name, flags=re.ASCII).strip("_")
    return name if re.match(r"[A-Za-z_]", name) else f"plugins_{name}".rstrip("_")


def build_sources(sources: SourceSet, library: Path | None = None, *, progress: Progress = lambda _: None) -> Artifact:
    """Compile sources for target cpu, and link them to a library whose creators every host finds.

    Args:
        sources: what is compiled.
        library: where it goes; by default `build/cpu/lib<name>.so` in the current folder.
        progress: called with each line that the user may want to see.

    Raises:
        UsageError: a folder or a path that is none, or that may not be written.
        ToolMissing: a tool is missing or too old.
        BuildFailed: the first error, and what NVIDIA has and pluginkit lacks, if that is why.
    """
    for folder in sources.include:
        if not folder.is_dir():
            raise UsageError(f"--include: there is no folder {folder}.")
    library = library or library_path(Path.cwd(), name_of(sources.files), "cpu")
    if library.suffix != ".so" or library.is_dir():
        raise UsageError(f"--output: {library} is not a name for a library.", hint="As in --output build/libfoo.so")
    name, place = _name_in(library), _place(library)
    project = _project(name, library.name, sources)
    try:
        place.mkdir(parents=True, exist_ok=True)
        put_changed(place / "CMakeLists.txt", project)
        with _locked(place):
            return _build(place, name, library, progress)
    except OSError as error:
        known = from_os(error)
        if known is None:
            raise
        raise UsageError(
            f"{library} cannot be built there: {known.message}", hint="Say --output FOLDER/libfoo.so."
        ) from None


def built_here(library: Path) -> bool:
    """Whether `build_sources` made the library, and the folder that it was made in is still there."""
    project = _place(library) / "CMakeLists.txt"
    if not project.is_file() or not project.read_text(encoding="utf-8").startswith(_WRITTEN):
        return False
    record = build_record.read(library, hashlib.sha256(library.read_bytes()).hexdigest())
    return record is not None and record.same


def build_checked(library: Path, instrumentation: Instrumentation, progress: Progress = lambda _: None) -> Artifact:
    """The library of the same sources, as they are now, with checks compiled in.

    Args:
        library: one that `build_sources` made.
        instrumentation: the checks.
        progress: as of `build_sources`.

    Raises:
        ToolMissing, BuildFailed: as `build_sources`.
    """
    place = _place(library)
    with _locked(place):
        return _build(
            place, _name_in(library), place / instrumentation.folder / library.name, progress, instrumentation
        )


def _name_in(library: Path) -> str:
    name = re.sub(r"\W", "_", library.stem.removeprefix("lib"), flags=re.ASCII)
    return name if re.match(r"[A-Za-z_]", name) else f"plugins_{name}"


def _place(library: Path) -> Path:
    """The folder in which a library is built."""
    return library.with_suffix(".build").resolve()


@contextmanager
def _locked(place: Path) -> Iterator[None]:
    with (place / ".lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(
    place: Path, name: str, library: Path, progress: Progress, instrumentation: Instrumentation = PLAIN
) -> Artifact:
    cmake, ninja, settings = tools(cache.settings("cpu", sanitize=instrumentation.compiled))
    folder = place / "-".join(filter(None, ("cmake", *instrumentation.compiled)))
    library.parent.mkdir(parents=True, exist_ok=True)
    try:
        configure(place, folder, cmake, settings, progress)
        run_tool([ninja, "-C", folder, f"{name}_pluginkit"], folder, progress)
    except BuildFailed as error:
        raise BuildFailed(first_error(error.message), hint=error.hint) from None
    described = json.loads((folder / f"pluginkit-{name}_pluginkit.json").read_text(encoding="utf-8"))
    return install(described, library, name)


def first_error(output: str) -> str:
    """The first error of compilers' output with its lines, what pluginkit says to it, and how many more there are."""
    lines = output.splitlines()
    errors = [at for at, line in enumerate(lines) if _DIAGNOSTIC.match(line)]
    ours = [line for line in lines if _OURS.match(line)]
    if not errors:
        return output
    first = errors[0]
    start = first
    while start and lines[start - 1].startswith(("In file included", "                 from ")):
        start -= 1
    end = first + 1
    while end < len(lines) and end - first < CONTEXT and not _NEXT.match(lines[end]) and not _OURS.match(lines[end]):
        end += 1
    more = len(errors) - 1
    rest = [f"({more} more error{'s' * (more > 1)})"] if more else []
    return "\n".join([*lines[start:end], *rest, *dict.fromkeys(ours)])


def _project(name: str, file_name: str, sources: SourceSet) -> str:
    layouts = f" LAYOUTS {LAYOUTS[sources.layout]}" if sources.layout else ""
    files = "\n    ".join(_quoted(str(one)) for one in sources.files)
    soname = _quoted(f'SHELL:-Xlinker "-soname={file_name}"')
    lines = [
        _WRITTEN,
        "cmake_minimum_required(VERSION 3.24)",
        f"project({name} LANGUAGES CXX)",
        "find_package(pluginkit REQUIRED)",
        f"add_library({name} OBJECT EXCLUDE_FROM_ALL\n    {files})",
        *(f"target_include_directories({name} PRIVATE {_quoted(str(one.resolve()))})" for one in sources.include),
        *(f"target_compile_definitions({name} PRIVATE {_quoted(one)})" for one in sources.define),
        f"pluginkit_test_plugin({name}{layouts})",
        # The loader knows a library by its SONAME: CMake's would be the target's.
        f"set_target_properties({name}_pluginkit PROPERTIES NO_SONAME ON)",
        f"target_link_options({name}_pluginkit PRIVATE {soname})",
    ]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    if ";" in text or "\n" in text:
        raise UsageError(f"CMake takes no ';' and no line break in {text!r}.", hint="Leave it out, or rename the file.")
    escaped = re.sub(r'(["\\$])', r"\\\1", text)
    return f'"{escaped}"'
