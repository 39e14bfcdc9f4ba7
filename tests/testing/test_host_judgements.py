"""What the host's judgements rest on, each with an answer that must not pass."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed
from pluginkit.evaluators.host import outside_profile
from pluginkit.host import Finding
from pluginkit.network.networks import Case
from pluginkit.network.plan import Plan
from pluginkit.process.findings import Defect
from pluginkit.process.worker import WorkerTimeout
from pluginkit.runtimes import Ran
from pluginkit.runtimes.host import expected_shapes, expected_workspace
from pluginkit.runtimes.host import session as session_module
from pluginkit.runtimes.host.session import HostSession
from pluginkit.runtimes.host.time_limit import TimeLimit
from pluginkit.testing.plan import plan
from pluginkit.testing.report import Outcome

from .conftest import EXAMPLES, LEAKY
from .test_hosted import Session, hosting

HANG = WorkerTimeout(60.0, "IPluginV2DynamicExt::enqueue", False, "")
ENDLESS = Defect("endless-kernel", "no thread of the kernel has ended for 30 s.")


@pytest.fixture(scope="module")
def made() -> Plan:
    return plan(LEAKY, EXAMPLES["leaky"].reference, families=["plain"], precisions=[DType.FLOAT32])


def test_a_wrong_number_of_enqueues_fails(made: Plan) -> None:
    class Twice(Session):
        def run(self, case: Case, **asked: Any) -> Ran:
            ran = super().run(case, **asked)
            return Ran(ran.outputs, ran.enqueues + 1)

    one = hosting(lambda case, name, want: want)
    one._session = Twice(lambda case, name, want: want)  # type: ignore[assignment]
    found = one.case(made.network(made.cases[0]), made.cases[0])
    assert (found.outcome, found.message) == (Outcome.FAILED, "enqueue was called 2 times, expected 1")


@pytest.mark.parametrize(
    ("refusal", "outcome", "text"),
    [
        (None, Outcome.FAILED, "was run, and must be refused"),
        ("the shape is outside of profile 'default'", Outcome.PASSED, ""),
        ("something else", Outcome.FAILED, "refused without naming profile 'default'"),
    ],
)
def test_what_is_outside_of_a_profile_must_be_refused_for_that(
    made: Plan, refusal: str | None, outcome: Outcome, text: str
) -> None:
    case = outside_profile.cases(LEAKY, made)[0]

    def run(case: Case) -> None:
        if refusal is not None:
            raise CheckFailed(refusal)

    verdict = outside_profile.evaluate(SimpleNamespace(run=run), case)  # type: ignore[arg-type]
    assert verdict.outcome is outcome
    assert text in verdict.message


@pytest.mark.parametrize("wrong_at", ["min", "max", "between"])
def test_shapes_are_held_at_the_ends_of_a_profile_and_between(made: Plan, wrong_at: str) -> None:
    profile = LEAKY.profiles[0]
    ends = {point: [t.dims(profile.at(point)) for t in LEAKY.inputs] for point in ("min", "opt", "max")}

    def at(_: object, inputs: list[tuple[int, ...]]) -> tuple[int, ...]:
        here = next((point for point, dims in ends.items() if dims == list(inputs)), "between")
        return tuple(size + (here == wrong_at) for size in inputs[0])

    program = SimpleNamespace(at=at, method="getOutputDimensions", sizes=(), data_dependent=())
    built = SimpleNamespace(shapes=[program], input_dims=(), v3=None)
    with pytest.raises(Finding, match=r"the manifest says"):
        expected_shapes.check(LEAKY, made.usual[0].calls[0], built)  # type: ignore[arg-type]


@pytest.mark.parametrize("asked", [0, 4, -4])
def test_a_workspace_is_held_against_the_manifest(made: Plan, asked: int) -> None:
    plugin = LEAKY.plugin.model_copy(update={"workspace": "4 * n * c"})
    declared = LEAKY.model_copy(update={"plugin": plugin})
    profile = LEAKY.profiles[0].at("max")
    wanted = 4 * profile["n"] * profile["c"]
    built = SimpleNamespace(shapes=[SimpleNamespace(method="IOne::getOutputDimensions")], workspace=wanted + asked)
    call = made.usual[0].calls[0]
    expected_workspace.check(LEAKY, call, built)  # type: ignore[arg-type]
    if asked == 0:
        expected_workspace.check(declared, call, built)  # type: ignore[arg-type]
        return
    given = ", ".join(f"{name} = {profile[name]}" for name in ("n", "c"))
    output = f"answered {wanted + asked} bytes for {given}; the manifest says 4 * n * c, which is {wanted}"
    with pytest.raises(Finding, match=re.escape(output)) as caught:
        expected_workspace.check(declared, call, built)  # type: ignore[arg-type]
    assert caught.value.method == "IOne::getWorkspaceSize"


def test_each_tactic_of_a_profile_is_a_way_to_run(made: Plan) -> None:
    network = made.networks[0]
    session = object.__new__(HostSession)
    session.conventions = ("",)
    plugin = SimpleNamespace(v3=SimpleNamespace(tactics=((3, 5, 9),)))
    session._built = {network.id: (network, {"": {"node": plugin}})}
    case = next(case for case in made.cases if case.network_id == network.id)
    assert session.ways(case) == ("tactic 3", "tactic 5", "tactic 9")


class Hanging(Session):
    """`special` hangs, in a way that only a process's end stops, or as target cpu finds it."""

    killed = True
    last = ""

    def run(self, case: Case, **asked: Any) -> Ran:
        if case.point == "special" and self.killed:
            raise HANG
        self.last = case.point
        return super().run(case, **asked)

    def findings(self) -> tuple[Defect, ...]:  # type: ignore[override]
        return (ENDLESS,) if not self.killed and self.last == "special" else ()

    def workspace(self, network: str) -> int:
        return 0


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("killed", [True, False])
def test_a_hang_on_special_values_is_no_warning(made: Plan, strict: bool, killed: bool) -> None:
    session = Hanging(lambda case, name, want: want)
    session.killed = killed
    one = hosting(lambda case, name, want: want, strict=strict)
    one._session = session  # type: ignore[assignment]
    (case,) = [case for case in made.cases if case.point == "special"]
    found = one.case(made.network(case), case)
    assert found.outcome is (Outcome.HUNG if killed else Outcome.FAILED)
    assert ("no answer within 60 s" if killed else "a kernel that does not end") in found.message
    assert session.processes == 1, "who hangs once hangs once more, alone too"


