"""Indices of 32 bits in a tensor of more than 2^31 elements, on target cpu: as in each test, and with `--large`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.console import Console

from pluginkit import scaffold
from pluginkit.cli.table import show
from pluginkit.run import runner
from pluginkit.run.messages import failure
from pluginkit.run.options import Options
from pluginkit.testing.report import CaseResult, Outcome, Report
from tests import classes
from tests.shared import Shared

pytestmark = [pytest.mark.compile, pytest.mark.xdist_group("large")]

KERNEL = "src/my_plugin_kernel.cu"
LOOP = "    int64_t const step = static_cast<int64_t>(gridDim.x) * blockDim.x;\n"
BLOCKS = "std::min(wanted, kMaxBlocks)"
INCLUDE = "#include <cmath>\n"
FAULTS = """
static int fault()
{
    static int const chosen = std::getenv("FAULT") != nullptr ? std::atoi(std::getenv("FAULT")) : 0;
    return chosen;
}
"""
LOOPS = """
    auto const one = [&](auto i)
    {
        float const number = load<T>(args.inputs.x, static_cast<int64_t>(i));
        store<T>(args.outputs.y, static_cast<int64_t>(i), number >= 0.0F ? number : args.parameters.alpha * number);
    };
    if (fault() == 1) // an index of 32 bits, an element a thread
    {
        int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
        if (i < args.count)
        {
            one(i);
        }
        return;
    }
    if (fault() == 2) // a count of 32 bits
    {
        int const count = static_cast<int>(args.count);
        int64_t const first = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
        for (int64_t i = first; i < count; i += gridDim.x * blockDim.x)
        {
            one(i);
        }
        return;
    }
    if (fault() == 3) // an index of 32 bits in a loop with the grid's size as its step
    {
        unsigned int const step = gridDim.x * blockDim.x;
        for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < args.count;
             i = static_cast<int>(static_cast<unsigned int>(i) + step))
        {
            one(i);
        }
        return;
    }
    if (fault() == 4) // no fault: 32 bits without a sign, an element a thread
    {
        unsigned int const i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < args.count)
        {
            one(i);
        }
        return;
    }
    if (fault() == 5) // no fault: backwards, so that the last block has the first elements
    {
        one(args.count - 1 - (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x));
        return;
    }
    if (fault() == 6) // no fault: each thread has a row of its own
    {
        int64_t const all = static_cast<int64_t>(gridDim.x) * blockDim.x;
        int64_t const each = (args.count + all - 1) / all;
        int64_t const first = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * each;
        for (int64_t i = first; i < std::min(first + each, args.count); ++i)
        {
            one(i);
        }
        return;
    }
    if (fault() == 7) // no fault, but nothing that a machine has memory for: one block does it all
    {
        for (int64_t i = threadIdx.x; blockIdx.x == 0 && i < args.count; i += blockDim.x)
        {
            one(i);
        }
        return;
    }
    if (fault() == 8) // no fault: on top of what another launch has set to zero, in blocks of more elements
    {
        int64_t const i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
        if (i < args.count)
        {
            float const number = load<T>(args.inputs.x, i);
            float const sum = load<T>({args.outputs.y.data, args.count, args.outputs.y.scale, {}}, i);
            store<T>(args.outputs.y, i, sum + (number >= 0.0F ? number : args.parameters.alpha * number));
        }
        return;
    }
    if (fault() == 9) // reads what another launch has written, and a count of 24 bits
    {
        int64_t const i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
        if (i < args.count)
        {
            float const number = load<T>(args.inputs.x, static_cast<int64_t>(i & 0xFFFFFF));
            float const sum = load<T>({args.outputs.y.data, args.count, args.outputs.y.scale, {}}, i);
            store<T>(args.outputs.y, i, sum + (number >= 0.0F ? number : args.parameters.alpha * number));
        }
        return;
    }
