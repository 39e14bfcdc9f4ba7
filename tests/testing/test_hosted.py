"""How a case is judged, on a session whose plugin is a function: no library is built."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pluginkit.build import PLAIN
from pluginkit.demands import DemandWarning
from pluginkit.dtypes import DType
from pluginkit.evaluators.host import cases, kept_state
from pluginkit.evaluators.host.cases import Hosted, Hosting, _with_warning
from pluginkit.evaluators.host.schedules import Schedule
from pluginkit.layouts import TargetName
from pluginkit.manifest import Manifest
from pluginkit.network.api_model import AnyNetwork
from pluginkit.network.networks import Array, Case
from pluginkit.network.plan import Plan
from pluginkit.process.findings import Defect
from pluginkit.run import messages
from pluginkit.runtimes import BuildVerdict, Ran
from pluginkit.runtimes.host.session import Asked
from pluginkit.testing.plan import plan
from pluginkit.testing.reference import Reference
from pluginkit.testing.report import CaseResult, Outcome, Report

from .conftest import EXAMPLES, LEAKY


class Session:
    """A `HostSession` whose plugin's outputs are what `answer` makes of the right ones."""

    printed = ""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: tuple[Asked, ...] = ()
        self.processes = 1
        self.left: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]] = ((), (), ())
        self.lives: list[str] = []

    def typical(self, network: AnyNetwork) -> bool:
        return network.id == "plain/int8"

    def leaks(self, case: Case) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        self.lives.append(case.id)
        return self.left

    def renew(self) -> None:
        self.asked = ()
        self.processes += 1

    def build(self, network: object) -> BuildVerdict:
        return BuildVerdict("built", "")

    def findings(self) -> tuple[()]:
        return ()

    def ways(self, case: Case) -> tuple[str, ...]:
        return ("",)

    def run(self, case: Case, *, initialize_clones: bool = False, **asked: Any) -> Ran:
        del initialize_clones  # these plugins keep nothing
        before, self.asked = self.asked, (*self.asked, Asked(case, **asked))
        given = (case, before) if self.answer.__code__.co_argcount == 4 else (case,)
        outputs: dict[str, Array] = {
            name: np.asarray(self.answer(*given, name, want)).astype(np.int32 if want.dtype.kind == "i" else np.float32)
            for name, want in case.expected.items()
        }
        return Ran(outputs, case.enqueues or 0)


@pytest.fixture(scope="module")
def made() -> Plan:
    return plan(LEAKY, EXAMPLES["leaky"].reference, families=["plain"], precisions=[DType.INT8])


def hosting(answer: Any, *, strict: bool = False) -> Hosting:
    hosted = Hosted(Path("lib.so"), PLAIN, LEAKY, Path(), 60.0, (Schedule(),), strict=strict)
    return Hosting(hosted, Session(answer))  # type: ignore[arg-type]


def result_of(made: Plan, answer: Any, name: str = "plain/int8/opt") -> CaseResult:
    (case,) = [case for case in made.cases if case.id == name]
    return hosting(answer).case(made.network(case), case)


def test_what_is_right_passes_without_a_word(made: Plan) -> None:
    found = result_of(made, lambda case, name, want: want)
    assert (found.outcome, found.message) == (Outcome.PASSED, "")


def test_one_step_beside_the_nearest_is_wrong_where_the_exact_value_is_clear(made: Plan) -> None:
    (case,) = [case for case in made.cases if case.id == "plain/int8/opt"]
    (name,) = case.clear
    scale = case.tolerance.scales[name]
    clear = result_of(made, lambda _, name, want: want + scale * case.clear[name])
    assert clear.outcome is Outcome.FAILED
    assert "is not the nearer one" in clear.message
    near = result_of(made, lambda _, name, want: want + scale * (~case.clear[name] & (np.abs(want) < 100 * scale)))
    assert near.outcome is Outcome.PASSED


