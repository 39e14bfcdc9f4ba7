"""What compute-sanitizer 2025.3.1 wrote about kernels of ours on an H100, as findings."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluginkit.process.defects import KINDS
from pluginkit.process.findings import Defect, unique
from pluginkit.process.sanitizer_log import PREFIX, Logs, parse

RECORDED = Path(__file__).parent / "recorded"
PROJECT = Path("/project")
EXPECTED = {
    "memcheck": Defect(
        "address",
        "Invalid __global__ read of size 4 bytes, Access to 0x7fda7aa00390 is out of bounds, and is 1 bytes after the "
        "nearest allocation at 0x7fda7aa00200 of size 400 bytes",
        "beyond",
        (0, 0, 0),
        (100, 0, 0),
        "src/faults.cu:14",
        count=3,
    ),
    "racecheck": Defect(
        "race",
        "Race reported between Write access and Read access",
        "race",
        place="src/faults.cu:19",
        other="src/faults.cu:20",
    ),
    "initcheck": Defect(
        "uninitialized-read",
        "Uninitialized __global__ memory read of size 4 bytes, Address 0x7f9986a00200",
        "add",
        (0, 0, 0),
        (0, 0, 0),
        "src/faults.cu:8",
        count=2,
    ),
    "synccheck": Defect(
        "divergent-barrier",
        "Barrier error detected. Divergent thread(s) in warp.",
        "barrier",
        (0, 0, 0),
        (32, 0, 0),
        "src/faults.cu:26",
        count=2,
    ),
}


@pytest.mark.parametrize("tool", EXPECTED)
def test_what_was_recorded(tool: str) -> None:
    text = (RECORDED / f"{tool}.log").read_text()
    assert unique(parse(text, PROJECT)) == (EXPECTED[tool],)
    assert EXPECTED[tool].kind in KINDS


def test_a_function_that_is_called_by_a_kernel() -> None:
    text = """\
========= Uninitialized __global__ memory read of size 4 bytes
=========     at store(float *, int)+0x40 in /elsewhere/kernel.cuh:7
=========     by thread (1,2,3) in block (4,5,6)
=========     Address 0x7fd0
=========         Device Frame: myKernel<float>+0x30 in /project/src/kernel.cu:20
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: at nowhere+0x1 in /project/a.cpp:1
"""
    (one,) = parse(text, PROJECT)
    assert (one.kind, one.kernel, one.function) == ("uninitialized-read", "myKernel<float>", "store(float *, int)")
    assert (one.block, one.thread, one.place) == ((4, 5, 6), (1, 2, 3), "/elsewhere/kernel.cuh:7")


def test_without_lines_the_kernel_is_named() -> None:
    (one,) = parse(f"{PREFIX}Invalid __shared__ write of size 8 bytes\n{PREFIX}    at k+0x10\n", PROJECT)
    assert (one.kind, one.kernel, one.place) == ("address", "k", "")


def test_what_it_can_not_do_is_no_silence() -> None:
    (one,) = parse(f"{PREFIX}COMPUTE-SANITIZER\n{PREFIX}Error: Device not supported. Please refer to ...\n", PROJECT)
    assert (one.kind, one.text) == ("compute-sanitizer", "Device not supported. Please refer to ...")


def test_a_run_without_findings() -> None:
    lines = ("COMPUTE-SANITIZER", "Target application terminated before first instrumented API call", "",
             "Error: couldn't find exit code.", "ERROR SUMMARY: 0 errors")  # fmt: skip
    assert list(parse("".join(f"{PREFIX}{line}\n" for line in lines), PROJECT)) == []
    assert list(parse("what the plugin prints\n", PROJECT)) == []


def test_a_log_that_grows(tmp_path: Path) -> None:
    logs = Logs(tmp_path, PROJECT)
    assert logs.take() == ()
    text = (RECORDED / "racecheck.log").read_text()
    (tmp_path / "sanitizer-1.log").write_text(text)
    assert logs.take() == (EXPECTED["racecheck"],)
    assert logs.take() == ()
    (tmp_path / "sanitizer-2.log").write_text(text)
    assert logs.take() == (EXPECTED["racecheck"],)


@given(st.lists(st.text(alphabet=st.characters(blacklist_categories=["Cs"]), max_size=60), max_size=8))
def test_any_text_is_taken(lines: list[str]) -> None:
    for defect in parse("".join(f"{PREFIX}{line}\n" for line in lines), PROJECT):
        assert defect.text or defect.kind == "race"
