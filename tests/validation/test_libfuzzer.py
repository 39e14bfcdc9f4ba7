"""`pluginkit check --fuzz` by clang's libFuzzer: it finds what only the code that is reached leads to."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

import pluginkit
from pluginkit.build import coverage
from pluginkit.cli import command
from pluginkit.errors import BuildFailed, ToolMissing
from pluginkit.process.worker import Worker
from pluginkit.run import project_fuzzing
from pluginkit.run.project_checks import ProjectOptions
from pluginkit.validation.fuzzing import libfuzzer
from pluginkit.validation.fuzzing.covered_loop import DEEPEST
from pluginkit.validation.fuzzing.fuzzing import CoveredLibrary
from pluginkit.validation.fuzzing.inputs import FuzzInput, KeptInput, Target
from pluginkit.validation.fuzzing.loop import FuzzLimits, FuzzPart, FuzzState
from pluginkit.validation.fuzzing.mutation import Draw
from pluginkit.validation.fuzzing.simplifying import simpler
from pluginkit.validation.library_hosts import LibraryHosts
from pluginkit.validation.subject import Known
from tests import compilers
from tests.shared import Shared
from tests.validation.conftest import ENDINGS, MANIFESTS

pytestmark = pytest.mark.compile

GOOD = FuzzInput(Target.SERIALIZED, data=b"\0\0\0@")
SEED = 1
MOST = 100_000
"""Inputs that are more than enough for libFuzzer to come to a number of four bytes, and too few for drawing it."""


@pytest.fixture(scope="module")
def covered(shared: Shared) -> CoveredLibrary:
    """The plugins of endings.cpp with counters of their edges, and libFuzzer."""
    archive = compilers.libfuzzer()
    flags = ["-std=c++17", "-O1", "-g1", "-fPIC", "-shared", "-fvisibility=hidden"]
    counts = "-fsanitize-coverage=inline-8bit-counters,pc-table,trace-cmp,indirect-calls"
    build = [str(archive.cxx), *flags, counts, f"-I{pluginkit.include_dir()}", str(ENDINGS)]

    def make(place: Path) -> None:
        subprocess.run([*build, "-o", str(place / "libendings.so")], check=True)

    folder = shared.once("endings-covered", repr(build).encode() + ENDINGS.read_bytes(), make)
    return CoveredLibrary(folder / "libendings.so", coverage.link(archive, libfuzzer.SOURCE, folder), archive.version)


def fuzz(library: Path, fuzzer: Path | None, most: int, first: int = 0) -> FuzzPart:
    """What comes of so many serialized plugins, beginning with a step."""
    hosts = LibraryHosts(library, 60.0, fuzzer)
    try:
        worker = hosts.worker(11)
        assert isinstance(worker, Worker)
        answers = worker.call("answers", index=0, given=None, ranks=None)
        part = FuzzPart(first)
        state = FuzzState(Draw(SEED, GOOD), first)
        while part.done < most and not part.findings:
            arguments: dict[str, Any] = {"index": 0, "known": Known(answers), "limits": FuzzLimits(20.0, 4 << 30)}
            some: FuzzPart = worker.call("fuzz", timeout=600, **arguments, state=state, seconds=0.0, most=most)
            part.add(some)
            state = replace(state, step=part.step, parents=(*state.parents, *some.fresh), seen=state.seen | some.seen)
        return part
    finally:
        hosts.close()


def test_what_only_the_code_that_is_reached_leads_to(
    covered: CoveredLibrary, endings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("READS", "number")
    part = fuzz(covered.library, covered.libfuzzer, MOST)
    (found,) = part.findings
    assert found.input.data[:4] == b"gulp"
    assert found.ending == "SIGSEGV"
    assert found.method == "IPluginCreator::deserializePlugin"
    # Of the ordinary library it is the same finding, by its file and by its seed where it has one.
    kept = KeptInput("Dynamic:1", found.input).write(tmp_path)
    assert "SIGSEGV" in repeated(endings, kept).output
    if found.steps:
        assert Draw(SEED, GOOD).input_of(found.steps).data == found.input.data
    assert len(found.steps) <= DEEPEST + 1


def test_the_edges_are_counted(covered: CoveredLibrary) -> None:
    part = fuzz(covered.library, covered.libfuzzer, 500, Draw(SEED, GOOD).first)
    reached, edges = part.edges
    assert 0 < reached < edges
    assert part.findings == []


@pytest.mark.slow
def test_what_drawing_alone_does_not_find(endings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READS", "number")
    assert fuzz(endings, None, MOST).findings == []


def repeated(library: Path, kept: Path) -> Result:
    asked = ["check", str(library), "--creator", "Dynamic", "--fuzz-input", str(kept)]
    return CliRunner().invoke(command, asked, standalone_mode=False)


@pytest.mark.parametrize(("place", "how", "ending"), [("clone", "exit", "exit code 3"), ("clone", "crash", "SIGSEGV")])
def test_an_ending_is_the_plugins_own(
    covered: CoveredLibrary, monkeypatch: pytest.MonkeyPatch, place: str, how: str, ending: str
) -> None:
    """Not libFuzzer's, which has exit codes and handlers of its own; and no frame is libFuzzer's."""
    monkeypatch.setenv("ENDING_AT", f"Dynamic::{place}")
    monkeypatch.setenv("ENDING", how)
    # libFuzzer begins with the good one, which is cloned.
    part = fuzz(covered.library, covered.libfuzzer, 1, Draw(3, GOOD).first)
    (found,) = part.findings
    assert found.ending == ending
    assert found.input == GOOD
    assert not any("libfuzzer" in str(frame.file) for frame in found.frames)


def test_a_project_without_libfuzzer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is fuzzed as a library is, and the first line says why."""
    (tmp_path / "pluginkit.toml").write_text(MANIFESTS["Dynamic"])
    library = tmp_path / "lib.so"

    def missing() -> coverage.FuzzerArchive:
        raise ToolMissing("/usr/bin/clang++ has no libFuzzer.", hint="sudo apt-get install libclang-rt-14-dev")

    monkeypatch.setattr(project_fuzzing, "library_of", lambda *_: (library, False))
    monkeypatch.setattr(coverage, "find", missing)
    found = project_fuzzing.prepare(ProjectOptions(tmp_path), covered=True)
    assert found.library == library
    assert found.coverage == "/usr/bin/clang++ has no libFuzzer. sudo apt-get install libclang-rt-14-dev"

    def fails(*_: object, **__: object) -> None:
        raise BuildFailed("Target cpu did not build.\na.cpp:1: error: g++ alone knows it")

    monkeypatch.setattr(coverage, "find", lambda: coverage.FuzzerArchive(Path("clang++"), "14", tmp_path / "a"))
    monkeypatch.setattr(project_fuzzing, "build", fails)
    said = project_fuzzing.prepare(ProjectOptions(tmp_path), covered=True).coverage
    assert said == "clang++ does not build the project: a.cpp:1: error: g++ alone knows it"
    taken = project_fuzzing.prepare(ProjectOptions(tmp_path), covered=False).coverage
    assert isinstance(taken, str)

    # An archive of another compiler, or of another C++ library.
    (tmp_path / "a").write_text("no archive")
    cxx = Path(compilers.default_cxx())
    monkeypatch.setattr(coverage, "find", lambda: coverage.FuzzerArchive(cxx, "14", tmp_path / "a"))
    monkeypatch.setattr(project_fuzzing, "build", lambda *_, **__: [SimpleNamespace(library=library)])
    unlinked = project_fuzzing.prepare(ProjectOptions(tmp_path), covered=True).coverage
    assert unlinked == f"{tmp_path / 'a'} could not be linked"


