from __future__ import annotations

import io
import json
import math
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console

from pluginkit.cli import table, terminal
from pluginkit.demands import DemandWarning
from pluginkit.dtypes import DType
from pluginkit.evaluators.protocol import Answers, Item, RunWork
from pluginkit.manifest import Manifest
from pluginkit.network.plan import Plan
from pluginkit.process.findings import Defect
from pluginkit.process.worker_pool import Common, Sessions
from pluginkit.run import execution
from pluginkit.run.items import parts
from pluginkit.runtimes.lean import session as lean
from pluginkit.runtimes.rtx import session as rtx
from pluginkit.runtimes.tensorrt import session as tensorrt
from pluginkit.runtimes.verdict import Availability
from pluginkit.testing.report import CaseResult, Outcome, Report, Verdict

ROOT = Path(__file__).parents[2]


def case(name: str, outcome: Outcome, **more: object) -> CaseResult:
    facts: dict = {"error": 0.5, "allowed": 1.0, "unit": "steps", "message": "", **more}
    return CaseResult(f"plain/int8/{name}", "plain/int8", "plain", DType.INT8, name, "n=1", outcome, **facts)


def report(*cases: CaseResult, verdicts: tuple[Verdict, ...] = ()) -> Report:
    return Report("MyPlugin", "lib.so", "abc", 7, cases, verdicts, {"tensorrt-rtx": "1.7"})


def shown(what: Report, *, detail: int = 0) -> str:
    out = io.StringIO()
    table.show(
        what, Console(file=out, width=terminal.UNLIMITED, soft_wrap=True), command="pluginkit test", detail=detail
    )
    return out.getvalue()


USUAL = {Outcome.PASSED: "built, live", Outcome.FAILED: "refused"}


def verdict(outcome: Outcome, message: str = "", log: tuple[str, ...] = (), how: str = "") -> Verdict:
    return Verdict("plain/int8", "tensorrt-rtx", outcome, message, log, how=how or USUAL.get(outcome, ""))


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        (["passed"], 0),
        (["passed", "skipped"], 0),
        (["passed", "failed"], 1),
        (["failed", "crashed"], 6),
        (["hung"], 6),
    ],
)
def test_exit_codes(outcomes: list[str], code: int) -> None:
    cases = [case(str(i), Outcome(name)) for i, name in enumerate(outcomes)]
    assert report(*cases).exit_code == code


def test_a_refused_network_turns_the_run_red() -> None:
    assert report(case("opt", Outcome.PASSED), verdicts=(verdict(Outcome.FAILED, "no"),)).exit_code == 1


def test_json_has_no_numbers_that_json_lacks() -> None:
    found = json.loads(json.dumps(report(case("opt", Outcome.FAILED, error=math.inf)).to_json(), allow_nan=False))
    assert found["cases"][0]["error"] is None
    assert found["cases"][0]["outcome"] == "failed"
    assert found["exit_code"] == 1


def test_junit_tells_the_outcomes_apart(tmp_path: Path) -> None:
    cases = [case(kind.value, kind, message=f"why {kind.value}") for kind in Outcome]
    report(*cases, verdicts=(verdict(Outcome.PASSED),)).write_junit(tmp_path / "junit.xml")
    root = ET.parse(tmp_path / "junit.xml").getroot()
    marks = {test.get("name"): [child.tag for child in test] for test in root.iter("testcase")}
    assert marks == {
        "plain/int8/passed": [],
        "plain/int8/failed": ["failure"],
        "plain/int8/crashed": ["error"],
        "plain/int8/hung": ["error"],
        "plain/int8/skipped": ["skipped"],
        "plain/int8": [],
    }
    assert root.get("failures") == "1"
    assert root.get("errors") == "2"


def test_the_table_has_a_row_for_each_network_with_its_worst_case() -> None:
    cases = case("min", Outcome.PASSED, error=0.25), case("opt", Outcome.PASSED), case("max", Outcome.PASSED, error=0.0)
    what = report(*cases, verdicts=(verdict(Outcome.PASSED),))
    assert "INT8" not in shown(what)
    text = shown(what, detail=1)
    (row,) = [line for line in text.splitlines() if "INT8" in line]
    assert row.split() == ["plain", "INT8", "3", "0.5", "steps", "1", "step", "passed", "built,", "live"]
    assert " opt " not in text