def test_leaks_are_asked_of_one_case_and_initialize_must_not_leave_any(made: Plan) -> None:
    (case,) = [case for case in made.cases if case.id == "plain/int8/opt"]
    for strict in (False, True):
        session = Session(lambda case, name, want: want)
        hosted = Hosted(Path("lib.so"), PLAIN, LEAKY, Path(), 60.0, (Schedule(),), strict=strict)
        one = Hosting(hosted, session)  # type: ignore[arg-type]
        session.left = (), ("src/a.cpp:9: memory",), ("src/a.cpp:3: stream",)
        found = [one.case(made.network(each), each) for each in made.cases]
        assert session.lives == [case.id]
        warned = [each for each in found if each.warnings]
        of_clone = "of a clone, which TensorRT never terminates, leaves what terminate gives back: src/a.cpp:9: memory"
        assert [(each.id, *(one.text for one in each.warnings)) for each in warned] == [
            (case.id, f"[L7] destroy: {of_clone}", "[L7] destroy: src/a.cpp:3: stream")
        ]
        assert warned[0].outcome is (Outcome.FAILED if strict else Outcome.PASSED)
        session.left = ("src/a.cpp:5: event",), (), ()
        failed = one.case(made.network(case), case)
        assert failed.outcome is Outcome.FAILED
        assert "does not give back what initialize took: src/a.cpp:5: event" in failed.message


@pytest.mark.parametrize(
    ("targets", "rule", "outcome"),
    [
        (("8.5", "10"), "E19", Outcome.FAILED),
        (("8.5", "10"), "E18", Outcome.PASSED),
        (("10", "11", "rtx"), "E19", Outcome.PASSED),
    ],
)
def test_a_branch_that_is_not_taken_counts_for_8_5_alone(
    made: Plan, targets: tuple[TargetName, ...], rule: str, outcome: Outcome
) -> None:
    (case,) = [case for case in made.cases if case.id == "plain/int8/opt"]
    session = Session(lambda case, name, want: want)
    hosted = Hosted(Path("lib.so"), PLAIN, LEAKY.for_targets(targets), Path(), 60.0, (Schedule(),))
    one = Hosting(hosted, session)  # type: ignore[arg-type]
    warning = DemandWarning(rule, "enqueue", "an index is out of range")
    found = one._warned(one.case(made.network(case), case), (warning,), Outcome.PASSED)
    assert (found.outcome, found.warnings) == (outcome, (warning,))


def test_a_likely_cause_of_wrong_int8_is_said(made: Plan) -> None:
    (case,) = [case for case in made.cases if case.id == "plain/int8/opt"]
    (call,) = made.network(case).calls
    (x,), (y,) = call.scales, call.output_scales

    def scaled_by_x(case: Case, name: str, want: Array) -> Array:
        return np.clip(np.rint(want / x), -128, 127) * y

    found = result_of(made, scaled_by_x)
    assert found.outcome is Outcome.FAILED
    assert f"likely cause: 'y' is quantized with the scale of 'x' ({x:g}), not its own ({y:g})" in found.message
    none = result_of(made, lambda case, name, want: np.clip(-want, -128 * y, 127 * y))
    assert "no usual INT8 mistake gives these values" in none.message


def all_of(made: Plan, answer: Any, *, schedules: tuple[Schedule, ...] = (Schedule(),)) -> tuple[list[CaseResult], int]:
    session = Session(answer)
    hosted = Hosted(Path("lib.so"), PLAIN, LEAKY, Path(), 60.0, schedules)
    one = Hosting(hosted, session)  # type: ignore[arg-type]
    return [one.case(made.network(case), case) for case in made.cases], session.processes


def again(case: CaseResult) -> str:
    return messages.failure(case, Report("P", "", "", 3, (case,), ()), "pluginkit test").again


def test_a_case_that_fails_only_after_another_is_told_with_that_one(made: Plan) -> None:
    def second_is_wrong(case: Case, before: tuple[Asked, ...], name: str, want: Array) -> Array:
        return want + 50 if before else want

    (first, second, third, *_), _ = all_of(made, second_is_wrong)
    assert first.outcome is Outcome.PASSED
    for earlier, later in ((first, second), (second, third)):
        assert later.outcome is Outcome.FAILED
        assert later.message.startswith(
            f"state is kept between runs: this case passes alone, and fails after {earlier.id} in the same process."
        )
        assert "off by" in later.message
        assert later.after == (earlier.id,)
        assert again(later) == f"pluginkit test --only {earlier.id} --only {later.id} --seed 3 --jobs 1"


