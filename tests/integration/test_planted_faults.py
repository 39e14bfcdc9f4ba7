"""A fault planted in a right plugin makes `pluginkit test` fail, and the right case is named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import onnx
import pytest
from onnx import helper

from pluginkit import scaffold
from pluginkit.testing import planning, runner
from pluginkit.testing.model import Network, Plan
from pluginkit.testing.report import Outcome, Report
from pluginkit.testing.runner import Options

pytestmark = [pytest.mark.compile, pytest.mark.rtx, pytest.mark.xdist_group("planted")]

PLUGIN, KERNEL = "src/my_plugin.cpp", "src/my_plugin_kernel.cu"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return scaffold.new("MyPlugin", directory=tmp_path_factory.mktemp("planted"))


@dataclass(frozen=True)
class Fault:
    """What is replaced by what, what is run, how it must end, and what the message must say."""

    file: str
    right: str
    wrong: str
    only: str
    outcome: Outcome
    says: str


ENQUEUE = "    int32_t const row = findRow(kNbTensors, typeAt);"
BEYOND = "static_cast<T*>(output.data)[output.count] = T{};\n    if (i < output.count)"
FAULTS = {
    "wrong kernel": Fault(
        KERNEL,
        "args.parameters.alpha * sum",
        "-args.parameters.alpha * sum",
        "plain/float16/opt",
        Outcome.FAILED,
        "output 'y' is",
    ),
    "wrong dims": Fault(
        PLUGIN,
        "output.d[1] = inputs[0].d[1]",
        "output.d[1] = inputs[0].d[2]",
        "plain/float32/random-1",
        Outcome.FAILED,
        "",
    ),
    "scales swapped": Fault(
        PLUGIN,
        "mScales[0] = parameters.x_scale",
        "mScales[0] = parameters.y_scale",
        "plain/int8/opt",
        Outcome.FAILED,
        "steps",
    ),
    "scales ignored": Fault(
        PLUGIN,
        "args.outputs.y.scale = mScales[1]",
        "args.outputs.y.scale = 1.0F",
        "cond-both/int8/opt/else",
        Outcome.FAILED,
        "steps",
    ),
    "a field that is not serialized": Fault(
        PLUGIN, "writer.put(mParameters.alpha)", "writer.put(0.0F)", "loop-count/float32/opt", Outcome.FAILED, "x_last"
    ),
    "an output that stays unwritten": Fault(
        KERNEL, "if (i < output.count)", "if (i < output.count - 1)", "plain/float32/opt", Outcome.FAILED, "unwritten"
    ),
    "an output written beyond its end": Fault(
        KERNEL, "if (i < output.count)", BEYOND, "plain/float32/opt", Outcome.FAILED, "beyond"
    ),
    "NaN": Fault(KERNEL, "args.parameters.alpha * sum", "std::sqrt(sum)", "plain/float32/opt", Outcome.FAILED, "NaN"),
    "an enqueue that fails": Fault(
        PLUGIN, ENQUEUE, "    return 7;\n" + ENQUEUE, "plain/float32/opt", Outcome.FAILED, "7"
    ),
    "no format": Fault(
        PLUGIN,
        "inOut[pos].format == TensorFormat::kLINEAR",
        "inOut[pos].format == TensorFormat::kCHW32",
        "plain/float32/opt",
        Outcome.FAILED,
        "supportsFormatCombination",
    ),
    "a segmentation fault": Fault(
        PLUGIN,
        ENQUEUE,
        "    *static_cast<volatile int*>(nullptr) = 0;\n" + ENQUEUE,
        "plain/float32/opt",
        Outcome.CRASHED,
        "SIGSEGV in IPluginV2DynamicExt::enqueue",
    ),
    "an exit": Fault(
        PLUGIN,
        ENQUEUE,
        "    std::exit(3);\n" + ENQUEUE,
        "plain/float32/opt",
        Outcome.CRASHED,
        "exit code 3 in IPluginV2DynamicExt::enqueue",
    ),
    "a throw": Fault(
        PLUGIN,
        ENQUEUE,
        "    throw 1;\n" + ENQUEUE,
        "plain/float32/opt",
        Outcome.CRASHED,
        "SIGABRT in IPluginV2DynamicExt::enqueue",
    ),
    "a hang": Fault(
        PLUGIN,
        ENQUEUE,
        "    for (volatile int i = 0;; i = 0)\n    {\n    }\n" + ENQUEUE,
        "plain/float32/opt",
        Outcome.HUNG,
        "IPluginV2DynamicExt::enqueue",
    ),
}


CRASH = "    *static_cast<volatile int*>(nullptr) = 0;\n"
CONFIGURE, DIMENSIONS = (
    "    // A scale that the node's attributes give wins.",
    "    DimsExprs const impossible{-1, {}};",
)
INITIALIZE = "int32_t MyPlugin::initialize() noexcept\n{\n"
SPOIL = "const_cast<T*>(static_cast<T const*>(args.inputs.x.data))[i] = T{};\n        store<T>"
MORE_FAULTS = {
    "a clone that loses a field": Fault(
        PLUGIN,
        "        return new MyPlugin{*this};",
        "        auto* copy = new MyPlugin{*this};\n        copy->mParameters.alpha = 0.0F;\n        return copy;",
        "plain/float32/opt",
        Outcome.FAILED,
        "",
    ),
    "an input written to": Fault(
        KERNEL, "store<T>(args", SPOIL + "(args", "plain/float32/opt", Outcome.FAILED, "input"
    ),
    "a wrong output type": Fault(
        PLUGIN,
        "return kTypes[row == kNoRow ? 0 : row][kNbInputs + index];",
        "return kTypes[row == kNoRow ? 0 : 1][kNbInputs + index];",
        "plain/float32/opt",
        Outcome.FAILED,
        "kHALF",
    ),
    "a segmentation fault in configurePlugin": Fault(
        PLUGIN,
        CONFIGURE,
        CRASH + CONFIGURE,
        "plain/float32/opt",
        Outcome.CRASHED,
        "SIGSEGV in IPluginV2DynamicExt::configurePlugin",
    ),
    "a segmentation fault in getOutputDimensions": Fault(
        PLUGIN,
        DIMENSIONS,
        CRASH + DIMENSIONS,
        "plain/float32/opt",
        Outcome.CRASHED,
        "SIGSEGV in IPluginV2DynamicExt::getOutputDimensions",
    ),
    "an abort in initialize": Fault(
        PLUGIN, INITIALIZE, INITIALIZE + "    std::abort();\n", "plain/float32/opt", Outcome.CRASHED, "::initialize"
    ),
    "a throw in configurePlugin": Fault(
        PLUGIN,
        CONFIGURE,
        "    throw 1;\n" + CONFIGURE,
        "plain/float32/opt",
        Outcome.CRASHED,
        "SIGABRT in IPluginV2DynamicExt::configurePlugin",
    ),
}


@contextmanager
def planted(project: Path, fault: Fault) -> Iterator[None]:
    file = project / fault.file
    right = file.read_text()
    assert fault.right in right
    file.write_text(right.replace(fault.right, fault.wrong, 1))
    try:
        yield
    finally:
        file.write_text(right)


@pytest.mark.parametrize("name", [*FAULTS, *(pytest.param(name, marks=pytest.mark.slow) for name in MORE_FAULTS)])
def test_a_fault_in_the_plugin(project: Path, name: str) -> None:
    fault = {**FAULTS, **MORE_FAULTS}[name]
    with planted(project, fault):
        report = runner.run(Options(project=project, only=(fault.only,), timeout=10 if "hang" in name else 60))
    (case,) = report.cases
    assert (case.id, case.outcome) == (fault.only, fault.outcome)
    assert fault.says in case.message
    assert report.exit_code == (1 if fault.outcome is Outcome.FAILED else 6)


def with_altered(monkeypatch: pytest.MonkeyPatch, alter: object) -> None:
    """Have the runner use networks whose models are altered; the oracle's answers stay."""
    make = planning.make

    def altered(*args: object, **kwargs: object) -> Plan:
        plan = make(*args, **kwargs)  # type: ignore[arg-type]
        return replace(plan, networks=tuple(replace(n, model=alter(n)) for n in plan.networks))  # type: ignore[operator]

    monkeypatch.setattr(planning, "make", altered)


def run(project: Path, only: str) -> Report:
    return runner.run(Options(project=project, only=(only,)))


def test_the_plugin_itself_is_right(project: Path) -> None:
    assert runner.run(Options(project=project)).bad == []


def test_a_branch_swapped(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def swap(network: Network) -> bytes:
        if network.family != "cond-both":
            return network.model
        model = onnx.load_from_string(network.model)
        (branch,) = [node for node in model.graph.node if node.op_type == "If"]
        for attribute in branch.attribute:
            attribute.name = {"then_branch": "else_branch", "else_branch": "then_branch"}[attribute.name]
        return model.SerializeToString()

    with_altered(monkeypatch, swap)
    report = run(project, "cond-both/float32/opt/*")
    assert [(c.id, c.outcome.value) for c in report.cases] == [
        ("cond-both/float32/opt/then", "failed"),
        ("cond-both/float32/opt/else", "failed"),
    ]


def test_a_dead_plugin(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    report = run(project, "plain/float32/opt")
    (verdict,) = report.verdicts
    assert verdict.outcome is Outcome.FAILED
    assert "never configured" in verdict.message