def test_the_table_has_a_row_for_each_case_that_is_not_as_it_should_be() -> None:
    cases = case("min", Outcome.PASSED), case("opt", Outcome.FAILED, error=3.0), case("max", Outcome.CRASHED)
    lines = shown(report(*cases), detail=1).splitlines()
    (row,) = [line for line in lines if line.startswith("plain INT8")]
    assert row.split()[:6] == ["plain", "INT8", "3", "3", "steps", "1"]
    assert "1 of 3 failed" in row
    (opt,) = [line for line in lines if line.strip().startswith("opt")]
    assert opt.split() == ["opt", "n=1", "3", "steps", "1", "step", "failed"]
    assert [line.split()[-1] for line in lines if line.strip().startswith("max")] == ["crashed"]
    assert not [line for line in lines if line.strip().startswith("min")]


def test_what_other_runtimes_say_has_a_column() -> None:
    ran = Verdict("plain/int8", "tensorrt", Outcome.FAILED, "no")
    what = report(case("opt", Outcome.PASSED), verdicts=(verdict(Outcome.PASSED), ran))
    lines = shown(what, detail=1).splitlines()
    assert any(line.split()[:1] == ["network"] and line.rstrip().endswith("tensorrt") for line in lines)
    assert any(line.split()[-3:] == ["built,", "live", "failed"] for line in lines)


def test_the_table_shows_error_beside_tolerance_and_both_verdicts() -> None:
    text = shown(report(case("opt", Outcome.PASSED), verdicts=(verdict(Outcome.PASSED),)), detail=2)
    (row,) = [line for line in text.splitlines() if " opt " in line]
    assert row.split() == ["plain", "INT8", "opt", "n=1", "0.5", "steps", "1", "step", "passed", "built,", "live"]
    assert "1 passed of 1 cases; NVIDIA's builder took 1 of 1 networks; seed 7" in text


def test_a_failure_says_what_and_how_to_repeat_it() -> None:
    text = shown(report(case("opt", Outcome.FAILED, message="off by 3 steps at [0, 1]")))
    assert "plain/int8/opt: failed" in text
    assert "off by 3 steps at [0, 1]" in text
    assert "pluginkit test --only plain/int8/opt --seed 7" in text


def test_a_failure_with_checks_is_repeated_with_them() -> None:
    found = Defect("race", "two writes", "softmax", (0, 0, 0), (1, 0, 0), "src/x.cu:4")
    bad = case("opt", Outcome.FAILED, sanitizers="thread+memory", schedule="in reverse", runs=3, defects=(found,))
    what = replace(report(case("min", Outcome.PASSED), bad), sanitize=("thread", "memory"), schedules=2)
    text = shown(what)
    assert "--only plain/int8/opt --seed 7 --sanitize thread,memory --schedules 2" in text
    (row,) = [line for line in shown(what, detail=1).splitlines() if " opt " in line and "failed" in line]
    assert "thread+memory" in row
    (_, written) = what.to_json()["cases"]
    assert written["defects"][0]["thread"] == [1, 0, 0]
    assert (written["sanitizers"], written["runs"]) == ("thread+memory", 3)


def test_junit_has_a_suite_for_each_build_and_what_it_printed(tmp_path: Path) -> None:
    printed = case("opt", Outcome.FAILED, sanitizers="address", log=("==1==ERROR", "\x1b[1mred"))
    report(case("opt", Outcome.PASSED), printed).write_junit(tmp_path / "junit.xml")
    root = ET.parse(tmp_path / "junit.xml").getroot()
    assert [suite.get("name") for suite in root] == ["host", "host address"]
    assert root.findtext(".//system-out") == "==1==ERROR\n[1mred"


