"""What is asked of the full TensorRT, and what is made of its answers; the runtime itself is stood in for."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import pytest
from typing_extensions import Self

from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed, ToolMissing
from pluginkit.evaluators.protocol import RunWork
from pluginkit.evaluators.tensorrt import version8, weak_types
from pluginkit.evaluators.tensorrt.cases import TensorrtRuns, evaluate
from pluginkit.evaluators.tensorrt.evaluator import EVALUATOR
from pluginkit.interpreter import walker
from pluginkit.manifest import Manifest
from pluginkit.network.networks import Case, Network, Tolerance
from pluginkit.network.plan import Plan
from pluginkit.process.worker import WorkerCrashed
from pluginkit.process.worker_pool import Common, Sessions
from pluginkit.run import libraries
from pluginkit.run.execution import LocalWorkplace, execute
from pluginkit.run.items import parts
from pluginkit.run.libraries import gpu_library
from pluginkit.run.options import Options
from pluginkit.runtimes import Availability, BuildVerdict, Ran
from pluginkit.runtimes.tensorrt import calibration_cache
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


MYELIN = "TensorRT's builder: 4: Error Code 4: Myelin (PLUGIN_V2 operation not supported within this graph.)"
CACHED = {"x": "x", "y": "main_y_raw"}
"""The names of the plugin's tensors in the network `plain`."""


@dataclass
class Stand:
    """Answers as a session does: right, but for what is in `wrong`."""

    major: int = 10
    wrong: str = ""
    asked: list[tuple[str, ...]] = field(default_factory=list)
    version: str = "8.5.3.1"
    ranges: dict[str, float] = field(default_factory=dict)
    ranged: dict[str, Any] = field(default_factory=dict)
    copies: str = ""
    """What an engine with the plugin that copies does: `right`, `wrong` or `crash`; empty: it isn't built."""

    @property
    def is_8(self) -> bool:
        return self.major == 8

    @property
    def weak(self) -> bool:
        return self.major < 11

    def build(self, network: Network, how: str = "") -> BuildVerdict:
        self.asked.append(("build", network.id, how))
        return BuildVerdict("refused" if self.wrong == f"build {network.id}" else "built", "said")

    def build_weak(self, network: Network, weak: Any) -> BuildVerdict:
        if weak.batches:
            self.ranges = {"x": max(float(np.abs(one["x"]).max()) for one in weak.batches)}
            self.ranges["y"] = 2 * self.ranges["x"]
        if weak.cache:
            assert weak.cache.startswith(b"TRT-8503")
        self.ranged = weak.input_scales if weak.kind == "int8-ranges" else {}
        return self.build(network, weak.kind)

    def build_shapes(self, network: Network) -> BuildVerdict:
        return self.build(network, "shapes")

    def run(self, network: Network, case: Case, *, fresh: bool = True, switch: bool = False) -> Ran:
        self.asked.append(("switch" if switch else "run" if fresh else "copied", case.id))
        if self.copies == "crash" and not fresh:
            raise WorkerCrashed("SIGSEGV", "", False, "")
        if not fresh:
            more = 1000 if self.copies == "wrong" else 0
            return Ran({name: np.float32(want + more) for name, want in case.expected.items()}, -1)
        if self.wrong == ("switch" if switch else "run") or self.wrong == case.id:
            return Ran({name: np.float32(want + 1000) for name, want in case.expected.items()}, -1)
        if self.wrong == "refuse":
            raise CheckFailed("TensorRT refuses shape [2]")
        return Ran({name: want.astype(np.float32) for name, want in case.expected.items()}, -1)

    def lacking(self) -> list[str]:
        return ["CUDNN"] if self.major == 8 else []

    def both(self, network: Network, cases: list[Case]) -> list[dict[str, Any]]:
        self.asked.append(("both", network.id, *(case.profile for case in cases)))
        more = 1000 if self.wrong == "both" else 0
        return [{name: np.float32(want + more) for name, want in case.expected.items()} for case in cases]

    def accepts(self, network: Network, profile: int, name: str, dims: tuple[int, ...]) -> bool:
        assert profile < len(network.profiles)
        ends = [one.shapes[name][2] for one in network.profiles]  # 8.5.3 takes what any profile has
        inside = any(all(size <= limit for size, limit in zip(dims, end, strict=True)) for end in ends)
        return inside or self.wrong == "beyond"

    def run_in(self, network: Network, case: Case) -> dict[str, list[str]]:
        assert case.network_id == network.id
        kind = {"float32": "FP32", "float16": "FP16", "int8": "INT8"}[network.precision.value]
        told = "FP32" if self.wrong == "types" else kind
        return {call.node: [f"Row major linear {told} format"] * 2 for call in network.calls}

    def cache(self) -> bytes:
        scales = {name: np.float32(self.ranges[name] / 127) for name in ("x", "y")}
        if self.wrong == "range":
            scales["x"] *= np.float32(1.01)
        lines = [f"{CACHED[name]}: {scale.tobytes()[::-1].hex()}" for name, scale in scales.items()]
        return "\n".join(("TRT-8503-MinMaxCalibration", *lines[: 1 if self.wrong == "cache" else 2], "")).encode()

    def build_control(self, network: Network) -> BuildVerdict:
        kinds = [node.op_type for node in walker.nodes(onnx.load_from_string(network.model).graph)]
        self.asked.append(("control", network.id, *(kind for kind in kinds if kind in ("Copying", "Twice"))))
        if self.wrong == "plugin alone" or self.copies:
            return BuildVerdict("built", "built")
        return BuildVerdict("refused", MYELIN)

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
    runs = TensorrtRuns(cast("TensorrtSession", stand), whole)
    return {verdict.network: verdict for verdict in runs.all()}