CLANG = """\
#!/bin/sh
case "$*" in
    *-print-file-name=*) echo "{found}" ;;
    *) printf '#define __clang_major__ {major}\n#define __clang_minor__ 0\n#define __clang_patchlevel__ 6\n' ;;
esac
"""


@pytest.mark.parametrize(
    ("major", "found", "why"),
    [
        (14, "libclang_rt.fuzzer_no_main-x86_64.a", "has no libFuzzer .*"),
        (14, "/nowhere/libclang_rt.fuzzer_no_main.a", "has no libFuzzer .*"),
        (11, "", "clang\\+\\+ 11.0.6 is not clang\\+\\+ 12 or newer"),
    ],
)
def test_a_clang_without_libfuzzer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, major: int, found: str, why: str
) -> None:
    """As clang's packages leave it without libclang-rt, which they only recommend."""
    program = tmp_path / "clang++"
    program.write_text(CLANG.format(major=major, found=found))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissing, match=why) as error:
        coverage.find()
    assert "sudo apt-get install" in error.value.hint


@pytest.mark.parametrize(
    ("given", "smallest"),
    [
        # The length is what ends it: one more than the good one's.
        (b"\xff\xfe\xfdABCDEFG", lambda data: len(data) > 4),
        # The third byte alone.
        (b"\x01\x02\x03\x04", lambda data: len(data) == 4 and data[2] == 3),
    ],
)
def test_simpler_inputs(given: bytes, smallest: Any) -> None:
    now = FuzzInput(Target.SERIALIZED, data=given)
    while (better := next((one for one in simpler(now, GOOD) if smallest(one.data)), None)) is not None:
        now = better
    assert smallest(now.data)
    differ = sum(a != b for a, b in zip(now.data, GOOD.data, strict=False)) + abs(len(now.data) - len(GOOD.data))
    assert differ == 1
