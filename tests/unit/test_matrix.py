"""Plugins × places: at the terminal and on the page."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

from rich.console import Console

from pluginkit.cli import table
from pluginkit.dtypes import DType
from pluginkit.reporting import page
from pluginkit.reporting.matrix import matrix
from pluginkit.testing.report import CaseResult, Outcome, Report, Verdict

H200 = "NVIDIA H200, sm_90, driver for CUDA 13.0"
T4 = "Tesla T4, sm_75, driver for CUDA 13.0"


def case(
    outcome: Outcome = Outcome.PASSED, gpu: str = "", place: str = "a/w0", network: str = "plain/float32"
) -> CaseResult:
    target = "gpu" if gpu else "cpu"
    return CaseResult(
        f"{network}/opt", network, "plain", DType.FLOAT32, "opt", "n=2", outcome, target=target, gpu=gpu, place=place
    )  # fmt: skip


def report(name: str, *cases: CaseResult, verdicts: tuple[Verdict, ...] = ()) -> Report:
    return Report(name, "lib.so", "0", 0, cases, verdicts)


FAILED = (
    case(Outcome.FAILED, gpu=T4, place="b/w1"),
    case(Outcome.CRASHED, gpu=T4, place="b/w2", network="plain/float16"),
)
SCALE = report("Scale", case(), case(gpu=H200), *FAILED, case(gpu=T4, place="c/w2"))
POOL = report("Pool <b>", case(Outcome.SKIPPED), verdicts=(Verdict("plain", "tensorrt-rtx (1.3)", Outcome.CRASHED),))


def test_what_came_of_each_plugin_on_each_place() -> None:
    found = matrix([SCALE, POOL])
    assert found.places == ("target cpu", f"target gpu: {H200}", f"target gpu: {T4}", "tensorrt-rtx (1.3)")
    assert [[one.text for one in row] for row in found.squares] == [
        ["1 passed", "1 passed", "2 of 3 crashed", ""],
        ["1 skipped", "", "", "1 of 1 crashed"],
    ]
    assert found.machines == (
        f"Scale on target gpu: {T4}: all failures are b's, others that took part have none",
    )  # fmt: skip
    both = replace(SCALE, cases=(*SCALE.cases, case(Outcome.FAILED, gpu=T4, place="c/w2")))
    assert matrix([both]).machines == ()


def test_what_one_worker_was_given_by_chance_is_not_its_machines() -> None:
    """A network's cases go to one worker; one machine may have several workers; who ran nothing shows nothing."""
    good = case(gpu=T4, place="c/w2")
    assert matrix([report("Scale", *FAILED, good)]).machines
    assert not matrix([report("Scale", FAILED[0], FAILED[0], good)]).machines
    assert not matrix([report("Scale", *FAILED, replace(good, place="b/w3"))]).machines
    assert not matrix([report("Scale", *FAILED, replace(good, outcome=Outcome.SKIPPED))]).machines


def test_a_plugin_on_one_place_has_no_matrix() -> None:
    assert not matrix([report("Scale", case())]).says_something
    assert matrix([report("Scale", case(), case(gpu=T4))]).says_something
    assert not matrix([]).says_something
    text = StringIO()
    one = report("Scale", case())
    table.show_all([one], one, Console(file=text, width=120), command="pluginkit test")
    assert "plugin " not in text.getvalue()


def test_it_is_in_the_table_and_on_the_page() -> None:
    text = StringIO()
    table.show_all([SCALE, POOL], SCALE, Console(file=text, width=160), command="pluginkit test")
    lines = [" ".join(line.split()) for line in text.getvalue().splitlines()]
    assert "Scale 1 passed 1 passed 2 of 3 crashed" in lines
    assert "Pool <b> 1 skipped 1 of 1 crashed" in lines
    found = page.page(SCALE, command="pluginkit test", whole="pluginkit test", reports=[SCALE, POOL])
    assert '<td class="place crashed" title="on b alone">2 of 3 crashed</td>' in found
    assert '<td class="place crashed">1 of 1 crashed</td>' in found
    assert "<th>Pool &lt;b&gt;</th>" in found


def test_many_places_are_rows() -> None:
    gpus = tuple(case(gpu=f"GPU {number}") for number in range(9))
    text = StringIO()
    Console(file=text, width=100).print(table.matrix_table(matrix([report("Scale", *gpus)])))
    rows = text.getvalue().splitlines()
    assert len(rows) >= 11
    assert all(len(row) <= 100 for row in rows)
    assert any(row.split() == ["target", "gpu:", "GPU", "8", "1", "passed"] for row in rows)
