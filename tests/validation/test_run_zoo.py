"""For each check of test runs a plugin that breaks it, built and run: this check finds it, and others say no more than
what follows from it.

All are slow: `test_evidence` has a report for each in `make test`. Those of checks on a GPU are marked so.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from pluginkit.build import SANITIZERS
from pluginkit.manifest.project import members
from pluginkit.run import runner
from pluginkit.run.options import Options
from pluginkit.run.project_checks import ProjectOptions, check_project
from pluginkit.validation import CHECKS, Ending
from pluginkit.validation.catalog import BY_RUNS
from pluginkit.validation.judging import result_of
from pluginkit.validation.results import CheckResult
from pluginkit.validation.subjects.evidence import RunEvidence
from tests.host import test_v3
from tests.shared import Shared
from tests.validation import run_animals

pytestmark = [pytest.mark.slow, pytest.mark.compile, pytest.mark.xdist_group("run zoo")]

ASKED = ("plain/*/opt", "plain/*/max", "plain/*/count-7", "plain/*/special", "cond-both/float32/opt/*")
"""The cases that animals are run in."""
NEEDS: dict[str, dict[str, object]] = {
    "run": {"only": ASKED, "evaluators": ("host",)},
    "sanitizers": {"only": ("plain/float32/max",), "evaluators": ("host",), "sanitize": tuple(SANITIZERS)},
    "builder": {"only": ("plain/float32/opt",)},
    "registries": {"only": ("plain/float32/opt", "registry/*")},
}
"""The options of the run that a check reads, by its need."""
ON_CPU = [name for name in run_animals.ANIMALS if CHECKS[name].need in NEEDS]
OF_NVIDIA = {"builder", "registries", "engines"}
"""The needs that NVIDIA's libraries are asked for: a machine without them has the other animals all the same."""
LIBRARIES = {"MyPlugin": "my_plugin", "Ranked": "ranked"}
"""By the plugin."""
FOLLOWS = {"E1", "E6", "E7", "E14", "F6", "T17", "T19", "C3", "K15"}
"""Checks that a plugin which fails, or computes something else, may break as well."""
TOOLS = {"G2": "memcheck", "G3": "racecheck", "G4": "initcheck", "G5": "synccheck"}
"""compute-sanitizer's, of checks that need it: each in a run of its own, of one case."""
TIED = {"E18"}
"""Checks of plugins that sort."""
SIZES = {"T8": "size_dims", "T14": "size_large"}
"""Of the size tensors' checks the fault of tests/host/v3.cpp."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, shared: Shared) -> Path:
    return shared.project(run_animals.write(tmp_path_factory.mktemp("run_zoo")))


def marked(name: str, need: str) -> object:
    return pytest.param(name, marks=[pytest.mark.rtx] if need in OF_NVIDIA else [])


def found(project: Path, need: str, **more: object) -> dict[str, CheckResult]:
    """The findings of a run, by id."""
    options = {**NEEDS[need], **more}
    name = members(project)[0].manifest.plugin.name
    library = None if "sanitize" in options else project / "build" / "cpu" / f"lib{LIBRARIES[name]}.so"
    # A hang is one that the host ends, not the run: it is given less than this.
    report = runner.run(Options(project=project, library=library, timeout=20, **options))  # type: ignore[arg-type]
    run = need if need == "sanitizers" else "run"
    evidence = RunEvidence(members(project)[0].manifest, {run: report})
    results = [result_of(one, f"{name} 1", evidence) for one in CHECKS.values() if one.need == need]
    return {one.check: one for one in results if one.is_finding}


@pytest.mark.parametrize("check", [marked(name, CHECKS[name].need) for name in ON_CPU])
def test_an_animal(project: Path, monkeypatch: pytest.MonkeyPatch, check: str) -> None:
    monkeypatch.setenv(run_animals.FAULT, str(run_animals.NUMBERS[check]))
    more = {"schedules": 1} if check == "K14" else {}
    seen = found(project, CHECKS[check].need, **more)
    assert check in seen, seen
    assert seen[check].ending is (Ending.WARNING if CHECKS[check].kind == "robustness" else Ending.FAILED)
    assert seen.keys() - {check} <= FOLLOWS, seen


@pytest.mark.parametrize("need", [marked(name, name) for name in NEEDS])
def test_without_a_defect_nothing_is_found(project: Path, monkeypatch: pytest.MonkeyPatch, need: str) -> None:
    monkeypatch.setenv(run_animals.FAULT, "0")
    assert found(project, need, **({"schedules": 1} if need == "run" else {})) == {}


SIZED = """\
[plugin]
name = "ProbeV3"
namespace = "tests"
base = "v3"

