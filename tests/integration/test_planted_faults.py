"""Faults planted in a layer, in pluginkit's own headers and in a class (tests/planted) end a run as they should."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import onnx
import pytest
from onnx import helper

from pluginkit.evaluators.host.kept_state import TRIES
from pluginkit.network.networks import Network
from pluginkit.network.plan import Plan
from pluginkit.process import worker
from pluginkit.run import runner
from pluginkit.run.options import Options
from pluginkit.testing import planning
from pluginkit.testing.report import Outcome, Report
from tests import planted
from tests.planted import CHOSEN, Fault, bases, handwritten, layers
from tests.shared import Shared

pytestmark = [pytest.mark.compile, pytest.mark.rtx, pytest.mark.xdist_group("planted")]

Write = Callable[[Path], Path]
LIBRARIES: dict[str, tuple[Write, Mapping[str, Fault], str]] = {
    # How the project is written, what is planted in it, and the layouts of TensorRT's classes: one build each.
    "layer": (layers.write, {**layers.FAULTS, **bases.DYNAMIC}, "11 10"),
    "v3": (bases.write_v3, bases.V3, "11"),
    "ranks": (bases.write_ranks, bases.RANKS, "11"),
    "ioext": (bases.write_ioext, bases.IOEXT, "11"),
    "class": (handwritten.write, handwritten.FAULTS, "11"),
}
NUMBER = {name: str(number) for name, number in planted.numbers(LIBRARIES["layer"][1]).items()}
SLOW = {*bases.DYNAMIC, *bases.V3, *bases.RANKS, *bases.IOEXT} - bases.FAST
ALL = [
    pytest.param(library, name, id=name, marks=[pytest.mark.slow] if name in SLOW else [])
    for library, (_, faults, _) in LIBRARIES.items()
    for name in faults
]


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory, shared: Shared) -> Callable[[str], Path]:
    """The project of each library, built once; the environment variable FAULT chooses a fault."""
    made: dict[str, Path] = {}

    def project(library: str) -> Path:
        if library not in made:
            write, faults, layouts = LIBRARIES[library]
            written = planted.plant(write(tmp_path_factory.mktemp(library)), faults, layouts)
            made[library] = shared.project(written)
        return made[library]

    return project


@pytest.fixture
def layer(projects: Callable[[str], Path]) -> Path:
    return projects("layer")


def run(project: Path, *only: str, timeout: float = 60, evaluators: tuple[str, ...] | None = None) -> Report:
    library = project / "build" / "cpu" / "libmy_plugin.so"
    return runner.run(Options(project=project, library=library, only=only, timeout=timeout, evaluators=evaluators))


@pytest.mark.parametrize(("library", "name"), ALL)
def test_a_fault_in_the_plugin(
    projects: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, library: str, name: str
) -> None:
    project, faults = projects(library), LIBRARIES[library][1]
    fault, number = faults[name], planted.numbers(faults)[name]
    monkeypatch.setenv(CHOSEN, str(number))
    # NVIDIA's builder is asked as well where a fault ends the process that it is in.
    evaluators = ("host",) if fault.outcome in (Outcome.PASSED, Outcome.FAILED) else None
    report = run(project, fault.only, timeout=5 if "hang" in name else 60, evaluators=evaluators)
    lines = planted.path_of(project, fault.file).read_text().splitlines()
    marked = [line for line, text in enumerate(lines, 1) if text.endswith(f"// LINE fault() == {number}")]
    says = fault.says.replace("LINE", f"{fault.file}:{marked[0] if marked else 0}")
    bad = [case for case in report.cases if case.outcome.bad] or report.cases
    assert {case.outcome for case in bad} == {fault.outcome}
    assert any(says in case.message for case in bad), bad[0].message
    assert "*" in fault.only or [case.id for case in report.cases] == [fault.only]
    assert report.exit_code == {Outcome.PASSED: 0, Outcome.FAILED: 1}.get(fault.outcome, 6)


@pytest.mark.parametrize(
    "library",
    [pytest.param(one, marks=[pytest.mark.slow] if one in ("v3", "ranks", "ioext") else []) for one in LIBRARIES],
)
def test_without_a_fault_the_same_cases_pass(projects: Callable[[str], Path], library: str) -> None:
    asked = sorted({fault.only for fault in LIBRARIES[library][1].values()})
    report = run(projects(library), *asked, evaluators=None if library == "layer" else ("host",))
    assert report.cases
    assert report.bad == []


def with_altered(monkeypatch: pytest.MonkeyPatch, alter: object) -> None:
    """Have the runner use networks whose models are altered; the oracle's answers stay."""
    make = planning.make

    def altered(*args: object, **kwargs: object) -> Plan:
        plan = make(*args, **kwargs)  # type: ignore[arg-type]
        return replace(plan, networks=tuple(replace(n, model=alter(n)) for n in plan.networks))  # type: ignore[operator]

    monkeypatch.setattr(planning, "make", altered)


def test_a_failing_case_costs_no_more_than_its_run(layer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What costs time are processes: a few for the question whether state is kept, and none for each case."""
    started: list[str] = []
    start = worker.Worker.__init__

    def counted(self: worker.Worker, *args: object, **kwargs: object) -> None:
        started.append(str(args[0]))
        start(self, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(worker.Worker, "__init__", counted)
    library = layer / "build" / "cpu" / "libmy_plugin.so"
    options = Options(project=layer, library=library, only=("plain/float16/*", "plain/int8/*"), jobs=1)
    monkeypatch.setenv("FAULT", "0")
    assert runner.run(options).bad == []
    right = len(started)
    monkeypatch.setenv("FAULT", NUMBER["an output that stays unwritten"])
    started.clear()
    report = runner.run(options)
    assert sum(case.outcome is Outcome.FAILED for case in report.cases) > 20
    assert len(started) <= right + TRIES + 2


def test_a_branch_swapped(layer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def swap(network: Network) -> bytes:
        if network.family != "cond-both":
            return network.model
        model = onnx.load_from_string(network.model)
        (branch,) = [node for node in model.graph.node if node.op_type == "If"]
        for attribute in branch.attribute:
            attribute.name = {"then_branch": "else_branch", "else_branch": "then_branch"}[attribute.name]
        return model.SerializeToString()

    with_altered(monkeypatch, swap)
    report = run(layer, "cond-both/float32/opt/*")
    assert [(c.id, c.outcome.value) for c in report.cases] == [
        ("cond-both/float32/opt/then", "failed"),
        ("cond-both/float32/opt/else", "failed"),
    ]


def test_a_dead_plugin(layer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def kill(network: Network) -> bytes:
        if network.family != "plain":
            return network.model
        # The output is the input's: whatever the plugin computes, nobody asks for it.
        model = onnx.load_from_string(network.model)
        graph = model.graph
        for node in graph.node:
            for index, name in enumerate(node.output):
                if name == graph.output[0].name:
                    node.output[index] = "nobody_asks"
        graph.node.append(helper.make_node("Identity", [graph.input[0].name], [graph.output[0].name], name="past"))
        return model.SerializeToString()

    with_altered(monkeypatch, kill)
    report = run(layer, "plain/float32/opt")
    (verdict,) = report.verdicts
    assert verdict.outcome is Outcome.FAILED
    assert "never configured" in verdict.message