def test_what_the_first_run_leaves_is_found_too(made: Plan) -> None:
    def as_the_first(case: Case, before: tuple[Asked, ...], name: str, want: Array) -> Array:
        # A plugin that keeps what it first saw: only that case's size is right, and its neighbour's.
        far = before and made.cases.index(case) - made.cases.index(before[0].case) > 1
        return want + 50 if far else want

    found, _ = all_of(made, as_the_first)
    assert [case.outcome for case in found[:3]] == [Outcome.PASSED, Outcome.PASSED, Outcome.FAILED]
    assert found[2].after == (found[0].id,)


def test_a_case_that_fails_the_second_time_is_told_so(made: Plan) -> None:
    def second_is_wrong(case: Case, before: tuple[Asked, ...], name: str, want: Array) -> Array:
        return want + 50 if before else want

    (first, *_), _ = all_of(made, second_is_wrong, schedules=(Schedule(), Schedule("reverse")))
    assert "fails when it is run a second time in a process" in first.message
    assert first.after == ()


def test_what_target_cpu_cannot_do_says_nothing_of_special_values() -> None:
    """InverseTRT of BEVFormer_tensorrt calls a function of cuBLAS that it doesn't have."""

    whole = plan(LEAKY, EXAMPLES["leaky"].reference, families=["plain"], precisions=[DType.FLOAT32])
    (case,) = [case for case in whole.cases if case.id == "plain/float32/special"]
    right = result_of(whole, lambda case, name, want: want, case.id)
    for kind, warned in (("not-supported", False), ("address", True)):
        failed = replace(right, outcome=Outcome.FAILED, defects=(Defect(kind, "cublasSgetrfBatched"),))
        assert bool(_with_warning(case, failed).warnings) is warned


RANKED = """\
[plugin]
name = "Ranked"
base = "v3"

[[inputs]]
name = "x"
types = ["float32"]
shape = ["n"]

[[outputs]]
name = "score"
types = ["float32"]
shape = ["n"]

[[outputs]]
name = "place"
types = ["int32"]
shape = ["n"]

[[profiles]]
symbols = { n = [1, 8, 8] }
"""


@pytest.mark.parametrize(("moved", "outcome"), [("place", Outcome.PASSED), ("score", Outcome.FAILED)])
def test_equal_items_may_come_in_another_order_and_that_is_a_warning(moved: str, outcome: Outcome) -> None:
    """What they are sorted by may not."""

    def reference(x: Array) -> tuple[Array, Array]:
        return np.array([*[2.0] * (len(x) - 1), 1.0]), np.arange(len(x))

    def turned(case: Case, before: tuple[Asked, ...], name: str, want: Array) -> Array:
        return np.array([*want[-2::-1], want[-1]]) if len(before) == 1 and name == "place" else want

    def all_turned(case: Case, before: tuple[Asked, ...], name: str, want: Array) -> Array:
        return want[::-1] if len(before) == 1 else want

    manifest = Manifest.parse(RANKED)
    ranked = plan(manifest, Reference(manifest, reference), families=["plain"])
    session = Session(turned if moved == "place" else all_turned)
    hosted = Hosted(Path("lib.so"), PLAIN, manifest, Path(), 60.0, (Schedule(), Schedule("reverse")))
    (case,) = [case for case in ranked.cases if case.id == "plain/float32/opt"]
    found = Hosting(hosted, session).case(ranked.network(case), case)  # type: ignore[arg-type]
    assert found.outcome is outcome, found.message
    if moved == "place":
        (warning,) = found.warnings
        assert warning.text == (
            "[E18] enqueue: with blocks and threads in reverse order: "
            "'place' has items in another order that are equal in 'score'"
        )