[[inputs]]
name = "x"
types = ["float32"]
shape = ["n", 5]

[[outputs]]
name = "y"
types = ["float32"]
shape = ["count"]

[[outputs]]
name = "count"
types = ["int32"]
shape = []
upper = "5 * n"
opt = "5 * n // 2"

[[fields]]
name = "factor"
type = "float32"
default = 2.0

[[profiles]]
symbols = { n = [1, 2, 4] }
"""
REFERENCE = """\
import numpy as np


def reference(x, *, factor):
    above = x[x > 0] * np.float32(factor)
    return above, np.array(above.size, np.int32)
"""


@pytest.mark.parametrize("check", SIZES)
def test_a_size_tensors_animal(v3_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, check: str) -> None:
    (tmp_path / "pluginkit.toml").write_text(SIZED)
    (tmp_path / "reference.py").write_text(REFERENCE)
    monkeypatch.setenv("PROBE_MODE", str(test_v3.MODES["size"]))
    asked = ProjectOptions(tmp_path, v3_library)
    for fault, wanted in (("none", Ending.PASSED), (SIZES[check], Ending.FAILED)):
        monkeypatch.setenv("PROBE_FAULT", str(test_v3.FAULTS.index(fault)))
        (one,) = check_project(asked, [CHECKS[check]]).results
        assert one.ending is wanted, one


@pytest.mark.parametrize("check", sorted(TIED))
def test_an_animal_that_sorts(tmp_path: Path, shared: Shared, monkeypatch: pytest.MonkeyPatch, check: str) -> None:
    """The order of equal items is a warning, and no race; where threads come in order there is none."""
    project = shared.project(run_animals.write_ranked(tmp_path))
    for fault, wanted in (("0", set()), ("1", {check})):
        monkeypatch.setenv(run_animals.FAULT, fault)
        seen = found(project, CHECKS[check].need, only=("plain/*/opt", "plain/*/max"), schedules=2)
        assert seen.keys() == wanted, seen
        assert all(one.ending is Ending.WARNING for one in seen.values()), seen


@pytest.mark.gpu
@pytest.mark.parametrize("check", [marked(name, CHECKS[name].need) for name in run_animals.ON_GPU])
def test_an_animal_on_a_gpu(project: Path, monkeypatch: pytest.MonkeyPatch, check: str) -> None:
    # Under compute-sanitizer a call has twenty times as long.
    tool = {"sanitize": (TOOLS[check],), "timeout": 5} if check in TOOLS else {"timeout": 60}
    target = "cpu" if check == "N2" else "gpu"
    for fault in (0, run_animals.NUMBERS[run_animals.ON_GPU[check]]):
        monkeypatch.setenv(run_animals.FAULT, str(fault))
        evaluators = None if check == "N2" else ("host",)
        report = runner.run(
            Options(project=project, only=("plain/float32/max",), evaluators=evaluators, target=target, **tool)  # type: ignore[arg-type]
        )
        evidence = RunEvidence(members(project)[0].manifest, {CHECKS[check].need: report})
        result = result_of(CHECKS[check], "MyPlugin 1", evidence)
        seen = [(case.outcome.value, case.message, case.defects) for case in report.cases]
        assert result.is_finding is bool(fault), (fault, result, seen)
        assert fault or result.ending is Ending.PASSED, (result, seen)


def test_every_check_of_runs_has_its_animal() -> None:
    mine = {one.id for one in CHECKS.values() if one.need in BY_RUNS}
    assert {*ON_CPU, *SIZES, *TIED, *run_animals.ON_GPU} == mine
