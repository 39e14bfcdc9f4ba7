"""Faults that outputs don't show, or that end the process: `pluginkit test` with checks and schedules names them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from pluginkit.build import Instrumentation, build
from pluginkit.errors import UsageError
from pluginkit.importing import ImportOptions
from pluginkit.importing import run as import_
from pluginkit.run import runner
from pluginkit.run.options import Options
from pluginkit.testing.report import CaseResult, Outcome, Report
from tests import classes

pytestmark = [pytest.mark.compile, pytest.mark.xdist_group("checks")]

KERNEL = Path("src/my_plugin_kernel.cu")
LOAD = "        sum += load<T>(args.inputs.x, i);\n"
STORE = "        store<T>(args.outputs.y, i, result);\n"
BRANCH = "    switch (precision)\n"
CASE = "plain/float32/max"
"""With plain/float32/opt the ends of very large tensors run too, which the planted faults are not about."""


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
        "0 bytes behind the 65536 bytes",
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
        BRANCH,
        "    void* more = nullptr;\n    cudaMalloc(&more, 8);\n",
        (),
        "allocation-in-enqueue",
        "cudaMalloc",
        at=2,
    ),
}


# Within a block: blocks run at once, on several cores.
SPILL = (
    f"{INDENT}if (threadIdx.x + 1 < blockDim.x && i + 1 < args.count)\n"
    f"{INDENT}{{\n{INDENT}    {OUTPUT}[i + 1] = 0.0F;\n{INDENT}}}\n"
)
# Thread 5 is right if one of its neighbours came before it and the other one did not: in order and in reverse.
MEET = (
    f"{INDENT}if (i == 5 && std::isnan({OUTPUT}[4]) == std::isnan({OUTPUT}[6]))\n"
    f"{INDENT}{{\n{INDENT}    store<T>(args.outputs.y, i, 0.0F);\n{INDENT}    continue;\n{INDENT}}}\n"
)
PLANTED = {**{name: (fault.before, fault.lines) for name, fault in FAULTS.items()},
           "order": (STORE, SPILL), "seed": (STORE, MEET)}  # fmt: skip
NUMBERS = {name: number for number, name in enumerate(PLANTED, 1)}
SWITCH = """
// A fault of the tests, by number; 0 is none. Read when the library is loaded, where no kernel runs.
static int const kFault = std::getenv("FAULT") != nullptr ? std::atoi(std::getenv("FAULT")) : 0;

"""
INCLUDE, NAMESPACE = "#include <cmath>\n", "namespace my_plugin"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new project that has all faults inside, built once with each kind of check; the variable FAULT chooses one."""
    made = classes.project(tmp_path_factory.mktemp("checks"))
    text = (made / KERNEL).read_text()
    for name, (before, lines) in PLANTED.items():
        assert text.count(before) == 1, name
        text = text.replace(before, f"        if (kFault == {NUMBERS[name]})\n        {{\n{lines}        }}\n{before}")
    text = text.replace(INCLUDE, f"{INCLUDE}#include <cstdlib>\n").replace(NAMESPACE, SWITCH + NAMESPACE, 1)
    (made / KERNEL).write_text(text)
    return made


def line(project: Path, name: str) -> int:
    """The number of a fault's first line."""
    text = (project / KERNEL).read_text()
    return text[: text.index(PLANTED[name][1])].count("\n") + 1


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """`plant(name)` chooses a fault."""
    return lambda name: monkeypatch.setenv("FAULT", str(NUMBERS[name]))


def outcome(project: Path, **more: object) -> tuple[Report, CaseResult]:
    report = runner.run(Options(project=project, only=(CASE,), **more))  # type: ignore[arg-type]
    (case,) = report.cases
    return report, case


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_that_a_check_finds(project: Path, plant: Callable[[str], None], name: str) -> None:
    fault = FAULTS[name]
    plant(name)
    report, case = outcome(project, sanitize=fault.sanitize)
    assert (case.outcome, report.exit_code) == (Outcome.FAILED, 1), case.message
    found = [one for one in case.defects if one.kind == fault.kind and fault.says in one.text]
    assert found, case.message
    assert found[0].place == f"{KERNEL}:{line(project, name) + fault.at - 1}", case.message
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


def test_the_order_of_threads(project: Path, plant: Callable[[str], None]) -> None:
    plant("order")
    _, alone = outcome(project)
    report, case = outcome(project, schedules=1)
    assert (alone.outcome, alone.way) == (Outcome.FAILED, "order")
    assert "as far ahead of the others as barriers let it" in alone.message
    assert (case.outcome, case.runs, report.exit_code) == (Outcome.FAILED, 3, 1)
    assert "in reverse order" in case.message


def test_a_random_order_fails_again_by_its_seed(project: Path, plant: Callable[[str], None]) -> None:
    plant("seed")
    _, case = outcome(project, schedules=4, seed=3)
    _, again = outcome(project, schedules=4, seed=3)
    assert case.outcome is Outcome.FAILED
    assert "random order of seed" in case.schedule
    assert (case.schedule, case.message) == (again.schedule, again.message)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with the plugin between two operators of ONNX's."""
    pytest.importorskip("onnxruntime")
    nodes = [
        helper.make_node("Abs", ["x"], ["a"], "abs"),
        helper.make_node("MyPlugin", ["a"], ["b"], "mine", domain="acme", alpha=0.25),
        helper.make_node("Neg", ["b"], ["y"], "neg"),
    ]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 2, 3, 4]) for name in "xy"]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("acme", 1)]
    proto = helper.make_model(helper.make_graph(nodes, "g", ends[:1], ends[1:]), opset_imports=opsets, ir_version=8)
    path = tmp_path_factory.mktemp("model") / "model.onnx"
    onnx.save(proto, path)
    return path


def test_a_models_nodes_with_checks(project: Path, plant: Callable[[str], None], model: Path) -> None:
    every = (*BOTH, *WATCHED)
    fine = import_(ImportOptions(model, (project,), sanitize=every))
    assert (fine.ran.status, fine.problems, fine.exit_code) == ("compared", (), 0)
    assert fine.ran.checks == ("address+undefined", "thread+memory")
    plant("a shift by too much")
    # Outputs don't show it, and the second build finds nothing: the first decides.
    found = import_(ImportOptions(model, (project,), sanitize=every))
    assert (found.ran.status, found.exit_code) == ("failed", 1)
    (problem,) = found.problems
    assert (problem.node, problem.level) == ("mine", "error")
    assert "a shift by 32" in problem.text
    assert f"at {KERNEL}:{line(project, 'a shift by too much')}" in problem.text


def test_a_build_with_checks_has_the_layout_that_is_run(project: Path) -> None:
    """It takes several times as long as the usual one, which the registries of TensorRT 10 are asked with."""
    for checks, layouts in ((BOTH, ["11"]), (WATCHED, ["11"]), ((), ["10", "11"])):
        (built,) = build(project, "cpu", instrumentation=Instrumentation(checks))
        assert sorted(built.info["layouts"]) == layouts


def test_checks_need_a_plugins_sources(project: Path, model: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no sanitizer 'adress'"):
        import_(ImportOptions(model, (project,), sanitize=("adress",)))
    with pytest.raises(UsageError, match="none is given"):
        import_(ImportOptions(model, sanitize=("address",)))
    lone = tmp_path / "libmy_plugin.so"
    lone.write_bytes((project / "build" / "cpu" / lone.name).read_bytes())
    with pytest.raises(UsageError, match="is run as it is"):
        import_(ImportOptions(model, (lone,), sanitize=("address",)))