def test_a_refusal_shows_the_runtimes_words() -> None:
    text = shown(report(case("opt", Outcome.PASSED), verdicts=(verdict(Outcome.FAILED, "no format", ("[E] why",)),)))
    assert "refused" in text
    assert "no format" in text
    assert "[E] why" in text
    assert "--only 'plain/int8/*'" in text


def test_controls_are_counted_and_one_that_is_not_refused_is_red(tmp_path: Path) -> None:
    held = Verdict("plain/int8/min-above-opt", "tensorrt-rtx", Outcome.PASSED, "profile 'default'")
    open_ = Verdict(
        "loop-count/int8/no-trip-count", "tensorrt-rtx", Outcome.FAILED, "built, and must be refused: it scans",
        ("warning: an attribute",), how="not refused",
    )  # fmt: skip
    good = replace(report(case("opt", Outcome.PASSED)), controls=(held,))
    assert "1 of 1 broken network refused as expected" in shown(good)
    assert good.exit_code == 0
    bad = replace(good, controls=(held, open_))
    text = shown(bad)
    assert "1 of 2 broken networks refused as expected" in text
    assert "loop-count/int8/no-trip-count in tensorrt-rtx: a broken network, not refused\n" in text
    message = (
        "MyPlugin: FAILED: 1 of 2 broken networks not refused (loop-count/int8/no-trip-count); 1 passed of 1 cases"
    )
    assert last(bad).startswith(message)
    assert last(bad).endswith(text.splitlines()[-1]), "nothing is printed behind it"
    assert "built, and must be refused: it scans" in text
    assert "an attribute" not in text, "what is said of a network that was built has nothing to do with it"
    assert "--only loop-count/int8/no-trip-count --seed 7" in text
    assert bad.exit_code == 1
    bad.write_junit(tmp_path / "junit.xml")
    root = ET.parse(tmp_path / "junit.xml").getroot()
    assert [suite.get("name") for suite in root] == ["host", "tensorrt-rtx refuses"]
    assert [[child.tag for child in test] for test in root[1]] == [[], ["failure"]]


def test_many_causes_are_not_all_explained() -> None:
    words = "abcdefghijk"
    assert len(words) == table.FAILURES + 3
    text = shown(report(*(case(str(i), Outcome.FAILED, message=f"wrong {word}") for i, word in enumerate(words))))
    assert text.count("again:") == table.FAILURES
    assert "... and 3 more causes" in text


def test_failures_come_first_and_one_cause_once() -> None:
    messages = [f"off by {i} at [{i}, 0]" for i in range(5)]
    bad = [case(f"count-{i}", Outcome.FAILED, message=text, seconds=1.8) for i, text in enumerate(messages)]
    lines = shown(report(case("opt", Outcome.PASSED), *bad)).splitlines()
    assert lines[1:5] == [
        "plain/int8/count-0: failed",
        "  in 5 cases: plain/int8/count-0, plain/int8/count-1, plain/int8/count-2, ...",
        "  off by 0 at [0, 0]",
        "  again: pluginkit test --only plain/int8/count-0 --seed 7",
    ]
    (row,) = [at for at, line in enumerate(lines) if line.startswith("host ")]
    assert row > 5
    assert " ".join(lines[row].split()) == "host 1 passed, 5 failed of 6 cases in 1 network 9.0 s"


def test_what_took_no_part_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensorrt, "probe", lambda: Availability(False, reason="gone"))
    runtimes = {
        "host": "pluginkit's own, on target cpu; target gpu took no part: no GPU here",
        "tensorrt-rtx": "1.7",
        "tensorrt": "took no part: not installed",
    }
    what = replace(report(case("opt", Outcome.PASSED)), runtimes=runtimes)
    (line,) = [one for one in shown(what).splitlines() if "took no part" in one]
    assert line.startswith("took no part: target gpu, tensorrt (why: -v")
    assert "tensorrt: took no part: not installed" in shown(what, detail=1)


