"""Faults that outputs don't show, or that end the process: `pluginkit test` with checks and schedules names them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from pluginkit import scaffold
from pluginkit.testing import runner
from pluginkit.testing.report import CaseResult, Outcome, Report
from pluginkit.testing.runner import Options

pytestmark = [pytest.mark.compile, pytest.mark.xdist_group("checks")]

KERNEL = Path("src/my_plugin_kernel.cu")
LOAD = "        sum += load<T>(args.inputs.x, i);\n"
STORE = "        store<T>(args.outputs.y, i, result);\n"
SWITCH = "    switch (precision)\n"
CASE = "plain/float32/opt"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return scaffold.new("MyPlugin", directory=tmp_path_factory.mktemp("checks"))


@dataclass(frozen=True)
class Fault:
    """What is put in front of a line, which check finds it, what it says, and at which of the lines put in."""

    before: str
    lines: str
    sanitize: tuple[str, ...]
    kind: str
    says: str
    at: int = 1
    thread: tuple[int, int, int] | None = None


BOTH, WATCHED = ("address", "undefined"), ("thread", "memory")
INPUT = "static_cast<float const*>(args.inputs.x.data)"
OUTPUT = "static_cast<float*>(args.outputs.y.data)"
INDENT = " " * 8
FAULTS = {
    "a read beyond the input": Fault(
        LOAD,
        f"{INDENT}sum += {INPUT}[args.count + (i == 9 ? 0 : -1)] * 0.0F;\n",
        BOTH,
        "address",
        "0 bytes behind the 4096 bytes",
        thread=(9, 0, 0),
    ),
    "a read beyond a global": Fault(
        LOAD,
        f"{INDENT}static __device__ int table[8];\n{INDENT}sum += static_cast<float>(table[i % 9]) * 0.0F;\n",
        BOTH,
        "address",
        "global-buffer-overflow",
        at=2,
        thread=(8, 0, 0),
    ),
    "an array on the stack": Fault(
        LOAD,
        f"{INDENT}float own[4] = {{sum, sum, sum, sum}};\n"
        f"{INDENT}float const* all = own;\n{INDENT}sum += all[i % 5];\n",
        BOTH,
        "address",
        "'own'",
        at=3,
        thread=(4, 0, 0),
    ),
    "a null pointer, which ends the process": Fault(
        LOAD,
        f"{INDENT}*reinterpret_cast<volatile int*>(i == 3 ? 16 : reinterpret_cast<size_t>(&sum)) = 0;\n",
        BOTH,
        "address",
        "SEGV",
        thread=(3, 0, 0),
    ),
    "a signed overflow": Fault(
        LOAD,
        f"{INDENT}sum += static_cast<float>(2147483640 + static_cast<int>(threadIdx.x)) * 0.0F;\n",
        BOTH,
        "undefined",
        "signed integer overflow",
        thread=(8, 0, 0),
    ),
    "a shift by too much": Fault(
        LOAD,
        f"{INDENT}sum += static_cast<float>(1U << threadIdx.x) * 0.0F;\n",
        BOTH,
        "undefined",
        "a shift by 32 of a 32-bit 'unsigned int'",
        thread=(32, 0, 0),
    ),
    "a race": Fault(
        LOAD,
        f"{INDENT}if (i < 2)\n{INDENT}{{\n{INDENT}    {OUTPUT}[5] = sum;\n{INDENT}}}\n",
        WATCHED,
        "race",
        "writes",
        at=3,
        thread=(1, 0, 0),
    ),
    "a read of what nobody wrote": Fault(
        LOAD,
        f"{INDENT}sum += i == 6 ? {OUTPUT}[i] * 0.0F : 0.0F;\n",
        WATCHED,
        "uninitialized-read",
        "4 bytes",
        thread=(6, 0, 0),
    ),
    "an allocation in enqueue": Fault(
        SWITCH,
        "    void* more = nullptr;\n    cudaMalloc(&more, 8);\n",
        (),
        "allocation-in-enqueue",
        "cudaMalloc",
        at=2,
    ),
}


QUICK = ("a read beyond the input", "a signed overflow", "a race", "an allocation in enqueue")
"""One for each kind of build; the others are slow together, since each compiles the kernel."""


@contextmanager
def planted(project: Path, before: str, lines: str) -> Iterator[int]:
    """Put lines in front of a line of the kernel's source; the number of the first one."""
    file = project / KERNEL
    right = file.read_text()
    assert right.count(before) == 1
    file.write_text(right.replace(before, lines + before))
    try:
        yield right[: right.index(before)].count("\n") + 1
    finally:
        file.write_text(right)


def outcome(project: Path, **more: object) -> tuple[Report, CaseResult]:
    report = runner.run(Options(project=project, only=(CASE,), **more))  # type: ignore[arg-type]
    (case,) = report.cases
    return report, case


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in FAULTS]
)
def test_a_fault_that_a_check_finds(project: Path, name: str) -> None:
    fault = FAULTS[name]
    with planted(project, fault.before, fault.lines) as first:
        report, case = outcome(project, sanitize=fault.sanitize)
    assert (case.outcome, report.exit_code) == (Outcome.FAILED, 1), case.message
    found = [one for one in case.defects if one.kind == fault.kind and fault.says in one.text]
    assert found, case.message
    assert found[0].place == f"{KERNEL}:{first + fault.at - 1}", case.message
    if fault.thread is not None:
        assert (found[0].kernel, found[0].thread) == ("myPluginKernel<float>", fault.thread)
    assert found[0].place in case.message
    if fault.kind == "address":
        assert any("ERROR: AddressSanitizer" in line for line in case.log)


@pytest.mark.parametrize("sanitize", [BOTH, WATCHED])
def test_a_right_plugin_has_no_findings(project: Path, sanitize: tuple[str, ...]) -> None:
    options = Options(project=project, only=("*/min*", "*/opt*"), sanitize=sanitize, schedules=1)
    report = runner.run(options)
    assert report.bad == []
    assert {case.runs for case in report.cases} == {4}
    assert report.verdicts == ()
    assert "took no part" in report.runtimes["tensorrt-rtx"]


def test_the_order_of_threads(project: Path) -> None:
    spill = f"        if (i + 1 < args.count)\n        {{\n            {OUTPUT}[i + 1] = 0.0F;\n        }}\n"
    with planted(project, STORE, spill):
        _, alone = outcome(project)
        report, case = outcome(project, schedules=1)
    assert alone.outcome is Outcome.PASSED
    assert (case.outcome, case.runs, report.exit_code) == (Outcome.FAILED, 3, 1)
    assert "in reverse order" in case.message


def test_a_random_order_fails_again_by_its_seed(project: Path) -> None:
    # Thread 5 is right if one of its neighbours came before it and the other one did not: in order and in reverse.
    meet = (
        f"        if (i == 5 && std::isnan({OUTPUT}[4]) == std::isnan({OUTPUT}[6]))\n"
        "        {\n            store<T>(args.outputs.y, i, 0.0F);\n            continue;\n        }\n"
    )
    with planted(project, STORE, meet):
        _, case = outcome(project, schedules=4, seed=3)
        _, again = outcome(project, schedules=4, seed=3)
    assert case.outcome is Outcome.FAILED
    assert "random order of seed" in case.schedule
    assert (case.schedule, case.message) == (again.schedule, again.message)
