"""What `pluginkit new` writes is green, untouched: a covering array of its choices, each with its whole matrix."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from pluginkit import scaffold
from pluginkit.run import several_plugins
from pluginkit.run.options import Options
from pluginkit.run.runner import run
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from pluginkit.testing.report import Outcome, Verdict
from tests.scaffolds import sweep
from tests.scaffolds.building import in_two_sources

ROWS = sweep.rows()
TOGETHER = 9
"""How many rows the fast test has in one library: a quarter of all pairs."""
FAMILIES = ("plain", "loop-in-if", "if-in-if", "api-loop-while")
"""The networks of the fast test: those that signatures have broken."""


def pairs(row: sweep.Row) -> set[tuple[tuple[str, Any], ...]]:
    return set(combinations(row.items(), 2))


def allowed(row: dict[str, Any]) -> bool:
    return all(
        constraint["evaluate"](row) for constraint in sweep.CONSTRAINTS if set(constraint["requires"]) <= set(row)
    )


def test_every_pair_of_choices_stands_in_a_row() -> None:
    covered = set().union(*map(pairs, ROWS))
    wanted = {
        ((one, a), (other, b))
        for one, other in combinations(sweep.FACTORS, 2)
        for a in sweep.FACTORS[one]
        for b in sweep.FACTORS[other]
        if allowed({one: a, other: b})
    }
    missing = wanted - covered
    # What three factors forbid together may leave a pair without a row.
    assert len(missing) <= len(wanted) // 50, sorted(missing, key=str)
    assert all(allowed(row) for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=sweep.row_id)
def test_every_row_is_a_project(row: sweep.Row, tmp_path: Path) -> None:
    made = sweep.Options.of(row)
    scaffold.new(made.name, directory=tmp_path, **made.options)


def chosen(count: int) -> list[sweep.Row]:
    """The rows with the most pairs, each counted once."""
    found: list[sweep.Row] = []
    seen: set[tuple[tuple[str, Any], ...]] = set()
    for _ in range(count):
        best = max((row for row in ROWS if row not in found), key=lambda row: len(pairs(row) - seen))
        found.append(best)
        seen |= pairs(best)
    return found


def test_agents_says_what_share_of_the_pairs_the_library_has() -> None:
    every = set().union(*map(pairs, ROWS))
    together = set().union(*map(pairs, chosen(TOGETHER)))
    assert len(together) > len(every) / 4
    output = f"{TOGETHER} of {len(ROWS)} rows in one library, {len(together)} of {len(every)} pairs"
    assert output in Path(__file__).parents[2].joinpath("AGENTS.md").read_text()


@pytest.mark.compile
@pytest.mark.rtx
def test_a_library_of_many_rows_is_green(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One build, and the networks that signatures have broken. A plugin of the name of an operator is told of."""
    project = scaffold.new("Relu", directory=tmp_path, inputs=["x:float32:n"], base="v3")
    for number, row in enumerate(chosen(TOGETHER)):
        scaffold.add(f"Sweep{number}", project=project, **sweep.Options.of(row).options)
    for number, (inputs, outputs) in enumerate(sweep.SHAPED):
        scaffold.add(f"Shaped{number}", project=project, base="v3", inputs=inputs, outputs=outputs, fields=[])
    scaffold.add("Channels", project=project, **sweep.Options.of(sweep.CHANNELED[0]).options)
    in_two_sources(project)
    monkeypatch.setenv("CXXFLAGS", "-O0 -g0")
    # All but NVIDIA's registries, which take a process each for every plugin; one, since each loads NVIDIA's builder.
    ran = several_plugins.run(Options(project=project, target="cpu", families=FAMILIES, only=("*/*/*",), jobs=1))
    assert ran.errors == ()
    assert len(ran.reports) == 2 + TOGETHER + len(sweep.SHAPED)
    assert all(report.cases and report.verdicts for report in ran.reports)
    bad = [item for item in ran.joined.bad if not isinstance(item, Verdict) or item.network != "Relu/plain/float32"]
    assert [f"{item}" for item in bad] == []
    if tensorrt_rtx.probe().found:
        relu = ran.joined.verdict(tensorrt_rtx.NAME, "Relu/plain/float32")
        assert relu is not None
        assert relu.how == "built, not live"
        assert "Call the plugin ReluPlugin" in relu.message


@pytest.mark.slow
@pytest.mark.compile
@pytest.mark.rtx
@pytest.mark.parametrize(
    "row", [*ROWS, *sweep.SIZED, *sweep.COUNTED, *sweep.WORKSPACE, *sweep.CHANNELED, *sweep.FLOAT8], ids=sweep.row_id
)
def test_every_row_is_green(row: sweep.Row, tmp_path: Path) -> None:
    made = sweep.Options.of(row)
    report = run(Options(project=scaffold.new(made.name, directory=tmp_path, **made.options), target="cpu"))
    assert [f"{item}" for item in report.bad] == []
    own = ("(refusal aliased-", "(refusal size-in-flow)", "(refusal workspace-in-flow)")
    judged = [one for one in report.verdicts + report.controls if not any(text in one.message for text in own)]
    assert {verdict.outcome for verdict in judged} <= {Outcome.PASSED}