def test_all_is_asked_and_passes(whole: Plan) -> None:
    stand = Stand()
    verdicts = verdicts_of(stand, whole)
    assert [*verdicts] == [
        "plain/float32", "plain/float16", "plain/int8", "plain/fp16", "plain/int8-ranges", "plain/int8-minmax",
        "plain/int8-entropy",
    ]  # fmt: skip
    assert {verdict.outcome for verdict in verdicts.values()} == {Outcome.PASSED}, verdicts
    assert {asked[1] for asked in stand.asked if asked[0] == "run"} == {case.id for case in whole.cases}
    assert [asked[2:] for asked in stand.asked if asked[0] == "both"] == [("small", "large")] * 3
    # Each profile of each explicitly typed network once by a switch, and its shapes as outputs.
    assert sum(asked[0] == "switch" for asked in stand.asked) == 6
    assert [asked[1] for asked in stand.asked if asked[-1] == "shapes"] == [n.id for n in whole.networks]


def test_11_has_no_weakly_typed_networks(whole: Plan) -> None:
    assert [*verdicts_of(Stand(11), whole)] == [network.id for network in whole.networks]


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ("run", "expected"),
        ("switch", "in a context switched to profile 'large'"),
        ("shapes", "has shape"),
        ("refuse", "refuses shape"),
        ("both", "with another context at work"),
        ("beyond", "input 'x' takes [8], which no profile has"),
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
    _, calibrated, _ = found["plain/int8-minmax"]
    (batch,) = calibrated.batches
    # The batch has the calibration profile's opt shape.
    assert batch["x"].shape == low.profiles[0].shapes["x"][1]


def test_a_calibrators_cache_is_held_against_batches_and_ranges(whole: Plan) -> None:
    assert verdicts_of(stand := Stand(8), whole)["plain/int8-entropy"].outcome is Outcome.PASSED
    assert stand.ranged == {"n001_main_plugin": (pytest.approx(stand.ranges["x"] / 127),)}
    for wrong, text in (("cache", "has no scale of main_y_raw"), ("range", "gives x the range")):
        verdict = verdicts_of(Stand(8, wrong), whole)["plain/int8-minmax"]
        assert verdict.outcome is Outcome.FAILED
        assert text in verdict.message


def test_8_tells_the_types_that_the_plugin_ran_in(whole: Plan) -> None:
    verdict = verdicts_of(Stand(8, "types"), whole)["plain/int8"]
    assert verdict.outcome is Outcome.FAILED
    assert "runs in Row major linear FP32 format" in verdict.message
    assert verdicts_of(Stand(8), whole)["plain/int8"].outcome is Outcome.PASSED


