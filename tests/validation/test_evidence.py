"""What test runs show becomes the results of checks: of each finding its own check's, and of no other's.

That a fault in a plugin makes these findings is shown by tests/integration/test_planted_faults and test_checks.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pluginkit.adoption.answers import ListedCreator, PluginAnswers
from pluginkit.demands import DemandWarning
from pluginkit.dtypes import DType
from pluginkit.manifest import Manifest
from pluginkit.manifest.project import Member
from pluginkit.process.defects import COSTS, KINDS
from pluginkit.process.findings import Defect
from pluginkit.testing.report import ABSENT, CaseResult, Outcome, Report, Verdict
from pluginkit.validation import CHECKS, Ending
from pluginkit.validation.catalog import BY_RUNS
from pluginkit.validation.judging import result_of
from pluginkit.validation.subjects.asking import NO_RUN, MoreSubjects
from pluginkit.validation.subjects.evidence import NOT_JUDGED, OF_DEFECTS, RunEvidence, observations
from tests.unit.test_manifest import GOOD

CASE = CaseResult("plain/float32/opt", "plain/float32", "plain", DType.FLOAT32, "opt", "n=2", Outcome.PASSED, 0.0, 1.0)
FAILED = replace(CASE, outcome=Outcome.FAILED, message="it is wrong")
BY_DEMAND = ("F8", "T19", "T20", "C3", "C16", "E1", "E5", "E6", "E7", "E10", "E16", "T8", "T14", "T17", "L12")
BY_WARNING = ("F9", "F6", "C18", "E3", "E4", "E13", "E14", "E17", "E18", "E19", "L7")
DEFECTS = {
    "K1": "shared-overrun",
    "K2": "race",
    "K3": "uninitialized-read",
    "K4": "host-pointer",
    "K5": "divergent-barrier",
    "K6": "shuffle-inactive-lane",
    "K7": "launch-config",
    "K8": "undefined",
    "K9": "bad-copy",
    "K10": "bad-free",
    "K11": "endless-kernel",
    "K12": "trap",
    "K13": "stack-overflow",
    "K16": "other-device",
    "E2": "wrong-stream",
}
CASES: dict[str, CaseResult | Verdict] = {
    **{name: replace(FAILED, demand=name) for name in BY_DEMAND},
    **{name: replace(CASE, warnings=(DemandWarning(name, "enqueue", "not so good"),)) for name in BY_WARNING},
    **{name: replace(FAILED, defects=(Defect(kind, "wrong"),)) for name, kind in DEFECTS.items()},
    "K14": replace(FAILED, demand="E7", way="order"),
    "K15": replace(FAILED, outcome=Outcome.CRASHED),
    "G1": replace(FAILED, demand="E7", target="gpu"),
    **{
        name: replace(FAILED, target="gpu", sanitizers=tool, defects=(Defect("address", "wrong"),))
        for name, tool in {"G2": "memcheck", "G3": "racecheck", "G4": "initcheck", "G5": "synccheck"}.items()
    },
    "N1": Verdict("plain/float32", "tensorrt-rtx", Outcome.FAILED, "refused"),
    "N2": Verdict("plain/float32", "tensorrt-rtx engines", Outcome.FAILED, "other outputs"),
    "N3": Verdict("registry/11.4", "tensorrt-lean", Outcome.CRASHED, "SIGSEGV"),
}
"""Of each check a case or verdict that breaks it."""


def evidence(*shown: CaseResult | Verdict, **more: object) -> RunEvidence:
    cases = tuple(one for one in shown if isinstance(one, CaseResult))
    verdicts = tuple(one for one in shown if isinstance(one, Verdict))
    report = Report("P", "lib.so", "", 0, (CASE, *cases), verdicts, runtimes={"tensorrt-rtx": "1.7", "host": "1"})
    return RunEvidence(Manifest.parse(GOOD), {"run": report}, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("check", CASES)
def test_a_finding_is_its_checks(check: str) -> None:
    subject = evidence(CASES[check])
    found = {one.id: result_of(one, "P 1", subject) for one in CHECKS.values() if one.need in BY_RUNS}
    broken = {name for name, one in found.items() if one.is_finding}
    assert broken == {check}
    usual = Ending.WARNING if CHECKS[check].kind == "robustness" else Ending.FAILED
    assert found[check].ending is usual


@pytest.mark.parametrize(
    ("check", "name"), [("N1", "tensorrt-rtx (1.2.0.54)"), ("N2", "tensorrt-rtx engines (sm_89, 1.2.0.54)")]
)
def test_a_place_in_a_runtimes_name_hides_nothing(check: str, name: str) -> None:
    """On a farm with several versions or GPUs."""

    def asked(runtimes: dict[str, str], *shown: Verdict) -> Ending:
        report = replace(evidence(*shown).reports["run"], runtimes=runtimes)
        return result_of(CHECKS[check], "P 1", replace(evidence(), reports={"run": report})).ending

    other = f"{name.partition(' (')[0]} (1.4)"
    assert (
        asked({name: "1.2", other: "1.4"}, Verdict("plain/float32", name, Outcome.FAILED, "refused")) is Ending.FAILED
    )
    assert asked({name: "1.2"}) is Ending.PASSED
    assert asked({name: f"{ABSENT}: it is not here", other: "1.4"}) is Ending.PASSED
    assert asked({name: f"{ABSENT}: it is not here"}) is Ending.SKIPPED


def test_every_check_of_runs_has_its_animal() -> None:
    assert set(CASES) == {one.id for one in CHECKS.values() if one.need in BY_RUNS}


def test_every_kind_of_defect_has_a_check() -> None:
    assert {*OF_DEFECTS, *COSTS, NOT_JUDGED} == set(KINDS)
    assert set(OF_DEFECTS.values()) <= set(CHECKS)
    unsupported = replace(CASE, defects=(Defect(NOT_JUDGED, "no cuFFT"),))
    assert not list(observations(evidence(unsupported).reports["run"]))


def test_what_nothing_was_seen_of_is_skipped() -> None:
    """Not passed: no run, no case that passed, no kernels, no such outputs, a runtime that took no part."""

    def why(name: str, subject: RunEvidence) -> str:
        found = result_of(CHECKS[name], "P 1", subject)
        assert found.ending is Ending.SKIPPED, found
        return found.message

    assert why("E1", RunEvidence(Manifest.parse(GOOD), {}, {"run": "no compiler"})) == "no compiler"
    failed = evidence()
    failed = replace(failed, reports={"run": replace(failed.reports["run"], cases=(FAILED,))})
    assert "not reached: plain/float32/opt: it is wrong" in why("E1", failed)
    assert "not one of target cpu" in why("K7", evidence(watched=False))
    assert why("K14", evidence()) == "no other order was asked for"
    assert why("T20", evidence()) == "pluginkit.toml declares no workspace"
    assert why("N3", evidence()).startswith("took no part")
    assert why("K2", evidence(absent={"sanitizers": "no sources"})) == "no sources"
    # Of a run that took place, another one's absence says nothing, nor its failures; on a GPU there are two.
    usual = evidence().reports["run"]
    skipped = replace(usual, cases=(replace(CASE, outcome=Outcome.SKIPPED),))
    on_gpu = replace(
        evidence(), reports={"run": usual, "gpu": usual}, absent={"gpu-sanitizers": "no compute-sanitizer"}
    )
    assert why("G2", on_gpu) == "no compute-sanitizer"
    assert result_of(CHECKS["G1"], "P 1", on_gpu).ending is Ending.PASSED
    assert (
        why("K2", replace(failed, reports={**failed.reports, "sanitizers": skipped})) == "not reached: no case was run"
    )


def test_several_cases_are_one_finding() -> None:
    other = replace(FAILED, id="plain/float32/max", demand="E6")
    found = result_of(CHECKS["E6"], "P 1", evidence(replace(FAILED, demand="E6"), other, other))
    assert found.message == "plain/float32/opt: it is wrong\nand in 1 more case"


def test_a_value_that_is_wrong_anyway_says_nothing_of_nan() -> None:
    special = replace(
        CASE, id="plain/float32/special", warnings=(DemandWarning("E14", "enqueue", "output 'y' is off"),)
    )
    other = replace(FAILED, id="plain/float16/opt", network="plain/float16", demand="E7")
    for wrong, shown in ((replace(FAILED, demand="E7"), False), (other, True)):
        assert result_of(CHECKS["E14"], "P 1", evidence(wrong, special)).is_finding is shown


def test_what_runs_show_is_of_the_version_that_was_run() -> None:
    """NVIDIA's libraries have several versions of one name."""
    creators = [ListedCreator(index, "MyPlugin", str(index), "acme", "v2", ()) for index in (1, 2)]
    subject = evidence(CASES["F9"], CASES["E7"])
    subjects = MoreSubjects(creators, [Member(Path(), subject.manifest)], {}, {"MyPlugin": subject})
    asked = [CHECKS["F9"], CHECKS["E7"]]
    other, own = (list(subjects.results(asked, one, PluginAnswers(), iter(()))) for one in creators)
    assert [one.ending for one in own] == [Ending.WARNING, Ending.FAILED]
    assert [(one.ending, one.message) for one in other] == 2 * [(Ending.SKIPPED, NO_RUN)]
