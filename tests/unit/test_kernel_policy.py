"""The policy of rows, pluginkit/kernels/row_policy.cuh: what it says for each width, and docs/kernels.md's table of it.

`PLUGINKIT_PASTE=1 pytest tests/unit/test_kernel_policy.py` writes the table.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from pluginkit.paths import include_dir
from tests import compilers

PAGE = Path(__file__).resolve().parents[2] / "docs" / "kernels.md"
PLACE = re.compile(r"(?<=<!-- rows -->\n).*?(?=<!-- end of rows -->)", re.DOTALL)
LOADERS = ("direct", "staged", "cluster", "again")
TYPES = {"FP32": (4, 4), "FP16": (8, 2), "INT8": (16, 1)}
"""Elements of 16 bytes, and bytes of one."""
MOST = 300_000
SOURCE = """
#include <pluginkit/kernels/row_policy.cuh>

#include <cstdio>
#include <initializer_list>

using namespace pluginkit::kernels::detail;

int main()
{
    for (int architecture : {80, 90})
    {
        for (int chunk : {4, 8, 16})
        {
            int const bytes = 16 / chunk;
            RowTypes const types{chunk, 1, bytes, 2 * bytes, 0, 0, 0, 0};
            auto const planned = [&](int64_t columns)
            { return planRows(architecture, types, (int64_t{1} << 27) / columns, columns, true); };
            for (int64_t columns = 1; columns <= MOST; ++columns)
            {
                RowPlan const plan = planned(columns);
                // The first and the last width of a kernel, and some others.
                auto const other = [&](int64_t width)
                { return width < 1 || planned(width).loader != plan.loader || planned(width).size != plan.size; };
                if (columns > 3000 && columns % 97 != 0 && !other(columns - chunk) && !other(columns + chunk))
                {
                    continue;
                }
                std::printf("%d %d %lld %d %d %d %d %u %u %u %d %lld\\n", architecture, chunk, (long long)columns,
                            static_cast<int>(plan.loader), plan.size, plan.whole ? 1 : 0, plan.chunks, plan.threads,
                            plan.block, plan.blocks, plan.rows, (long long)rowTileBytes(types, plan, columns));
            }
        }
    }
}
"""


@dataclass(frozen=True)
class Plan:
    """A line that the program prints."""

    architecture: int
    chunk: int
    columns: int
    loader: int
    size: int
    whole: int
    chunks: int
    threads: int
    block: int
    blocks: int
    rows: int
    tile: int


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> list[Plan]:
    """Of a softmax of 134 million elements, in three types, on two architectures, for widths up to MOST."""
    folder = tmp_path_factory.mktemp("policy")
    source, program = folder / "policy.cpp", folder / "policy"
    source.write_text(SOURCE.replace("MOST", str(MOST)), encoding="utf-8")
    command = [compilers.default_cxx(), "-std=c++17", "-O1", f"-I{include_dir()}", "-o", str(program), str(source)]
    subprocess.run(command, check=True)
    printed = subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout
    return [Plan(*map(int, line.split())) for line in printed.splitlines()]


def test_each_element_of_a_row_has_a_thread(plans: list[Plan]) -> None:
    for plan in plans:
        loader = LOADERS[plan.loader]
        if loader == "again":
            continue
        assert plan.chunks * plan.threads * plan.blocks >= plan.columns // plan.size, plan
        # A thread each has the elements before and behind the chunks.
        assert plan.whole or plan.threads >= 2 * plan.size, plan
        # A thread loads all its chunks but the last one without asking whether the row has them; of a tile's, two.
        if loader == "direct" and plan.whole and plan.size == plan.chunk:
            assert (plan.chunks - 1) * plan.threads <= plan.columns // plan.size, plan
        if loader == "staged":
            assert plan.size == 1, plan
            assert 9 <= plan.chunks <= 16, plan
            assert (plan.chunks + plan.chunks % 2 - 2) * plan.threads <= plan.columns, plan


def test_blocks_are_those_that_a_gpu_can_start(plans: list[Plan]) -> None:
    for plan in plans:
        assert plan.block % 32 == 0, plan
        assert 32 <= plan.block <= 512, plan
        assert plan.threads == plan.block or 32 % plan.threads == 0, plan
        assert plan.blocks in ((1, 2, 4, 8) if plan.architecture >= 90 else (1,)), plan
        assert LOADERS[plan.loader] != "staged" or plan.tile <= 48 * 1024, plan
        assert plan.columns % plan.size == 0 or not plan.whole, plan


def test_no_width_up_to_a_clusters_is_read_again(plans: list[Plan]) -> None:
    """131,072 elements of each type."""
    again = [plan for plan in plans if LOADERS[plan.loader] == "again" and plan.architecture == 90 and plan.columns > 8]
    assert min(plan.columns for plan in again if plan.chunk == 4) > 131_000
    assert all(plan.columns > 131_072 or plan.columns % plan.chunk for plan in again)


def made_of(chunk: int, columns: int) -> str:
    return f"of {chunk}" if columns % chunk == 0 else f"of {chunk // 2}" if columns % (chunk // 2) == 0 else "others"


def table(plans: list[Plan]) -> str:
    """Ranges of widths that have the same kernel, and how many threads a row has there."""
    lines = [
        "| softmax of | elements of a row | loader | chunk | threads of a row |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, (chunk, bytes_) in TYPES.items():
        for kind in (f"of {chunk}", f"of {chunk // 2}", "others"):
            groups: dict[int, list[list[Plan]]] = {80: [], 90: []}
            for plan in plans:
                if plan.chunk != chunk or made_of(chunk, plan.columns) != kind:
                    continue
                runs = groups[plan.architecture]
                if not runs or (runs[-1][-1].loader, runs[-1][-1].size) != (plan.loader, plan.size):
                    runs.append([])
                runs[-1].append(plan)
            for architecture in (80, 90):
                for run in groups[architecture]:
                    ends = (run[0].columns, run[-1].columns)
                    if architecture == 90 and any(ends == (one[0].columns, one[-1].columns) for one in groups[80]):
                        continue  # the same as before
                    lines.append(_line(name, kind, architecture, run, bytes_, groups))
    return "".join(f"{line}\n" for line in lines)


def _line(
    name: str, kind: str, architecture: int, run: list[Plan], bytes_: int, groups: dict[int, list[list[Plan]]]
) -> str:
    first, last = run[0], run[-1]
    same = any((one[0].columns, one[-1].columns) == (first.columns, last.columns) for one in groups[90])
    where = "" if architecture == 80 and same else " (sm_80)" if architecture == 80 else " (sm_90)"
    upto = (
        f"{first.columns:,} to {last.columns:,}"
        if LOADERS[first.loader] != "again" or first.columns < 5
        else f"from {first.columns:,} on"
    )
    of = "others" if kind == "others" else f"multiples {kind}"
    threads = sorted({plan.threads for plan in run})
    blocks = sorted({plan.blocks for plan in run})
    several = f", {blocks[0]} to {blocks[-1]} blocks" if blocks[-1] > 1 else ""
    span = f"{threads[0]} to {threads[-1]}" if threads[0] < threads[-1] else str(threads[0])
    chunk = "an element" if first.size == 1 else f"{first.size * bytes_} bytes"
    return f"| {name}{where} | {upto}, {of} | {LOADERS[first.loader]} | {chunk} | {span}{several} |"


def test_the_page_has_the_policys_table(plans: list[Plan]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    expected = PLACE.sub(lambda _: table(plans), text)
    if os.environ.get("PLUGINKIT_PASTE"):
        PAGE.write_text(expected, encoding="utf-8")
        return
    assert text == expected, "run `PLUGINKIT_PASTE=1 pytest tests/unit/test_kernel_policy.py`"


def test_the_page_answers_what_runs_for_a_width(plans: list[Plan]) -> None:
    """Softmax of 1,000 FP16 elements on compute capability 8.0."""
    (plan,) = [one for one in plans if (one.architecture, one.chunk, one.columns) == (80, 8, 1000)]
    assert (LOADERS[plan.loader], plan.size, plan.threads, plan.chunks) == ("direct", 8, 32, 4)
