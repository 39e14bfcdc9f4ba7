"""What is asked of the full TensorRT, and what is made of its answers; the runtime itself is stood in for."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import pytest

from pluginkit.errors import CheckFailed, ToolMissing
from pluginkit.interpreter import walker
from pluginkit.judges.protocol import RunWork
from pluginkit.judges.tensorrt import weak_types
from pluginkit.judges.tensorrt.cases import TensorrtRuns, judge
from pluginkit.manifest import Manifest
from pluginkit.network.model import Case, Network
from pluginkit.network.plan import Plan
from pluginkit.process.crew import Common, Sessions
from pluginkit.run import libraries
from pluginkit.run.execution import LocalWorkplace, execute
from pluginkit.run.items import parts
from pluginkit.run.libraries import gpu_library
from pluginkit.run.options import Options
from pluginkit.runtimes import Availability, BuildVerdict, Ran
from pluginkit.runtimes.tensorrt import session as tensorrt
from pluginkit.runtimes.tensorrt.session import TensorrtSession
from pluginkit.testing.plan import plan
from pluginkit.testing.reference import Reference
from pluginkit.testing.report import Outcome

TOML = """
[plugin]
name = "Twice"
version = "1"
namespace = "acme"
base = "dynamic"
description = "Twice the input."

[[inputs]]
name = "x"
types = ["float32", "float16", "int8"]
shape = ["n"]
scale = "x_scale"

[[outputs]]
name = "y"
types = ["float32", "float16", "int8"]
shape = ["n"]
scale = "y_scale"

[[fields]]
name = "x_scale"
type = "float32"
default = 1.0
description = "Scale of x."

[[fields]]
name = "y_scale"
type = "float32"
default = 1.0
description = "Scale of y."

[[profiles]]
name = "small"
symbols = { n = [1, 2, 4] }

