"""What only a GPU shows: each fault in a V2, a V3 and an adapted plugin, with what must be found, and where."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from pluginkit.build import build
from pluginkit.errors import CheckFailed
from pluginkit.run import runner
from pluginkit.run.options import Options
from pluginkit.testing.report import CaseResult, Outcome
from tests.gpu import planted

pytestmark = [pytest.mark.gpu, pytest.mark.compile, pytest.mark.xdist_group("gpu")]

CASE = "plain/float32/max"
LIVES = "plain/float32/opt"
"""The case that lives several times."""
GRAPH = "captured into a CUDA graph and replayed on new data (without that it passed)"
BESIDE = "with a second context of the engine at work, on another thread and stream (without that it passed)"


@dataclass(frozen=True)
class Expected:
    """How a fault shows.

    Attributes:
        kind: of the finding; empty where the outputs are wrong instead.
        says: what stands in the message.
        mark: behind the line of the kernel's source that the finding names.
        tool: the tool of compute-sanitizer; empty: pluginkit's own rules.
    """

    kind: str
    says: str
    mark: str = ""
    tool: str = ""


BY_CUPTI = {
    "default stream": Expected("wrong-stream", "cudaLaunchKernel uses the default stream", "DEFAULT STREAM"),
    "allocation": Expected("allocation-in-enqueue", "cudaMalloc in enqueue()", "ALLOCATION"),
    "waiting": Expected("synchronization-in-enqueue", "cudaStreamSynchronize waits", "WAITING"),
    "blocking copy": Expected("synchronization-in-enqueue", "cudaMemcpy waits", "BLOCKING COPY"),
    "stream-ordered allocation": Expected(
        "allocation-in-enqueue", "cudaMallocAsync in enqueue()", "STREAM-ORDERED ALLOCATION"
    ),
}
BY_CAPTURE = {
    # Or CUDA takes the capture, and the graph goes without the launch.
    "default stream": Expected("", "captured into a CUDA graph"),
    "allocation": Expected("", "can't be captured into a CUDA graph"),
    "waiting": Expected("", "can't be captured into a CUDA graph"),
    "blocking copy": Expected("", "can't be captured into a CUDA graph"),
    "stream-ordered allocation": Expected("", "captured into a CUDA graph it allocates"),
}
BY_RESULTS = {
    "beyond": Expected("", "written beyond output 0"),
    "stale host memory": Expected("", GRAPH),
    "shared scratch": Expected("", BESIDE),
}
BY_LIVES = {
    "kept device memory": ("KEPT DEVICE MEMORY", "4096 bytes of device memory from cudaMalloc"),
    "kept stream": ("KEPT STREAM", "stream from cudaStreamCreateWithFlags"),
    "kept event": ("KEPT EVENT", "event from cudaEventCreate"),
    # cuBLAS's handle is not an object of CUDA's driver: it shows as what it holds, which differs by cuBLAS's version.
    "kept handle": ("KEPT HANDLE", ""),
    "kept host memory": ("KEPT HOST MEMORY", "4096 bytes of host memory from new or malloc"),
}
"""What each life of the plugin leaves behind: the mark of its line, and what the message says of it."""
BY_SANITIZER = {
    "beyond": Expected("address", "Invalid __global__ write of size 4 bytes", "BEYOND", "memcheck"),
    "race": Expected("race", "Race reported between", "RACE", "racecheck"),
    "unwritten": Expected("uninitialized-read", "Uninitialized __global__ memory read", "UNWRITTEN", "initcheck"),
    "divergent": Expected("divergent-barrier", "Barrier error", "DIVERGENT", "synccheck"),
}


@pytest.fixture(scope="module", params=planted.KINDS)
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return planted.make(request.param, tmp_path_factory.mktemp(request.param))


def run(project: Path, fault: str, tool: str = "", only: str = CASE) -> CaseResult:
    planted.plant(project, fault)
    sanitize = (tool,) if tool else ()
    report = runner.run(Options(project=project, only=(only,), target="gpu", sanitize=sanitize, timeout=30))
    (case,) = report.cases
    return case


def check(case: CaseResult, expected: Expected) -> None:
    assert case.outcome is Outcome.FAILED
    assert expected.says in case.message
    if not expected.kind:
        assert case.defects == ()
        return
    line = f"src/planted.cu:{planted.line_of(expected.mark)}"
    first = next((defect for defect in case.defects if defect.kind == expected.kind), None)
    # What else is wrong, as a value with a second context at work, may stand before it; then it is told as a warning.
    assert line in ({first.place, first.other} if first else case.message), case.message


def test_the_right_kernel(project: Path) -> None:
    case = run(project, "none")
    assert (case.outcome, case.message, case.runs) == (Outcome.PASSED, "", 3)
    assert case.watched.startswith(("by CUPTI", "by capture alone"))


@pytest.mark.parametrize("fault", BY_CUPTI)
def test_calls_that_enqueue_may_not_make(project: Path, fault: str) -> None:
    case = run(project, fault)
    if case.watched.startswith("by capture alone"):
        pytest.skip(f"no CUPTI: {case.watched}")
    check(case, BY_CUPTI[fault])


@pytest.mark.parametrize("fault", BY_CAPTURE)
def test_the_same_by_capture_alone(project: Path, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLUGINKIT_CUPTI", "none")
    check(run(project, fault), BY_CAPTURE[fault])


@pytest.mark.parametrize("fault", BY_RESULTS)
def test_what_comes_out_wrong(project: Path, fault: str) -> None:
    check(run(project, fault), BY_RESULTS[fault])


@pytest.mark.parametrize("fault", BY_LIVES)
def test_what_each_life_leaves(project: Path, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if fault == "kept handle":
        if (library := planted.cublas()) is None:
            pytest.skip("no libcublas on this machine")
        monkeypatch.setenv("PLANTED_CUBLAS", str(library))
    case = run(project, fault, only=LIVES)
    if fault != "kept host memory" and case.watched.startswith("by capture alone"):
        pytest.skip(f"no CUPTI: {case.watched}")
    mark, what = BY_LIVES[fault]
    text = f"[L7] destroy: src/planted.cu:{planted.line_of(mark)}: {what}"
    assert case.outcome is Outcome.FAILED, case.message  # a new project is strict
    leaks = [one.text for one in case.warnings if one.rule == "L7"]
    assert leaks, case.message
    assert [one for one in leaks if not one.startswith(text)] == [], f"not {text!r}"
    assert fault == "kept handle" or len(leaks) == 1, leaks


@pytest.mark.parametrize("fault", ["none", "a cache, which is not a fault"])
def test_what_each_life_gives_back(project: Path, fault: str) -> None:
    case = run(project, fault, only=LIVES)
    assert (case.outcome, case.message) == (Outcome.PASSED, "")


@pytest.mark.parametrize("fault", BY_SANITIZER)
def test_what_compute_sanitizer_finds(project: Path, fault: str) -> None:
    expected = BY_SANITIZER[fault]
    case = run(project, fault, expected.tool)
    assert case.sanitizers == expected.tool
    check(case, expected)
    defect = next(one for one in case.defects if one.kind == expected.kind)
    assert defect.kernel in ("beyond", "racing", "unwritten", "divergent")


@pytest.mark.parametrize("tool", sorted({one.tool for one in BY_SANITIZER.values()}))
def test_compute_sanitizer_finds_nothing_in_the_right_kernel(project: Path, tool: str) -> None:
    case = run(project, "none", tool)
    assert (case.outcome, case.message) == (Outcome.PASSED, "")


def test_code_for_another_architecture(project: Path) -> None:
    planted.plant(project, "none")
    # Code and PTX of a GPU that comes later than any that this runs on.
    library = build(project, "gpu", archs=["121"])[0].library
    try:
        with pytest.raises(CheckFailed, match="has no code for this GPU"):
            runner.run(Options(project=project, only=(CASE,), target="gpu", library=library))
    finally:
        build(project, "gpu")
