"""A build of target cpu whose edges are counted, for clang's libFuzzer; and whether that is here."""

from __future__ import annotations

import hashlib
import platform
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pluginkit.build import toolchain
from pluginkit.build.sanitizers import Instrumentation
from pluginkit.errors import BuildFailed, ToolMissing
from pluginkit.process.programs import run

COVERAGE = Instrumentation(("coverage",))
"""It has a folder of its own, `build/cpu-coverage`."""


@dataclass(frozen=True)
class FuzzerArchive:
    """libFuzzer without a main function.

    Attributes:
        cxx: the clang++ that it belongs to.
        version: of that.
        path: the archive.
    """

    cxx: Path
    version: str
    path: Path


def find() -> FuzzerArchive:
    """The libFuzzer of the newest clang++ in PATH.

    Raises:
        ToolMissing: there is no clang++, or it has none.
    """
    cxx = toolchain.clang_compiler().best()
    machine = platform.machine()
    for name in (f"libclang_rt.fuzzer_no_main-{machine}.a", "libclang_rt.fuzzer_no_main.a"):
        found = Path(run([cxx.path, f"-print-file-name={name}"]).stdout.strip())
        # A compiler that doesn't find it answers the bare name.
        if found.is_absolute() and found.exists():
            return FuzzerArchive(cxx.path, str(cxx.version), found)
    major = cxx.version.major if cxx.version else 0
    raise ToolMissing(
        f"{cxx.path} has no libFuzzer (libclang_rt.fuzzer_no_main).",
        hint=f"sudo apt-get install libclang-rt-{major}-dev",
    )


def link(archive: FuzzerArchive, source: Path, folder: Path) -> Path:
    """A library of libFuzzer and a source, made once for each content of both.

    Raises:
        BuildFailed: the compiler or the linker failed.
    """
    content = repr((archive, archive.path.stat().st_mtime_ns)).encode() + source.read_bytes()
    made = folder / f"libfuzzer-{hashlib.sha256(content).hexdigest()[:16]}.so"
    if made.exists():
        return made
    whole: list[str | Path] = ["-Wl,--whole-archive", archive.path, "-Wl,--no-whole-archive"]
    flags = ["-std=c++17", "-O1", "-fPIC", "-shared"]
    # A folder of its own: another process may be making the same file.
    with TemporaryDirectory(dir=folder) as own:
        unfinished = Path(own) / made.name
        done = run([archive.cxx, *flags, source, *whole, "-lpthread", "-o", unfinished])
        if not done.ok:
            raise BuildFailed(f"{archive.path} could not be linked.\n{done.stderr}")
        unfinished.replace(made)
    return made