@pytest.mark.parametrize(
    ("said", "wrong", "outcome"),
    [
        (MYELIN, "", Outcome.SKIPPED),
        (MYELIN, "plugin alone", Outcome.FAILED),
        # What is not an answer of NVIDIA's is asked of no control.
        ("TensorRT: KeyError: 'int64'", "", Outcome.FAILED),
    ],
)
def test_a_refusal_is_8s_own_where_its_own_plugin_is_refused(
    said: str, wrong: str, outcome: Outcome, whole: Plan
) -> None:
    class Refuses(Stand):
        def build(self, network: Network, how: str = "") -> BuildVerdict:
            return BuildVerdict("refused", said) if not how else super().build(network, how)

    verdict = verdicts_of(stand := Refuses(8, wrong), whole)["plain/float32"]
    assert verdict.outcome is outcome
    controls = [asked for asked in stand.asked if asked[0] == "control"]
    assert [one[2:] for one in controls] == [("Copying",)] * 3 * (said == MYELIN)
    assert (verdict.how == "refused whatever the operator") == (outcome is Outcome.SKIPPED)


@pytest.mark.parametrize(
    ("copies", "outcome", "text"),
    [
        ("wrong", Outcome.SKIPPED, "computes wrong values in this network, whatever the plugin"),
        ("right", Outcome.FAILED, "with a plugin that only copies, and computes the right values"),
        ("crash", Outcome.FAILED, "With a plugin that only copies TensorRT ends its own process by such a network:"),
    ],
)
def test_wrong_values_are_8s_own_where_those_of_its_own_plugin_are_wrong(
    copies: str, outcome: Outcome, text: str, whole: Plan
) -> None:
    verdict = verdicts_of(stand := Stand(8, "run", copies=copies), whole)["plain/float32"]
    assert verdict.outcome is outcome
    assert text in verdict.message
    assert (verdict.how == "wrong whatever the operator") == (outcome is Outcome.SKIPPED)
    assert any(asked[0] == "copied" for asked in stand.asked)


def test_a_crash_is_8s_own_where_its_own_plugin_crashes(whole: Plan) -> None:
    class Crashes(Stand):
        def build(self, network: Network, how: str = "") -> BuildVerdict:
            return BuildVerdict("crashed", "TensorRT: SIGSEGV") if not how else super().build(network, how)

        def build_control(self, network: Network) -> BuildVerdict:
            return BuildVerdict("crashed" if self.copies == "crash" else "built", "TensorRT: SIGSEGV")

    verdict = verdicts_of(Crashes(8, copies="crash"), whole)["plain/float32"]
    assert verdict.outcome is Outcome.SKIPPED
    assert "ends its own process by this network, whatever the plugin" in verdict.message
    verdict = verdicts_of(Crashes(8, copies="right"), whole)["plain/float32"]
    assert verdict.outcome is Outcome.CRASHED


def test_8_may_be_a_step_off_and_may_not_tell_types(whole: Plan) -> None:
    class Beside(Stand):
        steps = 0

        def run(self, network: Network, case: Case, *, fresh: bool = True, switch: bool = False) -> Ran:
            ran = super().run(network, case, fresh=fresh, switch=switch)
            for name, scale in case.tolerance.scales.items() if fresh else ():
                ran.outputs[name] = np.float32(ran.outputs[name] + self.steps * np.float32(scale))
            return ran

        def run_in(self, network: Network, case: Case) -> dict[str, list[str]]:
            return {call.node: ["Unknown format"] * 2 for call in network.calls}

    most = max(1, *(case.tolerance.steps for case in whole.cases))
    for steps, outcome in ((most, Outcome.PASSED), (most + 1, Outcome.FAILED)):
        stand = Beside(8, copies="right")
        stand.steps = steps
        assert verdicts_of(stand, whole)["plain/int8"].outcome is outcome


def test_8_may_round_to_fp16_where_that_is_allowed(whole: Plan) -> None:
    exact = replace(whole.cases[0], tolerance=Tolerance("close"))
    full, half, _ = whole.networks
    assert version8.as_8_rounds(full, exact).tolerance.rtol == 0
    assert version8.as_8_rounds(half, exact).tolerance.rtol == 2**-10


def test_no_weak_network_without_both_precisions(whole: Plan) -> None:
    assert list(weak_types.networks(replace(whole, networks=whole.networks[1:]))) == []