def test_one_warning_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Items in another order in a run whose outputs stop short of INT8's end."""

    def reference(x: Array) -> tuple[Array, Array]:
        return np.full(len(x), 2.0), np.arange(len(x))

    def turned(case: Case, before: tuple[Asked, ...], name: str, want: Array) -> Array:
        return want[::-1] if len(before) == 1 and name == "place" else want

    manifest = Manifest.parse(RANKED)
    ranked = plan(manifest, Reference(manifest, reference), families=["plain"])
    hosted = Hosted(Path("lib.so"), PLAIN, manifest, Path(), 60.0, (Schedule(), Schedule("reverse")))
    (case,) = [case for case in ranked.cases if case.id == "plain/float32/opt"]
    monkeypatch.setattr(cases.rounding, "short_of_end", lambda *_: "it stops short")
    found = Hosting(hosted, Session(turned)).case(ranked.network(case), case)  # type: ignore[arg-type]
    assert [one.rule for one in found.warnings] == ["E13", "E18"]


def test_wrong_outputs_are_not_the_usual_ones(made: Plan) -> None:
    usual: dict[str, Array] = {}
    (case,) = [case for case in made.cases if case.id == "plain/int8/opt"]
    right = {name: want.astype(np.float32) for name, want in case.expected.items()}
    wrong = {name: want + np.float32(50) for name, want in right.items()}
    assert not cases._compared(case, Schedule(), wrong, usual)[1].ok
    assert usual == {}
    assert cases._compared(case, Schedule(), right, usual)[1].ok
    assert usual == right


def test_what_cannot_be_repeated_is_not_explained(made: Plan) -> None:
    runs: list[str] = []

    def once(case: Case, before: tuple[Asked, ...], name: str, want: Array) -> Array:
        runs.append(case.id)
        return want + 50 if case.id == made.cases[2].id and runs.count(case.id) == 1 else want

    found, _ = all_of(made, once)
    assert found[2].outcome is Outcome.FAILED
    assert "by chance" in found[2].message
    assert found[2].after == ()


def test_a_plugin_that_is_simply_wrong_costs_a_few_processes_and_no_word(made: Plan) -> None:
    found, processes = all_of(made, lambda case, name, want: want + 50)
    assert len(found) > kept_state.TRIES + 1
    warned = [case for case in found if "field" in case.network]
    assert all(case.outcome is Outcome.FAILED for case in found if case not in warned)
    # The manifest doesn't declare these fields' values.
    assert {case.outcome for case in warned} == {Outcome.PASSED}
    assert all(case.warnings[0].rule == "F6" for case in warned)
    assert not any("alone" in case.message for case in found)
    assert processes == 1 + kept_state.TRIES


def test_when_there_are_no_tries_left_the_known_one_is_named(made: Plan) -> None:
    def second_is_wrong(case: Case, before: tuple[Asked, ...], name: str, want: Array) -> Array:
        return want + 50 if before else want

    found, _ = all_of(made, second_is_wrong)
    assert found[-1].message.startswith(f"(Not tried alone; {found[1].id} failed too, and passes alone.)")


@pytest.mark.parametrize(
    ("record", "known"),
    [
        (None, False),
        ({"layouts": {"10": {}, "11": {}}}, True),
        ({"layouts": {"11": {}}}, False),
        ({"layouts": {"10": {}}, "sha256": "of another file"}, False),
    ],
)
def test_only_a_library_that_tensorrt_10_can_load_is_run_as_by_it(
    tmp_path: Path, record: dict[str, Any] | None, known: bool
) -> None:
    """One of another build without a record may have TensorRT 11's classes alone: 10 would call wrong methods."""
    library = tmp_path / "lib.so"
    library.write_bytes(b"a library")
    if record is not None:
        sha256 = hashlib.sha256(library.read_bytes()).hexdigest()
        (tmp_path / "lib.json").write_text(json.dumps({"sha256": sha256, **record}))
    hosted = Hosted(library, PLAIN, LEAKY, tmp_path, 60.0, (Schedule(),))
    assert hosted.for_implicit_batch is known
