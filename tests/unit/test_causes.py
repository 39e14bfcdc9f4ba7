"""Which failures have one cause: what is shown once, and what isn't."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pluginkit.dtypes import DType
from pluginkit.process.findings import Defect
from pluginkit.reporting import causes
from pluginkit.testing.report import STRICT, CaseResult, Outcome, Report, Verdict

OFF = {"error": 3.0, "allowed": 1.0, "unit": "steps"}
DTYPE = "answered kFLOAT for output 0, where the inputs are kINT8"


def case(point: str, message: str = "", network: str = "plain/float32", **more: object) -> CaseResult:
    family, precision = network.split("/")[:2]
    kind = DType(precision.split("-")[0])
    facts: dict = {"outcome": Outcome.FAILED, "message": message, **more}
    return CaseResult(f"{network}/{point}", network, family, kind, point, "n=1", **facts)


def report(*cases: CaseResult, **more: object) -> Report:
    facts: dict = {"verdicts": (), **more}
    return Report("P", "lib.so", "0", 0, cases, **facts)


def grouped(what: Report) -> list[list[str]]:
    return [[causes.name_of(item) for item in one.items] for one in causes.causes(what)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("written beyond output 0, which has 8 bytes", "written beyond output 1, which has 2016 bytes"),
        ("output 'y' has shape [2, 3]", "output 'y_all' has shape [2, 3, 4, 5]"),
        ("NVIDIA's parser: Invalid Node - n003_main", "NVIDIA's parser: Invalid Node - n17_body"),
        ("touches 0x7f3183c89000", "touches 0x7f3183c88000"),
        ("off by 3.5e-07 at [0]", "off by -1.25 at [1, 2, 3]"),
    ],
)
def test_names_and_numbers_make_no_other_cause(first: str, second: str) -> None:
    assert len(causes.causes(report(case("min", first), case("opt", second)))) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (case("min", "SIGSEGV in enqueue"), case("opt", "SIGSEGV in initialize")),
        (case("min", "at src/a.cu:4"), case("opt", "at src/a.cu:40")),
        (case("min", "no"), case("opt", "no", outcome=Outcome.CRASHED)),
        (case("min", "no"), case("opt", "no", target="gpu")),
        (case("min", "no"), case("opt", "no", schedule="in reverse", way="order")),
        (case("min", "no"), case("opt", "no", after=("plain/float32/max",))),
        (case("min", "no", **OFF), case("min", "no", "plain/int8", **OFF)),
        (case("min", "answered 1"), case("opt", "answered 1", **OFF)),
        (
            case("min", "a race", defects=(Defect("race", "two writes", place="src/x.cu:4"),)),
            case("opt", "a race", defects=(Defect("race", "two writes", place="src/x.cu:9"),)),
        ),
    ],
)
def test_two_causes(one: CaseResult, other: CaseResult) -> None:
    assert len(causes.causes(report(one, other))) == 2


def test_wrong_values_are_one_cause_in_a_precision_and_the_likely_cause_is_shown() -> None:
    few, many = case("min", "output 'y' is 1", **OFF), case("max", "output 'y' is 2\nthe scale is ignored", **OFF)
    loop = case("opt", "output 'last' is 7 at [0, 0]", "loop/float32", **OFF)
    (found,) = causes.causes(report(few, many, loop))
    assert found.items == (few, many, loop)
    assert found.first is many
    message = causes.message(found, report(few, many, loop), "pluginkit test")
    assert message.message[0] == "in 3 cases: plain/float32/max, plain/float32/min, loop/float32/opt"
    assert message.again == "pluginkit test --only plain/float32/max --seed 0"


def test_what_the_failing_cases_have_in_common() -> None:
    bad = [case("max/then", "no", f"cond-{i}/float32") for i in "ab"] + [case("max", "no")]
    good = [replace(case("opt", network=one.network), outcome=Outcome.PASSED) for one in bad]
    (found,) = causes.causes(report(*bad, *good))
    assert found.common == ("at max",)
    assert causes.causes(report(*bad))[0].common == (), "nothing else ran"


def test_other_fields_are_a_cause_of_their_own_only_where_the_usual_ones_pass() -> None:
    lead = "a warning is a failure here:\n[F6] createPlugin: with alpha = 0.7, near its default: "
    alpha = [case("opt", f"{lead}{DTYPE}", f"plain/int8-field-alpha{more}") for more in ("", "-2")]
    none = case("opt", f"without the fields: {DTYPE}", "plain/int8-no-fields")
    usual = case("opt", DTYPE, "plain/int8")
    assert [len(one) for one in grouped(report(*alpha, none))] == [2, 1]
    assert len(grouped(report(*alpha, usual, none))) == 1
    assert causes.causes(report(*alpha, usual))[0].first is usual
    off = [case("opt", "output 'y' is 1", f"plain/int8{end}", **OFF) for end in ("-field-alpha", "-field-beta", "")]
    assert len(grouped(report(*off))) == 1
    assert len(grouped(report(*off[:2]))) == 2


def test_verdicts_by_the_place_in_nvidias_sources() -> None:
    texts = (
        "NVIDIA's parser: Invalid Node - n3\nnot FP8. In checkType at /_src/a.cpp:456",
        "not FP8 at /_src/a.cpp:456",
    )
    refused = tuple(
        Verdict(f"{i}/int8", "tensorrt-rtx", Outcome.FAILED, text, how="refused") for i, text in enumerate(texts)
    )
    assert grouped(report(verdicts=refused)) == [["0/int8", "1/int8"]]
    elsewhere = replace(refused[0], network="x/int8", message="not FP8 at /_src/a.cpp:7")
    assert len(grouped(report(verdicts=(*refused, elsewhere)))) == 2


def test_networks_that_must_be_refused_by_what_is_broken_in_them() -> None:
    taken = [
        Verdict(f"{family}/int8/{name}", "tensorrt-rtx", Outcome.FAILED, f"built: {family}", how="not refused")
        for name in ("min-above-opt", "no-trip-count")
        for family in ("plain", "loop")
    ]
    assert grouped(report(controls=tuple(taken))) == [
        ["plain/int8/min-above-opt", "loop/int8/min-above-opt"],
        ["plain/int8/no-trip-count", "loop/int8/no-trip-count"],
    ]


def test_the_message_is_not_of_a_warning_where_another_case_is_wrong_for_certain() -> None:
    doubtful = case("special", f"{STRICT}\n[E14] enqueue: output 'y' is -30, expected -45", **OFF)
    certain = case("opt", "output 'y' is 2 at [0], expected 3", **OFF)
    (one,) = causes.causes(report(doubtful, certain))
    assert one.first is certain
