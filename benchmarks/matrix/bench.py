"""Where the time of `pluginkit test` goes: `python benchmarks/matrix/bench.py [PROJECT]`.

The project, samples/bar_plugin if none is named, is built first, in a copy. Then the whole matrix runs with one job,
for what each part costs by itself, and with as many as there are cores, for how long the user waits.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from pluginkit.build import build
from pluginkit.run.options import Options
from pluginkit.run.runner import cores, run
from pluginkit.testing.report import CaseResult, Report, Verdict

SAMPLE = Path(__file__).resolve().parents[2] / "samples" / "bar_plugin"


def main() -> None:
    """Build, run twice, print the tables."""
    source = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else SAMPLE
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / source.name
        shutil.copytree(source, project, ignore=shutil.ignore_patterns("build"))
        build(project, "cpu")
        console = Console()
        started = time.monotonic()
        subprocess.run([sys.executable, "-c", "import pluginkit.run.runner"], check=True)
        console.print(f"importing pluginkit's test runner: {time.monotonic() - started:.1f} s")
        for jobs in dict.fromkeys((1, cores())):
            _one(project, jobs, console)


def _one(project: Path, jobs: int, console: Console) -> None:
    first: dict[str, float] = {}

    def step(what: str, *_: object) -> None:
        first.setdefault(what.partition(":")[0], time.monotonic())

    own, children = time.process_time(), _children()
    started = time.monotonic()
    report = run(Options(project=project, jobs=jobs), step)
    wall = time.monotonic() - started
    own, children = time.process_time() - own, _children() - children
    table = Table(title=f"{jobs} job{'s' * (jobs > 1)}")
    for name in ("part", "how many", "seconds", "ms each"):
        table.add_column(name, justify="left" if name == "part" else "right")
    _row(table, "build that finds nothing to do", 1, first["asking the reference"] - started)
    _row(table, "planning, with the oracle", 1, first["host"] - first["asking the reference"])
    for family in dict.fromkeys(case.family for case in report.cases):
        _rows(table, f"host: {family}", [case for case in report.cases if case.family == family])
    for name, items in _verdicts(report).items():
        _rows(table, name, items)
    console.print(table)
    console.print(
        f"{wall:.1f} s in all for {len(report.cases)} cases, {len(report.verdicts)} verdicts and "
        f"{len(report.controls)} controls; CPU: {own:.1f} s here, {children:.1f} s in worker processes; "
        f"exit code {report.exit_code}\n"
    )


def _verdicts(report: Report) -> dict[str, Sequence[Verdict]]:
    networks = {case.network for case in report.cases}
    return {
        "NVIDIA's builder: networks": [one for one in report.verdicts if one.network in networks],
        "NVIDIA's builder: by its API": [one for one in report.verdicts if one.network not in networks],
        "NVIDIA's builder: refusals": report.controls,
        "NVIDIA's registries": report.registries,
    }


def _rows(table: Table, name: str, items: Sequence[CaseResult | Verdict]) -> None:
    _row(table, name, len(items), sum(item.seconds for item in items))


def _row(table: Table, name: str, count: int, seconds: float) -> None:
    table.add_row(name, str(count), f"{seconds:.2f}", f"{1000 * seconds / count:.0f}" if count else "-")


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