def test_a_hang_that_is_a_warning_is_a_hang_where_warnings_are_failures(made: Plan) -> None:
    class Hangs(Session):
        def run(self, case: Case, **asked: Any) -> Ran:
            raise HANG

    network = next(one for one in made.networks if one.fields is not None and not one.fields.declared)
    case = next(case for case in made.cases if case.network_id == network.id)
    for strict in (False, True):
        one = hosting(lambda case, name, want: want, strict=strict)
        one._session = Hangs(lambda case, name, want: want)  # type: ignore[assignment]
        found = one.case(network, case)
        assert found.outcome is (Outcome.HUNG if strict else Outcome.PASSED)
        assert found.warnings[0].rule == "F6"


def test_a_plugin_that_has_hung_twice_has_less_time() -> None:
    limit = TimeLimit(60.0)
    assert (limit.seconds, limit.kernel_seconds) == (60.0, 30)
    assert limit.hung(HANG) is HANG
    assert limit.seconds == 60.0
    limit.found((ENDLESS, ENDLESS))
    assert (limit.seconds, limit.kernel_seconds) == (6.0, 3)
    cut = limit.hung(WorkerTimeout(6.0, "", False, "what the plugin has printed"))
    assert cut.message == (
        "no answer within 6 s; the process was killed (it has hung before, so the limit of 60 s is cut)\n"
        "what the plugin has printed"
    )


def test_the_processes_of_a_session_have_what_is_left_of_its_limit(
    made: Plan, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    started: list[tuple[float, str]] = []

    class Hangs:
        printed = ""

        def __init__(self, module: str, init: object, *, timeout: float, env: dict[str, str], command: object) -> None:
            started.append((timeout, env["PLUGINKIT_CPU_TIME_LIMIT"]))

        def call(self, method: str, **_: object) -> object:
            raise HANG

        def close(self) -> None:
            pass

    monkeypatch.setattr(session_module, "Worker", Hangs)
    network = made.networks[0]
    case = next(case for case in made.cases if case.network_id == network.id)
    with session_module.open(tmp_path / "lib.so", LEAKY, timeout=100) as session:
        assert session.build(network).status == "hung"
        session._built[network.id] = (network, {"": {}})
        for _ in range(2):
            with pytest.raises(WorkerTimeout):
                session.run(case)
    assert started == [(100, "50"), (100, "50"), (10, "5")]


@pytest.mark.parametrize(("full", "cut"), [(600.0, 60.0), (20.0, 5.0), (3.0, 3.0)])
def test_what_is_left_of_a_limit_is_enough_for_a_process(full: float, cut: float) -> None:
    limit = TimeLimit(full)
    limit.found((Defect("race", ""),))
    limit.found((ENDLESS,))
    assert limit.seconds == full
    limit.found((ENDLESS,))
    assert limit.seconds == cut
