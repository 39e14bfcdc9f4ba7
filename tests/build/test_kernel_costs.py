"""What a project of a kernel pattern is to compile: kernels, and bytes of their code. Facts of the build, no times."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from tests import compilers

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
BUDGETS = {
    "elementwise": (3, 25_000), "rows": (137, 2_500_000), "scan": (100, 1_000_000), "gather": (6, 40_000),
    "transpose": (12, 100_000), "pad": (124, 1_800_000), "pool": (9, 70_000), "nonzero": (41, 920_000),
    "topk": (27, 1_600_000),
}  # fmt: skip
"""The most kernels and bytes of a project in FP32, FP16 and INT8, for compute capability 9.0."""


@pytest.fixture(scope="module")
def costs() -> dict[str, Any]:
    """What `benchmarks/kernels.py` defines."""
    return runpy.run_path(str(BENCHMARKS / "kernels.py"))


@pytest.mark.slow
@pytest.mark.parametrize("pattern", BUDGETS)
def test_a_pattern_keeps_its_budget(costs: dict[str, Any], tmp_path: Path, pattern: str) -> None:
    compilers.nvcc()
    kernels, size = BUDGETS[pattern]
    cost = costs["cost_of"](pattern, tmp_path)
    assert 0 < cost.kernels <= kernels
    assert cost.size <= size


def test_the_page_has_a_row_for_each_pattern(costs: dict[str, Any]) -> None:
    text = costs["PAGE"].read_text(encoding="utf-8")
    table = text[text.index("<!-- costs -->") : text.index("<!-- end of costs -->")]
    assert [line.split("`")[1] for line in table.splitlines() if "`" in line] == list(costs["PATTERNS"])
