"""What the host's judgements rest on, each with an answer that must not pass."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed
from pluginkit.host import Finding
from pluginkit.judges.host import outside_profile
from pluginkit.network.model import Case
from pluginkit.network.plan import Plan
from pluginkit.runtimes import Ran
from pluginkit.runtimes.host import expected_shapes
from pluginkit.runtimes.host.session import HostSession
from pluginkit.testing.plan import plan
from pluginkit.testing.report import Outcome

from .conftest import EXAMPLES, LEAKY
from .test_hosted import Session, hosting


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

    verdict = outside_profile.judge(SimpleNamespace(run=run), case)  # type: ignore[arg-type]
    assert verdict.outcome is outcome
    assert text in verdict.message


@pytest.mark.parametrize("wrong_at", ["min", "max", "between"])
def test_shapes_are_held_at_the_ends_of_a_profile_and_between(made: Plan, wrong_at: str) -> None:
    profile = LEAKY.profiles[0]
    ends = {point: [t.dims(profile.at(point)) for t in LEAKY.inputs] for point in ("min", "opt", "max")}

    def at(_: object, inputs: list[tuple[int, ...]]) -> tuple[int, ...]:
        here = next((point for point, dims in ends.items() if dims == list(inputs)), "between")
        return tuple(size + (here == wrong_at) for size in inputs[0])

    built = SimpleNamespace(shapes=[SimpleNamespace(at=at, method="getOutputDimensions")], input_dims=())
    with pytest.raises(Finding, match=r"the manifest says"):
        expected_shapes.check(LEAKY, made.usual[0].calls[0], built)  # type: ignore[arg-type]


def test_each_tactic_of_a_profile_is_a_way_to_run(made: Plan) -> None:
    network = made.networks[0]
    session = object.__new__(HostSession)
    session.conventions = ("",)
    plugin = SimpleNamespace(v3=SimpleNamespace(tactics=((3, 5, 9),)))
    session._built = {network.id: (network, {"": {"node": plugin}})}
    case = next(case for case in made.cases if case.network_id == network.id)
    assert session.ways(case) == ("tactic 3", "tactic 5", "tactic 9")