def test_why_a_runtime_that_is_here_took_no_part_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rtx, "probe", lambda: Availability(True))
    what = replace(report(case("opt", Outcome.PASSED)), runtimes={"tensorrt-rtx": "took no part: no adapter for it"})
    assert "took no part: tensorrt-rtx (no adapter for it) (why: -v" in shown(what)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "abs", "-"),
        (math.nan, "abs", "no number"),
        (0.0, "abs", "0"),
        (3.14e-7, "abs", "3.1e-07"),
        (1.0, "steps", "1 step"),
        (0.0, "steps", "0 steps"),
        (2.5, "steps", "2.5 steps"),
    ],
)
def test_numbers(value: float | None, unit: str, text: str) -> None:
    assert table.number(value, unit) == text


def last(what: Report) -> str:
    return table.closing(what).plain


def test_the_last_line_of_a_green_run() -> None:
    good = report(case("opt", Outcome.PASSED), verdicts=(verdict(Outcome.PASSED),))
    assert last(good) == "MyPlugin: 1 passed of 1 cases; NVIDIA's builder took 1 of 1 networks; seed 7"
    assert table.closing(good).style == "bold green"


def test_the_last_line_counts_the_warnings_that_are_printed() -> None:
    """In a strict run warnings are failures, and not printed once more."""
    warned = replace(case("opt", Outcome.PASSED), warnings=(DemandWarning("S2", "serialize", "a byte"),))
    assert "; 1 warning; " in last(report(warned))
    failed = replace(report(replace(warned, outcome=Outcome.FAILED)), strict=True)
    assert "warning" not in last(failed)
    assert "1 warning" in last(replace(failed, cases=(*failed.cases, replace(warned, unjudged="the GPU is too small"))))


def test_the_last_line_says_of_how_many_networks_the_builder_was_not_asked() -> None:
    implicit = replace(case("opt", Outcome.PASSED), id="plain/int8-implicit-max/opt", network="plain/int8-implicit-max")
    what = report(case("opt", Outcome.PASSED), implicit, verdicts=(verdict(Outcome.PASSED),))
    assert "NVIDIA's builder took 1 of 1 networks, and was not asked about 1; seed 7" in last(what)


def test_the_last_line_says_who_was_not_asked() -> None:
    quiet = {"host": "here", "tensorrt-lean": "took no part: not installed", "tensorrt-rtx": "1.7"}
    assert last(replace(report(case("opt", Outcome.PASSED)), runtimes=quiet)) == (
        "MyPlugin: 1 passed of 1 cases; not tested by tensorrt-lean; seed 7"
    )


def test_a_runtime_without_which_the_run_went_on_is_told_as_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rtx, "probe", lambda: Availability(False, reason="gone"))
    monkeypatch.setattr(lean, "probe", lambda: Availability(False, reason="gone"))
    monkeypatch.setattr(tensorrt, "probe", lambda: Availability(False, reason="gone"))
    manifest = Manifest.load(ROOT / "samples" / "bar_plugin")
    empty = Plan((), (), 0)
    found = {part.evaluator.NAME: part for part in parts(RunWork(manifest, Path(), empty, empty))}
    absences = {name: found[name].status for name in (lean.NAME, tensorrt.NAME)}
    assert replace(report(), runtimes=absences).absent == [lean.NAME, tensorrt.NAME]
    assert set(absences.values()) == {"took no part: gone"}


