"""Every case of the corpus on target cpu, a library a family, under several orders of blocks and threads."""

from __future__ import annotations

import ctypes
import functools
import importlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from ..conftest import Kit, compile_object, link
from .cases import CASES, FOLDER, Case

pytestmark = pytest.mark.compile

for _module in sorted(FOLDER.glob("families_*.py")):
    importlib.import_module(f".{_module.stem}", __package__)

Build = Callable[..., ctypes.CDLL]
# People's kernels convert between int and float freely; nvcc, like us, says nothing about it.
_FLAGS = ["-O1", f"-I{FOLDER}", "-Wno-conversion", "-Wno-sign-compare"]
_CHECKED = ["-fsanitize=thread", "-DPLUGINKIT_CPU_CHECKED", "-w"]


@pytest.fixture(scope="session")
def library(kit: Kit) -> Build:
    """`library(family, compiler, checked=False)`: a family's kernels as one source, so that headers are read once."""

    # What went wrong is kept too, or each case of the family would compile it again to fail again.
    @functools.cache
    def build(family: str, cxx: str, checked: bool) -> ctypes.CDLL | str:
        kernels = sorted({case.kernel for case in CASES if case.family == family})
        source = kit.folder / f"corpus-{family}-{cxx.rstrip('+')}{'-checked' * checked}.cu"
        shared, made = source.with_suffix(".so"), source.with_suffix(".new")
        # The folder is all workers'.
        with FileLock(source.with_suffix(".lock")):
            if not shared.exists():
                source.write_text("".join(f'#include "{FOLDER / name}.cu"\n' for name in kernels))
                obj = source.with_suffix(".o")
                done = compile_object(source, obj, cxx=cxx, flags=[*_FLAGS, *_CHECKED * checked])
                if not done.ok:
                    return done.stderr
                link(obj, made, cxx=cxx, checked=checked)
                made.rename(shared)
        return ctypes.CDLL(str(shared))

    def get(family: str, cxx: str, *, checked: bool = False) -> ctypes.CDLL:
        built = build(family, cxx, checked)
        assert isinstance(built, ctypes.CDLL), built
        return built

    return get


def _parameters(compilers: list[str], schedules: list[str], marks: list[pytest.MarkDecorator]) -> list[object]:
    """Grouped so that one worker of pytest-xdist compiles a family."""
    return [
        pytest.param(
            case,
            cxx,
            schedule,
            id=f"{case.name}-{cxx}-{schedule}",
            marks=[*marks, pytest.mark.xdist_group(f"corpus-{case.family}-{cxx}")],
        )
        for case in CASES
        for cxx in compilers
        for schedule in schedules
    ]


@pytest.mark.parametrize(
    ("case", "cxx", "schedule"),
    [
        *_parameters(["g++"], ["forward", "reverse"], []),
        *_parameters(["g++"], [str(seed) for seed in (1, 20, 333)], [pytest.mark.slow]),
        *_parameters(["clang++"], ["forward", "reverse", "4"], [pytest.mark.slow]),
    ],
)
def test_kernel(
    library: Build,
    monkeypatch: pytest.MonkeyPatch,
    case: Case,
    cxx: str,
    schedule: str,
) -> None:
    monkeypatch.setenv("PLUGINKIT_CPU_SCHEDULE", schedule)
    _error, why = case.run(library(case.family, cxx))
    assert not why


@pytest.mark.slow
@pytest.mark.parametrize(("case", "cxx", "schedule"), _parameters(["g++"], ["forward", "reverse", "8"], []))
def test_right_kernels_have_no_findings(
    library: Build, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, case: Case, cxx: str, schedule: str
) -> None:
    """compute-sanitizer (memcheck, racecheck, synccheck, initcheck) finds none in them on a GPU either."""
    findings = tmp_path / "findings.jsonl"
    monkeypatch.setenv("PLUGINKIT_CPU_FINDINGS", str(findings))
    monkeypatch.setenv("PLUGINKIT_CPU_SCHEDULE", schedule)
    _error, why = case.run(library(case.family, cxx, checked=True))
    assert not why
    assert not findings.exists() or findings.read_text(encoding="utf-8") == ""


def test_every_kernel_has_cases() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.cu")) == sorted({case.kernel for case in CASES})
    assert len({case.kernel for case in CASES}) >= 44
    assert len({case.name for case in CASES}) == len(CASES)


def test_the_script_for_a_gpu_lists_the_same_cases() -> None:
    done = subprocess.run([sys.executable, FOLDER / "gpu.py", "--list"], capture_output=True, text=True, check=True)
    assert sorted(done.stdout.split()) == sorted(case.name for case in CASES)


@pytest.mark.gpu
def test_on_a_gpu() -> None:
    done = subprocess.run([sys.executable, FOLDER / "gpu.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
