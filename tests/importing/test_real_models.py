"""`doctor` foresees what NVIDIA's builder does with real models; docs/real-models.md has the table."""

from __future__ import annotations

from pathlib import Path

import pytest

from pluginkit.importing import Imported
from pluginkit.runtimes.rtx import session as tensorrt_rtx

pytest.importorskip("onnxruntime")

from . import corpus

pytestmark = [
    pytest.mark.rtx,
    pytest.mark.usefixtures("one_process"),
    pytest.mark.skipif(not tensorrt_rtx.probe().found, reason="TensorRT-RTX isn't here"),
]

PAGE = Path(__file__).parents[2] / "docs" / "real-models.md"
SLOW = "onnx: light_densenet121"
"""Its build takes as long as that of all others; it is in the whole table's test."""
AGREE = 0.98
"""The share of models of which rules and builder say the same."""


def row(name: str, found: Imported) -> str:
    """A model's row: the rules whose errors it has, what they foresee, and what NVIDIA did."""
    assert found.verdict is not None
    rules = ", ".join(sorted({one.rule for one in found.problems if one.level == "error"})) or "-"
    return f"| {name} | {len(found.implementations)} | {rules} | {found.foreseen} | {found.verdict.status} |"


@pytest.mark.parametrize("name", [name for name in corpus.installed() if name != SLOW])
def test_a_model_that_is_here(name: str) -> None:
    assert row(name, corpus.foreseen(corpus.installed()[name])) in PAGE.read_text(encoding="utf-8").splitlines()


def table(heading: str) -> list[str]:
    """The rows below a heading of the page."""
    section = PAGE.read_text(encoding="utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    return [line for line in section.splitlines() if line.endswith(("| built |", "| refused |"))]


@pytest.mark.slow
def test_every_model_of_the_tables(tmp_path: Path) -> None:
    seen = {corpus.graph(path) for path in corpus.installed().values()}
    known = corpus.installed() | corpus.fetched(tmp_path / "known", corpus.PACKAGES, seen)
    fresh = corpus.fetched(tmp_path / "fresh", corpus.FRESH, seen)
    every: list[Imported] = []
    for heading, models, least in (("Models that rules were made from", known, 50), ("Fresh models", fresh, 40)):
        found = {name: corpus.foreseen(path) for name, path in models.items()}
        rows = [row(name, one) for name, one in found.items()]
        assert table(heading) == rows, "\n".join(rows)
        assert len(found) >= least
        every += found.values()
    agree = [one for one in every if one.verdict is not None and one.foreseen == one.verdict.status]
    assert len(agree) / len(every) >= AGREE