"""
SWITCH = "    switch (precision)\n"
ZEROS = """
__global__ void zeroKernel(float* data, int64_t count)
{
    int64_t const first = 4 * (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x);
    for (int64_t i = first; i < std::min(first + 4, count); ++i)
    {
        data[i] = 0.0F;
    }
}

"""
LAUNCH_ZEROS = """
    if (fault() == 8 || fault() == 9)
    {
        auto const quarter = static_cast<uint32_t>((wanted + 3) / 4);
        zeroKernel<<<quarter, kThreads, 0, stream>>>(static_cast<float*>(args.outputs.y.data), args.count);
    }
"""
LAYER = "//! The layer:"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, shared: Shared) -> Path:
    """A project with faults and other loops that FAULT chooses."""
    written = classes.project(tmp_path_factory.mktemp("large"))
    manifest = written / "pluginkit.toml"
    # The faults' numbers are of rows of 512 elements.
    manifest.write_text(re.sub(r"\[1, [579], 16\]", "[1, 8, 16]", manifest.read_text()))
    file = written / KERNEL
    text = file.read_text()
    all_blocks = "std::min(wanted, fault() == 0 || fault() == 2 || fault() == 3 ? kMaxBlocks : wanted)"
    for right, new in (
        (INCLUDE, f"{INCLUDE}#include <cstdlib>\n{FAULTS}"),
        (LOOP, LOOPS + LOOP),
        (BLOCKS, all_blocks),
        (LAYER, ZEROS + LAYER),
        (SWITCH, LAUNCH_ZEROS + SWITCH),
    ):
        assert text.count(right) == 1
        text = text.replace(right, new)
    file.write_text(text)
    return shared.project(written)


def run(
    project: Path, monkeypatch: pytest.MonkeyPatch, fault: int, only: str = "plain/float32/large"
) -> tuple[Report, CaseResult]:
    monkeypatch.setenv("FAULT", str(fault))
    library = project / "build" / "cpu" / "libmy_plugin.so"
    asked = only.endswith("large")
    report = runner.run(Options(project=project, library=library, only=(only,), large=asked))
    (case,) = report.cases
    assert case.id == only
    assert case.shape == ("n=4194306 c=8 h=8 w=8" if asked else "n=2 c=8 h=8 w=8")
    return report, case


def in_each_test(project: Path, monkeypatch: pytest.MonkeyPatch, fault: int) -> tuple[Report, CaseResult]:
    return run(project, monkeypatch, fault, "plain/float32/opt")


@pytest.mark.parametrize("loop", [0, 4, 5, 6])
def test_indices_of_64_bits_pass(project: Path, monkeypatch: pytest.MonkeyPatch, loop: int) -> None:
    report, case = run(project, monkeypatch, loop)
    assert (case.outcome, case.message) == (Outcome.PASSED, "")
    assert report.exit_code == 0


NARROW = pytest.mark.parametrize(
    ("fault", "message"),
    [
        (1, "memory that is not there: the thread touches 0x"),
        (2, "no block has written any of the first or the last elements"),
        pytest.param(3, "memory that is not there: the thread touches 0x", marks=pytest.mark.slow),
    ],
)


@NARROW
def test_each_test_finds_indices_and_counts_of_32_bits(
    project: Path, monkeypatch: pytest.MonkeyPatch, fault: int, message: str
) -> None:
    report, case = in_each_test(project, monkeypatch, fault)
    assert case.outcome is Outcome.FAILED
    assert "[E17] enqueue: with 2147484672 elements, more than 2^31:" in case.message
    assert message in case.message
    assert [one.rule for one in case.warnings] == ["E17"], "a project of `new` is strict; in others this is a warning"
    assert report.exit_code == 1


@pytest.mark.parametrize(
    ("loop", "untried"),
    [
        pytest.param(0, "", marks=pytest.mark.slow),
        pytest.param(4, "", marks=pytest.mark.slow),
        (7, "not tested: it takes more than 512 MiB or 5 s of CPU"),
        (8, "not tested: run by few blocks, it fails with 16778240 elements too"),
    ],
)
def test_each_test_passes_what_is_right(
    project: Path, monkeypatch: pytest.MonkeyPatch, loop: int, untried: str
) -> None:
    report, case = in_each_test(project, monkeypatch, loop)
    assert (case.outcome, case.message) == (Outcome.PASSED, "")
    assert case.large_untried.startswith(untried)
    assert ("no tensors of more than 2^31 elements" in report.runtimes["host"]) is bool(untried)
    console = Console(record=True, width=200)
    show(report, console, command="pluginkit test")
    printed = console.export_text()
    assert ("warning sizes beyond the profile are not judged: " in printed) is bool(untried)
    assert ("1 warning" in printed) is bool(untried)
    assert report.exit_code == 0


def test_what_fails_at_24_bits_by_all_blocks_is_a_failure(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report, case = in_each_test(project, monkeypatch, 9)
    assert case.outcome is Outcome.FAILED
    assert "16778240 elements, beyond the profile" in case.message
    assert report.exit_code == 1


@NARROW
def test_indices_and_counts_of_32_bits_are_found(
    project: Path, monkeypatch: pytest.MonkeyPatch, fault: int, message: str
) -> None:
    report, case = run(project, monkeypatch, fault)
    assert case.outcome is Outcome.FAILED
    assert message in case.message
    assert report.exit_code == 1
    assert failure(case, report, "pluginkit test").again == "pluginkit test --only plain/float32/large --seed 0 --large"


@pytest.mark.slow  # it takes 3 GiB
def test_a_thread_that_runs_through_all_is_not_judged(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report, case = run(project, monkeypatch, 7)
    assert case.outcome is Outcome.SKIPPED
    assert "it touches each element in few blocks. --target gpu can test it." in case.message
    assert report.exit_code == 0


def test_a_kernel_that_needs_what_other_blocks_have_written_is_not_judged(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report, case = run(project, monkeypatch, 8)
    assert case.outcome is Outcome.SKIPPED
    assert case.message.startswith("not tested: run by few blocks, it fails with 16778240 elements too")
    assert report.exit_code == 0


NARROW_COUNT = (
    "i < count; i += step",
    "i < (fault() == 1 ? static_cast<int>(count) : count); i += step",
)
OTHERS = {
    "int8": {"inputs": ["x:int8:n,c"]},
    "static shapes": {"inputs": ["x:float32:n,c"], "base": "ioext"},
    "an aliased output": {"inputs": ["x:float32:n,c"], "outputs": ["y:float32:n,c:alias=x"], "base": "v3"},
    "a shape input": {
        "inputs": ["x:float32:n,c", "size:int64:1:values=k"],
        "outputs": ["y:float32:n,k"],
        "base": "v3",
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_other_signatures(name: str, tmp_path: Path, shared: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    written = scaffold.new("MyPlugin", directory=tmp_path, kernel="loop", **OTHERS[name])  # type: ignore[arg-type]
    file = written / "src/my_plugin.cu"
    text = file.read_text()
    for right, new in ((INCLUDE, f"{INCLUDE}#include <cstdlib>\n{FAULTS}"), NARROW_COUNT):
        assert text.count(right) == 1
        text = text.replace(right, new)
    file.write_text(text)
    project = shared.project(written)
    library = project / "build" / "cpu" / "libmy_plugin.so"
    for fault, outcome in ((0, Outcome.PASSED), (1, Outcome.FAILED)):
        monkeypatch.setenv("FAULT", str(fault))
        for only, large in (("plain/*/large", True), ("plain/*/opt", False)):
            report = runner.run(Options(project=project, library=library, only=(only,), large=large))
            # Where scales are also in descriptors there is a case for each calibration.
            case = report.cases[0]
            assert case.outcome is outcome, case.message
            assert case.large_untried == ""
            assert ("no block has written any of the first or the last elements" in case.message) is (fault == 1)