def status_of(options: Options, whole: Plan) -> str:
    """A run's status of TensorRT's part, where nothing else takes part."""
    work = RunWork(Manifest.parse(TOML), Path(), whole, whole, sanitize=options.sanitize)
    (part,) = [part for part in parts(work) if part.evaluator.NAME == tensorrt.NAME]
    found = {item: execute(item, work, place(options)) for item in part.items}
    (absent,) = {one.absent for one in found.values()} or {part.absent}
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


def test_a_summary_says_what_is_switched_off(monkeypatch: pytest.MonkeyPatch, whole: Plan) -> None:
    class Opened(Stand):
        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            pass

    Opened.WHO = "TensorRT"  # type: ignore[attr-defined]
    monkeypatch.setattr(tensorrt, "probe", lambda: Availability(True, "8.5.3.1"))
    monkeypatch.setattr(tensorrt, "open", lambda *_, **__: Opened(8))
    bfloat16 = replace(whole.networks[0], id="plain/bfloat16", calls=tuple(
        replace(call, types=(DType.BFLOAT16,)) for call in whole.networks[0].calls
    ))  # fmt: skip
    more = replace(whole, networks=(bfloat16, *whole.networks))
    work = RunWork(Manifest.parse(TOML), Path(), more, more)
    items = EVALUATOR.items(work)
    monkeypatch.setattr(LocalWorkplace, "gpu_library", lambda self: Path("lib.so"))
    answers = [EVALUATOR.execute(item, work, place(Options()), None) for item in items]
    assert len(answers) > 1
    assert sorted(one.network for answer in answers for one in answer.results) == sorted(
        one.network for one in verdicts_of(Stand(8), whole).values()
    )
    off = "without CUDNN, whose libraries are not here or only stand-ins: their tactics are off"
    lacks = "networks with bfloat16 are not asked: TensorRT 8 hasn't got these types"
    assert EVALUATOR.summary(work, answers) == f"8.5.3.1, on the GPU; {off}; {lacks}"


def test_the_parts_are_all_networks_once(monkeypatch: pytest.MonkeyPatch, whole: Plan) -> None:
    """Also where one has types that this TensorRT hasn't got, and where no library loads."""
    bfloat16 = replace(whole.networks[0], id="plain/bfloat16", calls=tuple(
        replace(call, types=(DType.BFLOAT16,)) for call in whole.networks[0].calls
    ))  # fmt: skip
    more = replace(whole, networks=(bfloat16, *whole.networks))

    def refused(*_: Any, **__: Any) -> Any:
        raise CheckFailed("no")

    monkeypatch.setattr(tensorrt, "open", refused)
    answers = [
        verdict.network
        for number in range(2)
        for verdict in evaluate(Path("lib.so"), cast("Manifest", None), 1.0, more, lambda *_: None, part=(number, 2))
    ]
    assert sorted(answers) == sorted(network.id for network in more.networks)
    parts = [TensorrtRuns(cast("TensorrtSession", Stand(8)), more, (number, 2)).all() for number in range(2)]
    assert sorted(verdict.network for part in parts for verdict in part) == sorted(verdicts_of(Stand(8), whole))


def test_a_cache_of_another_kind_is_named() -> None:
    with pytest.raises(CheckFailed, match="begins with b'x: 3c000000', not with TRT-"):
        calibration_cache.read(b"x: 3c000000")
    with pytest.raises(CheckFailed, match="can't be read"):
        calibration_cache.read(b"TRT-8503-MinMaxCalibration\nx: no number\n")


def test_a_library_that_does_not_load_is_every_networks_answer(monkeypatch: pytest.MonkeyPatch, whole: Plan) -> None:
    def refused(*_: Any, **__: Any) -> Any:
        raise CheckFailed("TensorRT's registry doesn't load it")

    monkeypatch.setattr(tensorrt, "open", refused)
    verdicts = evaluate(Path("lib.so"), cast("Manifest", None), 1.0, whole, lambda *_: None)
    assert [verdict.network for verdict in verdicts] == [network.id for network in whole.networks]
    assert {verdict.message for verdict in verdicts} == {"TensorRT's registry doesn't load it"}