@pytest.mark.parametrize(
    ("name", "evaluator", "shown"),
    [
        ("plain/float32/tensorrt-rtx", "tensorrt-rtx", "tensorrt-rtx: plain/float32"),
        ("plain/float32/opt", "host", "host: plain/float32/opt"),
        ("tensorrt", "tensorrt", "tensorrt"),
    ],
)
def test_progress_names_the_judge_once(name: str, evaluator: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent:
        def execute(self, *_: object) -> Answers:
            return Answers()

    monkeypatch.setattr(execution.evaluators, "evaluator", lambda _: Silent())
    empty = Plan((), (), 0)
    work = RunWork(Manifest.load(ROOT / "samples" / "bar_plugin"), Path(), empty, empty)
    printed: list[str] = []
    place = execution.LocalWorkplace(Sessions(Common()), lambda _: Path(), Path, printed.append)
    execution.execute(Item(name, evaluator, "verdicts"), work, place)
    assert printed == [shown]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("built, not live", "FAILED: NVIDIA's builder took 1 of 1 networks (1 not live); 1 passed of 1 cases"),
        ("built, wrong shapes", "FAILED: NVIDIA's builder took 1 of 1 networks (1 wrong shapes); 1 passed of 1 cases"),
        ("refused", "FAILED: NVIDIA's builder took 0 of 1 networks; 1 passed of 1 cases"),
        ("not loaded", "FAILED: NVIDIA's builder took 0 of 1 networks; 1 passed of 1 cases"),
    ],
)
def test_each_kind_of_a_failed_verdict_has_its_word(how: str, message: str) -> None:
    what = report(case("opt", Outcome.PASSED), verdicts=(verdict(Outcome.FAILED, "why", how=how),))
    assert message in last(what)
    text = shown(what, detail=1)
    (row,) = [line for line in text.splitlines() if line.startswith("plain INT8")]
    assert row.rstrip().endswith(how)
    assert f"plain/int8 in tensorrt-rtx: {how}\n" in text


def test_a_run_of_controls_and_registries_alone() -> None:
    held = Verdict("plain/int8/min-above-opt", "tensorrt-rtx", Outcome.PASSED)
    asked = Verdict("registry/10.16", "tensorrt-lean", Outcome.PASSED)
    alone = replace(report(), controls=(held,), registries=(asked,))
    assert last(alone) == "MyPlugin: 1 of 1 broken networks refused; right in registry/10.16; seed 7"
    assert "largest" not in shown(alone)
    bad = replace(alone, registries=(replace(asked, outcome=Outcome.FAILED),))
    assert last(bad).startswith("MyPlugin: FAILED: failed in registry/10.16; 1 of 1 broken networks refused")


def test_other_runtimes_failures_are_told_in_the_last_line() -> None:
    ran = Verdict("plain/int8", "tensorrt", Outcome.FAILED, "no")
    what = report(case("opt", Outcome.PASSED), verdicts=(verdict(Outcome.PASSED), ran))
    assert "FAILED: 1 of 1 networks failed in tensorrt; 1 passed of 1 cases" in last(what)


def test_the_rows_error_is_the_largest_of_its_cases() -> None:
    near = case("a", Outcome.PASSED, error=5.0, allowed=5.1, unit="abs")
    far = case("b", Outcome.PASSED, error=160.0, allowed=1000.0, unit="abs")
    assert table.worst_of([near, far]).point == "b"
    failing = case("c", Outcome.FAILED, error=7.0, allowed=0.1, unit="abs")
    assert table.worst_of([near, far, failing]).point == "c"
    assert table.worst_of([far, replace(failing, error=161.0), failing]).error == 161.0
    steps = case("d", Outcome.PASSED, error=1.0, allowed=1.0, unit="steps")
    assert table.worst_of([far, steps]).point == "d", "a step is no 1.0: the one nearer to its tolerance"


def test_an_error_in_the_log_that_is_the_message_is_told_once() -> None:
    log = ("error: [x.cpp] Error Code 2: no format", "warning: an attribute")
    message = "NVIDIA's builder: [x.cpp] Error Code 2: no format"
    text = shown(report(case("opt", Outcome.PASSED), verdicts=(verdict(Outcome.FAILED, message, log),)))
    assert text.count("Error Code 2") == 1
    assert "| warning: an attribute" in text


def test_networks_for_numbers_of_channels_are_explained() -> None:
    def text(*ends: str) -> str:
        cases = [replace(case(end, Outcome.PASSED), network=f"plain/int8/{end}", shape="n=1 l=16 d2=4") for end in ends]
        console = Console(width=120, record=True, file=io.StringIO())
        table.show(report(*cases), console, command="", detail=1)
        return " ".join(console.export_text().split())

    assert "/l16: INT8 needs channels that are known when it is built" in text("l16")
    # Of a rank's own networks, and of a symbol that ends with a digit.
    assert "/rank4-d2_4: INT8 needs" in text("rank4-d2_4")
    # A profile's name.
    assert "INT8 needs" not in text("large2")