[[profiles]]
name = "large"
symbols = { n = [5, 6, 7] }
"""


@dataclass
class Stand:
    """Answers as a session does: right, but for what is in `wrong`."""

    weak: bool = True
    wrong: str = ""
    asked: list[tuple[str, ...]] = field(default_factory=list)

    def build(self, network: Network, how: str = "") -> BuildVerdict:
        self.asked.append(("build", network.id, how))
        return BuildVerdict("refused" if self.wrong == f"build {network.id}" else "built", "said")

    def build_weak(self, network: Network, weak: Any) -> BuildVerdict:
        return self.build(network, weak.kind)

    def build_shapes(self, network: Network) -> BuildVerdict:
        return self.build(network, "shapes")

    def run(self, network: Network, case: Case, *, switch: bool = False) -> Ran:
        self.asked.append(("switch" if switch else "run", case.id))
        if self.wrong == ("switch" if switch else "run") or self.wrong == case.id:
            return Ran({name: np.float32(want + 1000) for name, want in case.expected.items()}, -1)
        if self.wrong == "refuse":
            raise CheckFailed("TensorRT refuses shape [2]")
        return Ran({name: want.astype(np.float32) for name, want in case.expected.items()}, -1)

    def shape_values(self, network: Network, case: Case) -> dict[str, Any]:
        more = 1 if self.wrong == "shapes" else 0
        return {name: np.int32(want.shape) + more for name, want in case.expected.items()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    path = tmp_path_factory.mktemp("twice") / "pluginkit.toml"
    path.write_text(TOML)
    manifest = Manifest.load(path)

    def reference(x: Any, **scales: float) -> Any:
        return 2 * x

    return plan(manifest, Reference(manifest, reference, "here"), families=["plain"], seed=1)


def verdicts_of(stand: Stand, whole: Plan) -> dict[str, Any]:
    return {verdict.network: verdict for verdict in TensorrtRuns(cast("TensorrtSession", stand), whole).all()}


def test_all_is_asked_and_passes(whole: Plan) -> None:
    stand = Stand()
    verdicts = verdicts_of(stand, whole)
    assert [*verdicts] == [
        "plain/float32", "plain/float16", "plain/int8", "plain/fp16", "plain/int8-ranges", "plain/int8-calibrator",
    ]  # fmt: skip
    assert {verdict.outcome for verdict in verdicts.values()} == {Outcome.PASSED}
    assert {asked[1] for asked in stand.asked if asked[0] == "run"} == {case.id for case in whole.cases}
    # Each profile of each explicitly typed network once by a switch, and its shapes as outputs.
    assert sum(asked[0] == "switch" for asked in stand.asked) == 6
    assert [asked[1] for asked in stand.asked if asked[-1] == "shapes"] == [n.id for n in whole.networks]


def test_11_has_no_weakly_typed_networks(whole: Plan) -> None:
    assert [*verdicts_of(Stand(weak=False), whole)] == [network.id for network in whole.networks]


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ("run", "expected"),
        ("switch", "in a context switched to profile 'large'"),
        ("shapes", "has shape"),
        ("refuse", "refuses shape"),
        ("build plain/float32", "said"),
    ],
)
def test_what_is_wrong_fails_with_its_words(wrong: str, text: str, whole: Plan) -> None:
    verdict = verdicts_of(Stand(wrong=wrong), whole)["plain/float32"]
    assert verdict.outcome is Outcome.FAILED
    assert text in verdict.message


def test_the_failing_case_is_named(whole: Plan) -> None:
    case = whole.cases[1]
    verdict = verdicts_of(Stand(wrong=case.id), whole)[case.network_id]
    assert verdict.message.startswith(f"{case.id}: ")


def test_weakly_typed_networks_have_the_low_precisions_inputs_scales_and_fields(whole: Plan) -> None:
    found = {network.id: (network, weak, cases) for network, weak, cases in weak_types.networks(whole)}
    low = whole.networks[2]
    network, weak, cases = found["plain/int8-ranges"]
    (call,) = low.calls
    (mine,) = network.calls
    assert weak.input_scales == {mine.node: call.scales}
    assert call.scales[0] > 0
    assert weak.batches == ()
    (node,) = [n for n in walker.nodes(onnx.load_from_string(network.model).graph) if n.op_type == "Twice"]
    values = {attribute.name: attribute.f for attribute in node.attribute}
    assert values["x_scale"] == pytest.approx(call.scales[0])
    assert node.name == mine.node
    assert {case.id for case in cases} == {case.id for case in whole.cases if case.network_id == low.id}
    _, calibrated, _ = found["plain/int8-calibrator"]
    (batch,) = calibrated.batches
    # The batch has the calibration profile's opt shape.
    assert batch["x"].shape == low.profiles[0].shapes["x"][1]


def test_no_weak_network_without_both_precisions(whole: Plan) -> None:
    assert list(weak_types.networks(replace(whole, networks=whole.networks[1:]))) == []


def status_of(options: Options, whole: Plan) -> str:
    """A run's status of TensorRT's part, where nothing else takes part."""
    work = RunWork(Manifest.parse(TOML), Path(), whole, whole, sanitize=options.sanitize)
    (part,) = [part for part in parts(work) if part.judge.NAME == tensorrt.NAME]
    found = {item: execute(item, work, place(options)) for item in part.items}
    (absent,) = [one.absent for one in found.values()] or [part.absent]
    return f"took no part: {absent}"


def place(options: Options) -> LocalWorkplace:
    return LocalWorkplace(Sessions(Common()), lambda _: Path("lib.so"), partial(gpu_library, options))


def test_a_run_says_why_tensorrt_took_no_part(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, whole: Plan) -> None:
    reason = Availability(False, reason="the Python package tensorrt is not installed", remedy="get it")
    monkeypatch.setattr(tensorrt, "probe", lambda: reason)
    assert status_of(Options(), whole) == "took no part: the Python package tensorrt is not installed (get it)"
    assert "checks compiled in" in status_of(Options(sanitize=("address",)), whole)
    # A library for target cpu would take device addresses for its own memory's.
    monkeypatch.setattr(tensorrt, "probe", lambda: Availability(True, "11.4"))
    monkeypatch.setattr(libraries, "on_cpu", lambda library: True)
    assert "pluginkit build --target gpu" in status_of(Options(library=tmp_path / "lib.so"), whole)

    def no_nvcc(*_: Any) -> Any:
        raise ToolMissing("nvcc is not on this machine", hint="install it")

    monkeypatch.setattr(libraries, "build", no_nvcc)
    assert status_of(Options(), whole) == "took no part: nvcc is not on this machine (install it)"


def test_a_library_that_does_not_load_is_every_networks_answer(monkeypatch: pytest.MonkeyPatch, whole: Plan) -> None:
    def refused(*_: Any, **__: Any) -> Any:
        raise CheckFailed("TensorRT's registry doesn't load it")

    monkeypatch.setattr(tensorrt, "open", refused)
    verdicts = judge(Path("lib.so"), cast("Manifest", None), 1.0, whole, lambda *_: None)
    assert [verdict.network for verdict in verdicts] == [network.id for network in whole.networks]
    assert {verdict.message for verdict in verdicts} == {"TensorRT's registry doesn't load it"}
